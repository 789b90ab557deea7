/** The client of webhooks: where it connects, how it reads answers, and which connections it keeps. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { fieldOf } from "../../workers/gateways/outbound/http_answers.ts";
import {
  openWebhookClient,
  type WebhookClientOptions,
} from "../../workers/gateways/outbound/webhook_client.ts";
import { until } from "../support/eventually.ts";
import { openRawServer, type RawPeer } from "../support/raw_server.ts";

const MESSAGE = { headers: { "webhook-id": "one" }, body: '{"a":"é"}' };
const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** A client for receivers of the loopback interface. */
function openClient(options: Partial<WebhookClientOptions> = {}) {
  const client = openWebhookClient({ allowPrivate: true, timeoutMs: 300_000, ...options });
  return {
    ...client,
    /** What becomes of a post: its status and body, or the fault. */
    async tell(url: string): Promise<string> {
      return await client.post(url, MESSAGE).then(
        ({ status, body }) => `${status} ${body}`,
        (error) => {
          equal(error.name, "WebhookFault", error.stack);
          return error.message;
        },
      );
    },
    [Symbol.dispose]: () => client.close(),
  };
}

/** Answers every request with the same bytes, one or more. */
const always = (answer: string | Uint8Array) => async (peer: RawPeer) => {
  while (await peer.request() !== null) if (!await peer.send(answer)) return;
};
/** Answers the first request of a connection, and waits until the client closes it. */
const once = (answer: string, endless?: string) => async (peer: RawPeer) => {
  await peer.request();
  await peer.send(answer);
  for (let more = endless !== undefined; more;) more = await peer.send(endless!.repeat(100));
  await peer.request();
};

Deno.test("a receiver's name that leads to a private address is refused by the address connected to", async () => {
  await using server = openRawServer(always(OK));
  for (
    const addresses of [
      ["127.0.0.1"],
      ["93.184.215.14", "127.0.0.1"],
      ["::1"],
      ["::ffff:127.0.0.1"],
      ["64:ff9b::7f00:1"],
      ["169.254.169.254"],
      // The name of nothing is refused in the same words: else names of the network would be told from others.
      ["localhost"],
      [],
    ]
  ) {
    let asked = 0;
    using client = openClient({
      allowPrivate: false,
      resolve: () => (asked++, Promise.resolve(addresses)),
    });
    equal(
      await client.tell(`https://hooks.example.com:${server.port}/`),
      "its name leads to no address of the public internet",
      addresses.join(),
    );
    equal(asked, 1, "resolved once");
  }
  equal(server.accepted(), 0);
});

Deno.test("a connection goes to the address that was checked, and what is no address is not resolved again", async () => {
  await using server = openRawServer(always(OK));
  const answers = [["localhost"], [], ["127.0.0.1"], ["127.0.0.9"]];
  let asked = 0;
  using client = openClient({ resolve: () => Promise.resolve(answers[asked++]) });
  // No resolver knows this name: only the address that was given can lead to the server.
  const url = `http://hooks.test:${server.port}/`;
  equal(await client.tell(url), "its name has no address");
  equal(await client.tell(url), "its name has no address");
  equal(server.accepted(), 0);
  equal(await client.tell(url), "200 ok");
  equal(await client.tell(url), "200 ok");
  deepEqual([asked, server.accepted()], [3, 1], "the second used the same connection");
  match(
    server.requests[0].text,
    new RegExp(`^POST / HTTP/1.1\r\nhost: hooks.test:${server.port}\r\n`),
  );
});

Deno.test("a name whose first address does not answer is reached by its next", async () => {
  await using server = openRawServer(always(OK));
  using client = openClient({ resolve: () => Promise.resolve(["::1", "127.0.0.1"]) });
  // The server listens on the last address alone.
  equal(await client.tell(`http://hooks.test:${server.port}/`), "200 ok");
});

Deno.test("a request says its length in bytes, and what was written in the address", async () => {
  await using server = openRawServer(always(OK));
  using client = openClient();
  await client.tell(`${server.url}a%20b/ü?x=1&y=%0d%0a`);
  equal(
    server.requests[0].text.split("\r\n").join("\n"),
    `POST /a%20b/%C3%BC?x=1&y=%0d%0a HTTP/1.1\nhost: 127.0.0.1:${server.port}\n` +
      `webhook-id: one\ncontent-length: 10\n\n{"a":"é"}`,
  );
  const bad = { headers: { "x-a": "1\r\nx-b: 2" }, body: "" };
  const fault = await client.post(server.url, bad).then(() => "", (error) => error.message);
  equal(fault, "a header would not be one");
  equal(server.requests.length, 1);
});

Deno.test("answers are read however their bytes are cut", async () => {
  const answers: [string, string][] = [
    [OK, "200 ok"],
    ["HTTP/1.1 200 OK\nContent-Length:2\n\nok", "200 ok"],
    ["HTTP/1.1 201\r\nCONTENT-LENGTH: \t2\t\r\n\r\nok", "201 ok"],
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK, "200 ok"],
    ["HTTP/1.1 500 No\r\ncontent-length: 2, 2\r\ncontent-length: 2\r\n\r\nno", "500 no"],
    ["HTTP/1.1 204 None\r\n\r\n", "204 "],
    ["HTTP/1.1 304 Same\r\ncontent-length: 50\r\n\r\n", "304 "],
    ["HTTP/1.1 200 OK\r\nx: \xc3\x81\r\ncontent-length: 0\r\n\r\n", "200 "],
    [
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;a=b\r\no\r\n0A\r\nk456789012\r\n0\r\n" +
      "x-trailer: 1\r\n\r\n",
      "200 ok456789012",
    ],
  ];
  for (const [answer, expected] of answers) {
    const bytes = new TextEncoder().encode(answer);
    await using server = openRawServer(async (peer) => {
      while (await peer.request() !== null) {
        if (peer.n === 0) await peer.send(bytes);
        for (let at = 0; peer.n === 1 && at < bytes.length; at++) {
          await peer.send(bytes.subarray(at, at + 1));
        }
      }
    });
    for (const way of ["at once", "byte by byte"]) {
      using client = openClient();
      equal(await client.tell(server.url), expected, `${way}: ${answer}`);
      if (way === "at once") equal(await client.tell(server.url), expected, "again");
      equal(server.accepted(), way === "at once" ? 1 : 2);
    }
  }
});

Deno.test("what is no answer of HTTP/1.1 is refused, not guessed at", async () => {
  const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  const body = "content-length: 2\r\n\r\nok";
  const answers = [
    "garbage\r\n\r\n",
    "\r\nHTTP/1.1 200 OK\r\n\r\n",
    "SSH-2.0-OpenSSH_9.6\r\n",
    "HTTP/2 200 OK\r\n\r\n",
    `HTTP/1.1 042 Small\r\n${body}`,
    `HTTP/1.1 000 None\r\n${body}`,
    `HTTP/1.1 2000 Large\r\n${body}`,
    `HTTP/1.1 200 a\x07b\r\n${body}`,
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
    "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nok",
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    `HTTP/1.1 200 OK\r\nx-a : 1\r\n${body}`,
    `HTTP/1.1 200 OK\r\nx-a: 1\r\n folded\r\n${body}`,
    `HTTP/1.1 200 OK\r\nx-a: 1\rx-b: 2\r\n${body}`,
    `HTTP/1.1 200 OK\r\nno field\r\n${body}`,
    `${chunked}xyz\r\nok\r\n0\r\n\r\n`,
    `${chunked}-2\r\nok\r\n0\r\n\r\n`,
    `${chunked}123456789\r\nok`,
    `${chunked}2\r\nok!\r\n0\r\n\r\n`,
    `${chunked}\r\n`,
  ];
  for (const answer of answers) {
    await using server = openRawServer(once(answer));
    using client = openClient();
    equal(await client.tell(server.url), "the answer was not HTTP", answer);
    equal(server.requests.length, 1, "it is not asked again");
  }
  await using server = openRawServer(
    once("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
  );
  using client = openClient();
  equal(await client.tell(server.url), "the receiver asked for another protocol");
});

Deno.test("a line of a receiver's answer is read in time that grows with the line alone", () => {
  const blanks = " ".repeat(1_000_000); // which took minutes of the whole process
  equal(fieldOf(`server:${blanks}\x01`), null);
  deepEqual(fieldOf(`Server:\t${blanks}`), ["server", `\t${blanks}`]);
  for (const none of ["", ":", "a", " a: b", "a b: c", "a: \r"]) equal(fieldOf(none), null, none);
});

Deno.test("answers without end are read up to a bound, and their connections closed", async () => {
  const answers: [string, string, string | RegExp][] = [
    ["HTTP/1.1 200 OK\r\n", "x-more: 0123456789\r\n", "the answer was not HTTP"],
    ["HTTP/1.1 200 OK\r\nx-long: ", "0123456789", "the answer was not HTTP"],
    ["", "HTTP/1.1 100 Continue\r\n\r\n", "too many answers came before the answer"],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1;ext\r\n!\r\n", /^200 !{1024}$/],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "x-y: z\r\n", "200 "],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;", "ext", "the answer was not HTTP"],
    ["HTTP/1.1 200 OK\r\n\r\n", "0123456789", /^200 [0-9]{1024}$/],
    ["HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n", "a", /^200 a{1024}$/],
  ];
  for (const [answer, endless, expected] of answers) {
    await using server = openRawServer(once(answer, endless));
    using client = openClient();
    const before = Deno.memoryUsage().rss;
    const told = await client.tell(server.url);
    if (typeof expected === "string") equal(told, expected, answer);
    else match(told, expected, answer);
    const grown = Deno.memoryUsage().rss - before;
    ok(grown < 100_000_000, `${grown} bytes for ${answer} and ${endless}`);
  } // the servers end because their connections are closed
});

Deno.test("a connection that ends in the middle of an answer is a failure; one whose end is the answer's is none", async () => {
  const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  for (
    const [answer, expected] of [
      ["", "the connection was closed"],
      ["HTTP/1.1 200 OK\r\ncontent-le", "the connection was closed"],
      ["HTTP/1.1 100 Continue\r\n\r\n", "the connection was closed"],
      ["HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf", "the connection was closed"],
      [`${chunked}5\r\nhal`, "the connection was closed"],
      [`${chunked}4\r\nhalf\r\n`, "the connection was closed"],
      [`${chunked}4\r\nhalf\r\n0\r\n`, "the connection was closed"],
      ["HTTP/1.1 200 OK\r\n\r\nwhole", "200 whole"],
      ["HTTP/1.0 200 OK\r\ntransfer-length: 3\r\n\r\nwhole", "200 whole"],
    ]
  ) {
    await using server = openRawServer(async (peer) => {
      await peer.request();
      await peer.send(answer);
    });
    using client = openClient();
    equal(await client.tell(server.url), expected, answer);
    equal(server.requests.length, 1, "a new connection is not tried again");
  }
});

Deno.test("a receiver that is slow is given up in time, at whatever it is slow", async () => {
  const drip = async (peer: RawPeer, text: string) => {
    for (let more = true; more;) {
      more = await peer.send(text);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const ways: ((peer: RawPeer) => Promise<void>)[] = [
    async (peer) => void (await peer.request(), await peer.request()),
    async (peer) => (await peer.request(), await peer.send("HTTP/1.1 2"), await drip(peer, "0")),
    once(OK.slice(0, -1)),
    async (peer) => {
      await peer.request();
      await peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      await drip(peer, "1\r\n.\r\n");
    },
  ];
  for (const [n, way] of ways.entries()) {
    await using server = openRawServer(way);
    using client = openClient({ timeoutMs: 300 });
    match(
      await client.tell(server.url),
      /^(no answer came within 1 s|the answer was not HTTP)$/,
      `${n}`,
    );
  }
  // Nothing answers to the name, and to the first message of TLS.
  const resolving = Promise.withResolvers<string[]>();
  using client = openClient({ timeoutMs: 300, resolve: () => resolving.promise });
  equal(await client.tell("http://hooks.test/"), "no answer came within 1 s");
  resolving.resolve([]);
  // Its socket is closed although the receiver leaves the handshake open.
  const closed = Promise.withResolvers<void>();
  await using silent = openRawServer(async (peer) => {
    if (await peer.request() === null) closed.resolve();
  });
  equal(await client.tell(silent.url.replace("http", "https")), "no answer came within 1 s");
  await closed.promise;
});

Deno.test("a client that is closed ends what is under way, and connects no more", async () => {
  await using server = openRawServer(async (peer) =>
    void (await peer.request(), await peer.request())
  );
  using client = openClient();
  const told = client.tell(server.url);
  await until(() => server.requests.length === 1);
  client.close();
  equal(await told, "the connection was closed");
  equal(await client.tell(server.url), "the connection was closed");
  equal(server.accepted(), 1);
});
