/**
 * Compression of large answers. Small ones cost more than they save, and streams must not be held up. An answer whose
 * version the client may compare (`etag`) stays as it is: its tag names these very bytes.
 *
 * @module
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Reply } from "./route.ts";
import { choiceOf } from "./validation.ts";

/** Answers from this size on are compressed, in bytes. */
const LARGE = 32 * 1024;
/** The first levels take a fraction of the time of the last, for answers that are a tenth larger. */
const LEVEL = 2;

const compress = promisify(gzip);

/** Compresses a large answer for a client that takes gzip; in a thread of its own. */
export async function compressed(reply: Reply, accept: string | null): Promise<Reply> {
  const bytes = reply.bytes ?? new TextEncoder().encode(reply.body);
  if (!takesGzip(accept)) return { ...reply, bytes, headers: { ...reply.headers, ...VARY } };
  const body = await compress(bytes, { level: LEVEL });
  const headers = { ...reply.headers, ...VARY, "content-encoding": "gzip" };
  return { ...reply, bytes: new Uint8Array(body), headers };
}

/** Whether an answer is one that is compressed where the client takes that. */
export function isCompressible({ stream, bytes, body, headers }: Reply): boolean {
  if (stream !== undefined) return false;
  if ((bytes?.byteLength ?? body.length) < LARGE) return false;
  return headers?.etag === undefined && headers?.["content-encoding"] === undefined;
}

const VARY = { vary: "accept-encoding" };

/** Whether a client takes gzip: by name or by `*`, and not with the weight 0 (RFC 9110, 12.5.3). */
export function takesGzip(accept: string | null): boolean {
  let [named, any] = [null as boolean | null, false];
  for (const one of choiceOf(accept)?.toLowerCase().split(",") ?? []) {
    const [coding, ...parameters] = one.split(";").map((part) => part.trim());
    const isWanted = !parameters.some((part) => /^q=0(\.0{0,3})?$/.test(part));
    if (coding === "gzip" || coding === "x-gzip") named = isWanted;
    else if (coding === "*") any = isWanted;
  }
  return named ?? any;
}
