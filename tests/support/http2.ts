/** Requests over a connection of HTTP/2 (RFC 9113), frame by frame: no client of the runtime shows these. @module */

/** A request without a body. */
export interface Http2Request {
  method: string;
  path: string;
  key?: string;
}

/** An answer as far as it was read. */
export interface Http2Answer {
  isOk: boolean;
  /** "headers", "data" where it has bytes, and "end". */
  frames: string[];
}

const SETTINGS = 4;
const HEADERS = 1;
const DATA = 0;
/** The first byte of the headers of a 200 (RFC 7541, appendix A). */
const OK = 0x88;

/**
 * Sends requests at once, and reads until each has its end.
 *
 * @param takes false: no bytes of a body are taken, and all that is read are headers
 */
export async function askHttp2(
  port: number,
  requests: readonly Http2Request[],
  takes = true,
): Promise<Http2Answer[]> {
  using connection = await Deno.connect({ port, hostname: "127.0.0.1" });
  const window = takes ? [] : [0, 4, 0, 0, 0, 0]; // of each stream
  const sent = requests.flatMap((one, i) => frame(HEADERS, 5, 2 * i + 1, fieldsOf(one)));
  const preface = [...new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")];
  await connection.write(Uint8Array.from([...preface, ...frame(SETTINGS, 0, 0, window), ...sent]));
  const answers = requests.map((): Http2Answer => ({ isOk: false, frames: [] }));
  const last = takes ? "end" : "headers";
  const buffer = new Uint8Array(65536);
  let held = new Uint8Array();
  while (!answers.every(({ frames }) => frames.includes(last))) {
    const n = await connection.read(buffer);
    if (n === null) break;
    held = Uint8Array.from([...held, ...buffer.subarray(0, n)]);
    for (let size = 0; held.length >= 9; held = held.subarray(9 + size)) {
      size = (held[0] << 16) + (held[1] << 8) + held[2];
      if (held.length < 9 + size) break;
      const answer = answers[((held[7] << 8) + held[8] - 1) / 2]; // stream 0 is the connection
      if (answer === undefined) continue;
      if (held[3] === HEADERS) answer.isOk = held[9] === OK;
      if (held[3] === HEADERS) answer.frames.push("headers");
      if (held[3] === DATA && size > 0) answer.frames.push("data");
      if (held[3] <= HEADERS && held[4] & 1) answer.frames.push("end");
    }
  }
  return answers;
}

/** The headers of a request, each as a literal (RFC 7541, 6.2.2). */
function fieldsOf({ method, path, key }: Http2Request): number[] {
  const fields = { ":method": method, ":scheme": "http", ":authority": "a", ":path": path };
  const all = key === undefined ? fields : { ...fields, "x-api-key": key };
  return Object.entries(all).flatMap(([name, value]) => [0, ...text(name), ...text(value)]);
}

function text(value: string): number[] {
  const { length } = value;
  const size = length < 127 ? [length] : [127, (length - 127) % 128 + 128, (length - 127) >> 7];
  return [...size, ...new TextEncoder().encode(value)];
}

function frame(type: number, flags: number, stream: number, payload: number[]): number[] {
  const { length } = payload;
  return [0, length >> 8, length & 255, type, flags, 0, 0, stream >> 8, stream & 255, ...payload];
}
