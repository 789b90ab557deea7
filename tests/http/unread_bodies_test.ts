/** Connections of requests whose bodies are not read to their end. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { endUnread } from "../../routes/http/body_streams.ts";
import { openEnding } from "../../routes/http/shutdown.ts";
import { readBody } from "../../routes/http/validation.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("unread bodies in one realm");

const JSON_TYPE = "content-type: application/json";

/** Sends a request whose body never ends, until its connection is ended, and gives the answer that came before. */
async function sendOn(port: number, head: string[], piece: string): Promise<string> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const write = (text: string) => conn.write(new TextEncoder().encode(text));
  await write(`${head.join("\r\n")}\r\nhost: here\r\n\r\n${piece}`);
  let isOver = false;
  const sending = (async () => {
    while (!isOver) {
      await write(piece).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  let answer = "";
  try {
    for await (const chunk of conn.readable) answer += new TextDecoder().decode(chunk);
  } catch {
    // it was reset
  }
  isOver = true;
  await sending;
  return answer;
}

/** The status, the code, and whether the answer came whole and says that the connection ends. */
function seen(answer: string) {
  const [head, body] = answer.split("\r\n\r\n");
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  const code = body === "" ? null : JSON.parse(body).code;
  return [head.slice(9, 12), code, body.length === Number(length)];
}

test("a body that is not read to its end ends its connection after a whole answer, though its caller sends on", async (realm) => {
  const key = `x-api-key: ${realm.admin.key}`;
  const ending = openEnding();
  const app = createApp(realm.services, PLATFORM_KEY);
  const ended = createApp({ ...realm.services, ending }, PLATFORM_KEY);
  const begun = Promise.withResolvers<void>();
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request, sending) => {
      const isLast = request.headers.has("x-last");
      if (isLast) begun.resolve();
      const answer = await (isLast ? ended : app)(request, "127.0.0.1");
      endUnread(request, sending);
      return answer;
    },
  );
  const { port } = server.addr;
  const [length, chunked] = ["content-length: 100000", "transfer-encoding: chunked"];
  const post = (path: string, ...lines: string[]) => [`POST ${path} HTTP/1.1`, ...lines];
  const transfers = (...lines: string[]) => post("/v1/transactions", ...lines);
  const old = ["POST /v1/transactions HTTP/1.0", JSON_TYPE, length];
  const get = (method: string, path: string) => [`${method} ${path} HTTP/1.1`, key, length];
  const cases: [head: string[], piece: string, ...unknown[]][] = [
    [transfers(JSON_TYPE, length), "1", "401", "auth.missing"],
    [old, "1", "401", "auth.missing"],
    [transfers(JSON_TYPE, chunked), "1\r\n1\r\n", "401", "auth.missing"],
    [post("/v1/nothing", JSON_TYPE, length), "1", "404", "route.not_found"],
    [transfers(key, JSON_TYPE, "content-length: 9000000"), "1", "413", "request.too_large"],
    [
      transfers(key, JSON_TYPE, chunked),
      `19000\r\n${" ".repeat(0x19000)}\r\n`,
      "413",
      "request.too_large",
    ],
    [transfers(key, length), "1", "415", "request.media_type"],
    [transfers(key, chunked), "1\r\n1\r\n", "415", "request.media_type"],
    [transfers(key, JSON_TYPE, length, "content-encoding: gzip"), "1", "415", "request.media_type"],
    [get("GET", "/v1/nothing"), "1", "404", "route.not_found"],
    [get("HEAD", "/v1/accounts"), "1", "400", null],
    [transfers(key, JSON_TYPE, length, "x-last: 1"), "1", "503", "service.overloaded"],
  ];
  const answers = cases.map(([head, piece]) => sendOn(port, head, piece));
  const served = sendOn(port, get("GET", "/v1/openapi.json"), "1");
  await begun.promise;
  ending.begin(); // as the time does that a body is given
  const found = (await Promise.all(answers)).map(seen);
  deepEqual(found, cases.map(([, , status, code]) => [status, code, code !== null]));
  equal((await served).slice(9, 12), "200", "nor the body of a request that is served without it");
});

test("a connection whose bodies are read to their ends stays, and takes the next request", async (realm) => {
  const app = createApp(realm.services, PLATFORM_KEY);
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request, sending) => {
      const answer = await app(request, "127.0.0.1");
      endUnread(request, sending);
      return answer;
    },
  );
  using conn = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  const body = JSON.stringify({ data: { a: "x".repeat(50_000) } });
  const head = `POST /v1/identities HTTP/1.1\r\nhost: here\r\nx-api-key: ${realm.admin.key}\r\n` +
    `${JSON_TYPE}\r\ncontent-length: ${body.length}\r\n`;
  const writer = conn.writable.getWriter();
  const send = (last: string) =>
    writer.write(new TextEncoder().encode(`${head}${last}\r\n${body}`));
  let answer = "";
  const sent = (async () => {
    for (const last of ["", "", "connection: close\r\n"]) await send(last);
  })();
  for await (const chunk of conn.readable) answer += new TextDecoder().decode(chunk);
  await sent;
  deepEqual(answer.match(/HTTP\/1.1 \d+/g), Array(3).fill("HTTP/1.1 201"), answer);
});

Deno.test("a body without a type that never begins is refused as the service ends, as when its time is over", async () => {
  const ending = openEnding();
  const body = new ReadableStream<Uint8Array>();
  const read = readBody(new Request("http://a", { method: "POST", body }), 1000, { ending });
  ending.begin();
  await rejects(read, { code: "service.overloaded" });
  equal(body.locked, false);
});
