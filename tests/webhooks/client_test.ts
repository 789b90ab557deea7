import { deepEqual, equal } from "node:assert/strict";
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
