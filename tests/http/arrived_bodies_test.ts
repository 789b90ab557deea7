/** Bodies that came whole with their headers. @module */
import { deepEqual } from "node:assert/strict";
import { DomainError } from "../../domain/errors.ts";
import { openEnding } from "../../routes/http/shutdown.ts";
import { arrivedText } from "../../routes/http/validation.ts";

const MAX = 100;

/** Sends a body in one packet with its headers, and waits for the answer. */
async function send(port: number, headers: string[], body: Uint8Array<ArrayBuffer>) {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const lines = ["POST / HTTP/1.1", "host: here", "connection: close", ...headers];
  const head = new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`);
  await conn.write(Uint8Array.of(...head, ...body));
  for await (const _ of conn.readable);
}

Deno.test("a body that came with its headers is read at once, and whatever may be refused is left to be read", async () => {
  const ending = openEnding();
  const found: unknown[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      try {
        found.push(arrivedText(request, MAX, { ending }));
      } catch (error) {
        found.push((error as DomainError).code);
      }
      return new Response("seen");
    },
  );
  const json = "content-type: application/json";
  const ask = async (text: string | Uint8Array<ArrayBuffer>, ...headers: string[]) => {
    const body = typeof text === "string" ? new TextEncoder().encode(text) : text;
    await send(server.addr.port, [`content-length: ${body.length}`, ...headers], body);
  };
  await ask(`{"a": "\u00e9\ufffd"}`, json);
  await ask("{}", "content-type: application/merge-patch+json; charset=utf-8");
  await ask("{}", "content-type: text/plain");
  await ask("{}");
  await ask("{}", json, "content-encoding: gzip");
  await ask("", json);
  await ask(`"${"a".repeat(MAX)}"`, json);
  await ask(Uint8Array.of(0x22, 0xff, 0x22), json);
  ending.begin();
  await ask("{}", json);
  deepEqual(found, [
    ...[`{"a": "\u00e9\ufffd"}`, "{}", null, null, null, null, null],
    ...["request.malformed", null],
  ]);
});
