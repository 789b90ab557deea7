/** Long texts, processed in slices; other requests run between two slices. @module */
import { breathe } from "../db/slices.ts";

export { breathe, breatheIfDue, inSlices, joinInSlices } from "../db/slices.ts";

/** Bytes or characters of one slice: a millisecond or two of work. */
export const SLICE_SIZE: number = 512 * 1024;
const ENCODER = new TextEncoder();

/** Decodes UTF-8 in slices. @throws {TypeError} for bytes that are not UTF-8 */
export async function decodeLong(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += SLICE_SIZE) {
    pieces.push(decoder.decode(bytes.subarray(at, at + SLICE_SIZE), { stream: true }));
    await breathe();
  }
  pieces.push(decoder.decode());
  return pieces.join("");
}

/** Whether a text is so long that it is encoded in slices. */
export function isLong(text: string): boolean {
  return text.length > SLICE_SIZE;
}

/** Encodes a text as UTF-8, in slices. */
export async function encodeLong(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + SLICE_SIZE;
    const high = text.charCodeAt(end - 1); // a pair of surrogates stays together
    const to = high >= 0xd800 && high < 0xdc00 ? end + 1 : end;
    pieces.push(ENCODER.encode(text.slice(at, to)));
    at = to;
    await breathe();
  }
  return concatBytes(pieces);
}

/** Concatenates byte arrays. */
function concatBytes(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
