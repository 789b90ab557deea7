/**
 * Prepared texts: long answers that are the same for every caller. Each is made once, compressed
 * once in steps between which other requests are served, and identified by a tag.
 * @module
 */
import { hash } from "node:crypto";
import type { AnyRoute, Call, Reply } from "./route.ts";
import { isKnown } from "./preconditions.ts";
import { choiceOf } from "./validation.ts";

/** A text that is ready to be sent. */
export interface Prepared {
  /** As UTF-8: to encode some hundred kilobytes for each caller takes milliseconds, and callers need no key. */
  bytes: Uint8Array<ArrayBuffer>;
  gzip: Uint8Array<ArrayBuffer>;
  /** Without quotes. */
  tag: string;
}

/** The answer to a client that has the text, as routes declare it. */
export const UNCHANGED: NonNullable<AnyRoute["others"]> = {
  304: { description: "The client has this answer: `if-none-match` names it." },
};

/** Bytes that are compressed in one step: a millisecond or two. */
const PIECE = 32 * 1024;

/** Makes a text ready to be sent. */
export async function prepare(text: string): Promise<Prepared> {
  const bytes = new TextEncoder().encode(text);
  const gzip = await compress(bytes);
  return { bytes, gzip, tag: hash("sha256", text, "hex").slice(0, 24) };
}

/** Lets other requests have their turn. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}

/**
 * Answers with a prepared text, compressed if the client accepts that, or with 304 if the client
 * has it.
 */
export function replyPrepared<P, Q, B>(
  call: Call<P, Q, B>,
  { bytes, gzip, tag }: Prepared,
  headers: Record<string, string> = {},
): Reply {
  const isSmall = acceptsGzip(call.headers.get("accept-encoding"));
  const etag = isSmall ? `"${tag}-gzip"` : `"${tag}"`;
  const said = { ...headers, etag, vary: "accept-encoding" };
  if (isKnown(call.conditions, etag)) return { status: 304, body: "", headers: said };
  if (!isSmall) return { status: 200, body: "", bytes, headers: said };
  return { status: 200, body: "", bytes: gzip, headers: { ...said, "content-encoding": "gzip" } };
}

/** Whether `accept-encoding` names gzip, or all, and does not refuse it. */
function acceptsGzip(header: string | null): boolean {
  const given = new Map(
    (choiceOf(header) ?? "").toLowerCase().split(",").map((text): [string, boolean] => {
      const [coding, ...parameters] = text.split(";").map((part) => part.trim());
      return [coding, !parameters.some((one) => /^q\s*=\s*0(\.0*)?$/.test(one))];
    }),
  );
  return given.get("gzip") ?? given.get("*") ?? false;
}

async function compress(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new CompressionStream("gzip");
  const compressed = new Response(stream.readable).bytes();
  const writer = stream.writable.getWriter();
  for (let at = 0; at < bytes.length; at += PIECE) {
    await writer.write(bytes.subarray(at, at + PIECE));
    await breathe();
  }
  await writer.close();
  return await compressed;
}
