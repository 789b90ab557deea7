/**
 * Sends one kind of request over keep-alive connections, one in flight on each, in a process of its own, so that the
 * service's processor time has none of the caller's in it. Prints one line of JSON.
 *
 * Arguments: port, connections, seconds, key, method, path and, where there is one, the body.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { readAnswer } from "./generator.ts";

const [port, connections, seconds, key, method, path, body = ""] = Deno.args;
const length = new TextEncoder().encode(body).length;
const request = Buffer.from(
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${key}\r\n` +
    (body === "" ? "" : `content-type: application/json\r\ncontent-length: ${length}\r\n`) +
    `\r\n${body}`,
);
const until = performance.now() + Number(seconds) * 1000;
let [requests, failed] = [0, 0];

async function client(): Promise<void> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  conn.setNoDelay(true);
  const scratch = Buffer.alloc(1 << 20);
  while (performance.now() < until) {
    for (let sent = 0; sent < request.length;) sent += await conn.write(request.subarray(sent));
    if (!await readAnswer(conn, scratch)) failed++;
    requests++;
  }
}

await Promise.all(Array.from({ length: Number(connections) }, client));
console.log(JSON.stringify({ requests, failed }));
