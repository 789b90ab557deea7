/** Connections of the client of webhooks: which are used again, and whose certificates are accepted. */
import { deepEqual, equal } from "node:assert/strict";
import {
  openWebhookClient,
  type WebhookClient,
} from "../../workers/gateways/outbound/webhook_client.ts";
import { makeCertificates } from "../support/certificates.ts";
import { until } from "../support/eventually.ts";
import { openRawServer, type RawPeer } from "../support/raw_server.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const always = (answer: string) => async (peer: RawPeer) => {
  while (await peer.request() !== null) if (!await peer.send(answer)) return;
};

async function tell(client: WebhookClient, url: string, body = "{}"): Promise<string> {
  return await client.post(url, { headers: {}, body }).then(
    ({ status, body }) => `${status} ${body}`,
    (error) => {
      equal(error.name, "WebhookFault", error.stack);
      return error.message;
    },
  );
}

Deno.test("a connection is used again exactly where its answer was read to the end, and permits it", async () => {
  const answers: [string, boolean][] = [
    [OK, true],
    ["HTTP/1.1 204 None\r\n\r\n", true],
    ["HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true],
    ["HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 0\r\n\r\n", true],
    ["HTTP/1.1 200 OK\r\nkeep-alive: max=9, timeout=9\r\ncontent-length: 0\r\n\r\n", true],
    ["HTTP/1.1 200 OK\r\nkeep-alive: timeout=0\r\ncontent-length: 0\r\n\r\n", false],
    ["HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", false],
    ["HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 0\r\n\r\n", false],
    ["HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n" + "a".repeat(200_000), false],
    [`${OK}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged`, false],
    [`${OK}!`, false],
  ];
  for (const [answer, isReused] of answers) {
    await using server = openRawServer(always(answer));
    const client = openWebhookClient({ allowPrivate: true });
    for (let i = 0; i < 3; i++) {
      const told = await tell(client, server.url);
      equal(told.includes("forged"), false, "no answer is another request's");
    }
    equal(server.accepted(), isReused ? 1 : 3, answer.slice(0, 100));
    client.close();
  }
});

Deno.test("bytes that come unasked on a connection that waits are no answer to the next request", async () => {
  const unasked = Promise.withResolvers<void>();
  await using server = openRawServer(async (peer) => {
    await peer.request();
    await peer.send(OK);
    if (peer.n === 0) {
      await unasked.promise;
      await peer.send("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
    }
    if (await peer.request() !== null) await peer.send(OK);
    else if (peer.n === 0) gone.resolve();
  });
  const gone = Promise.withResolvers<void>();
  const client = openWebhookClient({ allowPrivate: true });
  equal(await tell(client, server.url), "200 ok");
  unasked.resolve();
  await gone.promise; // the client closed it by itself
  equal(await tell(client, server.url), "200 ok");
  deepEqual(server.requests.map(({ n }) => n), [0, 1]);
  client.close();
});

Deno.test("a request on a connection that its receiver closes meanwhile is sent once more, on a new one", async () => {
  let isDown = false;
  await using server = openRawServer(async (peer) => {
    for (let i = 0; i < 2; i++) {
      if (await peer.request() === null) return;
      if (i === 1 || isDown) return; // closed without an answer
      await peer.send(OK);
    }
  });
  const client = openWebhookClient({ allowPrivate: true });
  equal(await tell(client, server.url, '"first"'), "200 ok");
  equal(await tell(client, server.url, '"second"'), "200 ok");
  const seen = () => server.requests.map(({ n, text }) => [n, text.split("\r\n\r\n")[1]]);
  deepEqual(seen(), [[0, '"first"'], [0, '"second"'], [1, '"second"']]);
  isDown = true;
  equal(await tell(client, server.url, '"third"'), "the connection was closed");
  deepEqual(seen().slice(3), [[1, '"third"'], [2, '"third"']], "once more, and no third time");
  client.close();
});

Deno.test("a request whose answer began is not sent again, also on a connection that was used before", async () => {
  await using server = openRawServer(async (peer) => {
    await peer.request();
    await peer.send(OK);
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf");
  });
  const client = openWebhookClient({ allowPrivate: true });
  equal(await tell(client, server.url), "200 ok");
  equal(await tell(client, server.url), "the connection was closed");
  equal(server.requests.length, 2);
  client.close();
});

Deno.test("an answer counts that comes before the request was read", async () => {
  await using server = openRawServer(async (peer) => {
    await peer.send("HTTP/1.1 413 Large\r\ncontent-length: 0\r\n\r\n");
    await peer.request();
  });
  const client = openWebhookClient({ allowPrivate: true });
  equal(await tell(client, server.url, "x".repeat(20_000)), "413 ");
  client.close();
});

Deno.test("as many connections to a host wait as were used at once, and each is closed with the client", async () => {
  const hold = Promise.withResolvers<void>();
  const ended: Promise<unknown>[] = [];
  await using server = openRawServer(async (peer) => {
    const talk = (async () => {
      await peer.request();
      await hold.promise;
      await peer.send(OK);
      await always(OK)(peer);
    })();
    ended.push(talk);
    await talk;
  });
  const client = openWebhookClient({ allowPrivate: true });
  const first = Array.from({ length: 20 }, () => tell(client, server.url));
  await until(() => server.requests.length === 20);
  hold.resolve();
  await Promise.all(first);
  await Promise.all(Array.from({ length: 20 }, () => tell(client, server.url)));
  deepEqual([server.accepted(), server.requests.length], [20, 40]);
  client.close();
  await Promise.all(ended);
});

Deno.test("a certificate is accepted for its name alone, and of known authorities alone", async () => {
  const { ca, right, other } = makeCertificates();
  for (
    const [certificate, caCerts, host, expected] of [
      [right, [ca], "localhost", "200 ok"],
      [right, [ca], "localhost.", "200 ok"],
      [right, [], "localhost", "the certificate was not accepted"],
      [other, [ca], "localhost", "the certificate was not accepted"],
      [right, [ca], "mail.example", "the certificate was not accepted"],
      [right, [ca], "127.0.0.1", "the certificate was not accepted"],
    ] as const
  ) {
    await using server = openRawServer(always(OK), certificate);
    const client = openWebhookClient({
      allowPrivate: true,
      caCerts,
      resolve: () => Promise.resolve(["127.0.0.1"]),
    });
    const url = `https://${host}:${server.port}/`;
    equal(await tell(client, url), expected, host);
    equal(await tell(client, url), expected, host);
    equal(
      server.requests.length,
      expected === "200 ok" ? 2 : 0,
      "nothing is sent before the check",
    );
    client.close();
  }
});

Deno.test("a receiver that speaks no TLS is a failure, and its address stays out of the message", async () => {
  await using server = openRawServer(async (peer) =>
    void await peer.send("HTTP/1.1 400 No\r\n\r\n")
  );
  const client = openWebhookClient({ allowPrivate: true, timeoutMs: 60_000 });
  equal(
    await tell(client, server.url.replace("http", "https")),
    "the connection could not be encrypted",
  );
  client.close();
});
