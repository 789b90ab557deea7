import { deepEqual, equal, match, ok } from "node:assert/strict";
import { openWebhookClient } from "../../workers/gateways/outbound/webhook_client.ts";
import { openReceiver } from "../support/webhook_receiver.ts";

Deno.test("a receiver's name that leads to a private address is refused by the address connected to", async () => {
  await using receiver = openReceiver();
  const { port } = new URL(receiver.url);
  const message = { headers: {}, body: "{}" };
  for (
    const addresses of [
      ["127.0.0.1"],
      ["93.184.215.14", "127.0.0.1"],
      ["::1"],
      ["::ffff:127.0.0.1"],
      ["64:ff9b::7f00:1"],
      ["169.254.169.254"],
    ]
  ) {
    let asked = 0;
    const client = openWebhookClient({
      allowPrivate: false,
      timeoutMs: 2000,
      resolve: (_host, done) => {
        asked++;
        done(
          null,
          addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
        );
      },
    });
    const failure = await client.post(`https://hooks.example.com:${port}/`, message)
      .then(() => "", (error) => error.message);
    equal(failure, "its name leads to an address that is refused", addresses.join());
    equal(asked, 1, "resolved once");
    client.close();
  }
  equal(receiver.received.length, 0);
});

Deno.test("connections to a receiver are reused", async () => {
  await using receiver = openReceiver();
  let resolved = 0;
  const counting = openWebhookClient({
    allowPrivate: true,
    resolve: (_host, done) => {
      resolved++;
      done(null, [{ address: "127.0.0.1", family: 4 }]);
    },
  });
  const url = `http://hooks.test:${new URL(receiver.url).port}/`;
  for (let i = 0; i < 5; i++) {
    deepEqual(await counting.post(url, { headers: {}, body: "{}" }), {
      status: 200,
      body: "thanks",
    });
  }
  equal(resolved, 1);
  counting.close();
});

/** Answers every connection with bytes as they are, again and again if they have no end. */
function openRaw(answer: string, endless?: string) {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  let sent = 0;
  const serve = async () => {
    for await (const connection of listener) {
      const talk = async () => {
        await connection.read(new Uint8Array(4096));
        await connection.write(new TextEncoder().encode(answer));
        const more = new TextEncoder().encode((endless ?? "").repeat(100));
        while (more.length > 0) sent += await connection.write(more);
        await connection.read(new Uint8Array(1)); // until the client closes it
      };
      talk().catch(() => {}).finally(() => connection.close());
    }
  };
  const serving = serve().catch(() => {});
  return {
    url: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}/`,
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

Deno.test("answers that are no HTTP, have no end or unpack to much are bounded", async () => {
  const body = "content-length: 2\r\n\r\nok";
  for (
    const [answer, endless, expected] of [
      [`HTTP/1.1 042 Small\r\n${body}`, undefined, /not HTTP|failed/],
      [`HTTP/1.1 000 None\r\n${body}`, undefined, /not HTTP|failed/],
      [`HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n`, undefined, /./],
      ["HTTP/1.1 200 OK\r\n", "x-more: 0123456789\r\n", /./],
      ["HTTP/1.1 200 OK\r\nx-long: ", "0123456789", /./],
      ["", "HTTP/1.1 100 Continue\r\n\r\n", /./],
      [
        "HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ntransfer-encoding: chunked\r\n\r\n",
        "1;ext\r\n!\r\n",
        null,
      ],
    ] as const
  ) {
    await using raw = openRaw(answer, endless);
    const client = openWebhookClient({ allowPrivate: true, timeoutMs: 2000 });
    const before = Deno.memoryUsage().rss;
    const failure = await client.post(raw.url, { headers: {}, body: "{}" })
      .then(({ status }) => `${status}`, (error) => {
        equal(error.name, "WebhookFault", error.stack);
        return error.message;
      });
    client.close();
    if (expected === null) equal(failure, "200", answer);
    else match(failure, expected, answer);
    ok(!/^\d/.test(failure) || expected === null, `${answer} -> ${failure}`);
    ok(
      Deno.memoryUsage().rss - before < 100_000_000,
      `${(Deno.memoryUsage().rss - before) / 1e6} MB for ${answer} and ${endless}`,
    );
    if (expected === null) ok(raw.sent() < 20_000_000, `${raw.sent()} bytes were taken`);
  }
});
