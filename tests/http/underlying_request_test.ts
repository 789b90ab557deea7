/** Headers of requests, read below the platform's interface. @module */
import { deepEqual, equal } from "node:assert/strict";
import { arrivedBody, requestHeaders } from "../../routes/http/underlying_request.ts";

const NAMES = ["host", "x-once", "x-twice", "x-empty", "x-spaced", "x-latin", "x-missing"];

/** Sends lines of headers as they are, and returns the answer's body. */
async function exchange(
  port: number,
  method: string,
  lines: string[],
  body = "",
): Promise<string> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = [`${method} / HTTP/1.1`, "host: here", "connection: close", ...lines];
  const text = `${head.join("\r\n")}\r\n\r\n${body}`;
  await conn.write(Uint8Array.from(text, (sign) => sign.charCodeAt(0)));
  let answer = "";
  for await (const chunk of conn.readable) answer += new TextDecoder().decode(chunk);
  return answer;
}

Deno.test("headers read below the platform's interface are those of the request, and are not copied for later", async () => {
  const found: unknown[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      await null;
      const headers = requestHeaders(request);
      const read = NAMES.map((name) => headers.get(name));
      const isBelow = headers !== request.headers;
      found.push({ isBelow, read, same: NAMES.map((name) => request.headers.get(name)) });
      return new Response("seen");
    },
  );
  const lines = [
    ...["X-Once: one", "X-Twice: one", "x-twice: two", "x-empty:", "x-spaced:  a b  "],
    "x-latin: \u00e9",
  ];
  for (const method of ["GET", "POST"]) {
    const answer = await exchange(server.addr.port, method, lines);
    equal(answer.endsWith("seen"), true, answer);
  }
  const read = ["here", "one", "one, two", "", "a b", "\u00e9", null];
  const expected = { isBelow: true, read, same: read };
  deepEqual(found, [expected, expected]);
});

Deno.test("headers of a request that was made here are its own", () => {
  const request = new Request("http://a", { headers: { "x-once": "one" } });
  equal(requestHeaders(request), request.headers);
});

Deno.test("a body that came with its headers is read at once, one that comes later is not, and each once", async () => {
  const found: unknown[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const whole = arrivedBody(request);
      const text = whole === null ? await request.text() : new TextDecoder().decode(whole);
      const second = arrivedBody(request);
      found.push({ atOnce: whole !== null, text, second, used: request.bodyUsed });
      return new Response("seen");
    },
  );
  const { port } = server.addr;
  await exchange(port, "POST", ["content-length: 4"], "body");
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const bytes = (text: string) => new TextEncoder().encode(text);
  await conn.write(bytes("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n"));
  await conn.write(bytes("connection: close\r\ncontent-length: 5\r\n\r\n"));
  await conn.read(new Uint8Array(100)); // the server asks for the body: its handler runs, or ran
  await conn.write(bytes("later"));
  while (await conn.read(new Uint8Array(1000)) !== null);
  deepEqual(found, [
    { atOnce: true, text: "body", second: null, used: true },
    { atOnce: false, text: "later", second: null, used: true },
  ]);
});
