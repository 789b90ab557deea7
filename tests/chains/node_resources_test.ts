/** Nodes that speak plain HTTP with JSON: the difference of an answer, a refusal and a failure. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type NodeOptions, openNodes, type Peer } from "../../workers/chains/node_pool.ts";
import { openSingle } from "../../workers/chains/peer.ts";
import { endpointOf, type Resource, RpcError } from "../../workers/chains/rpc.ts";
import { holdingTimeouts } from "../support/held_timers.ts";
import { givenUp, without } from "../support/nodes/silent_nodes.ts";
import { failsAs } from "./conformance.ts";

/** Of a node's answers; over when a test says so, so that no answer of a busy machine is late. */
const TIMEOUT_MS = 599_000;

/** A node on loopback. */
interface JsonNode extends AsyncDisposable {
  /** Ends with a slash. */
  readonly url: string;
  /** Methods, paths and bodies as they arrived. */
  readonly asked: string[];
  answer: (request: Request) => Response | Promise<Response>;
}

function startJsonNode(answer: JsonNode["answer"]): JsonNode {
  const asked: string[] = [];
  const ending = new AbortController();
  const { signal } = ending;
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {}, signal },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      asked.push(`${request.method} ${pathname}${search} ${await request.clone().text()}`.trim());
      return await node.answer(request);
    },
  );
  const node: JsonNode = {
    url: `http://127.0.0.1:${server.addr.port}/`,
    asked,
    answer,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await server.finished;
    },
  };
  return node;
}

function open(urls: readonly string[], limits: NodeOptions["limits"] = {}) {
  return openNodes({ urls, limits, identify: () => Promise.resolve() });
}

const BLOCK: Resource = { path: "wallet/getnowblock" };
const ASK = (peer: Peer) => peer.request(BLOCK);

Deno.test("a resource is read by GET, or by POST with a body, below the node's address and with its credentials", async () => {
  await using node = startJsonNode((request) =>
    Response.json({
      by: request.headers.get("authorization"),
      type: request.headers.get("content-type"),
    })
  );
  const url = new URL(`${node.url}v3/key?plan=free`);
  url.username = "user";
  url.password = "word";
  const nodes = open([url.href]);
  const query = { address: "T1&visible=true/../..", limit: "2" };
  deepEqual(await nodes.ask((peer) => peer.request({ ...BLOCK, query })), {
    by: `Basic ${btoa("user:word")}`,
    type: null,
  });
  deepEqual(await nodes.ask((peer) => peer.request({ ...BLOCK, body: { num: 5 } })), {
    by: `Basic ${btoa("user:word")}`,
    type: "application/json",
  });
  deepEqual(node.asked, [
    "GET /v3/key/wallet/getnowblock?plan=free&address=T1%26visible%3Dtrue%2F..%2F..&limit=2",
    'POST /v3/key/wallet/getnowblock?plan=free {"num":5}',
  ]);
  for (const path of ["../admin", "/wallet", "wallet//x", "http://127.0.0.1:9/x", "a?b", ""]) {
    await rejects(nodes.ask((peer) => peer.request({ path })), TypeError);
  }
  equal(node.asked.length, 2);
});

const FAILURES: Readonly<Record<string, JsonNode["answer"]>> = {
  "no JSON": () => new Response("<html>gateway</html>"),
  "half a JSON": () => new Response('{"blockID":"00'),
  "nothing": () => new Response(""),
  "HTTP 503": () => Response.json({ error: "busy" }, { status: 503 }),
  "HTTP 429": () => Response.json({}, { status: 429, headers: { "retry-after": "9" } }),
  "HTTP 403": () => Response.json({ error: "no key" }, { status: 403 }),
  "HTTP 404 without JSON": () => new Response("not here", { status: 404 }),
  "a redirect": () => Response.redirect("http://127.0.0.1:1/", 307),
  "too much": () => Response.json({ block: "x".repeat(5000) }),
  "nothing in time": ({ signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(new Response()))),
};

Deno.test("a node that fails at a resource is unavailable and rests, and the next one is asked", async (t) => {
  using timeouts = holdingTimeouts(TIMEOUT_MS);
  await using good = startJsonNode(() => Response.json({ height: 7 }));
  for (const [name, answer] of Object.entries(FAILURES)) {
    await t.step(name, async () => {
      await using bad = startJsonNode(answer);
      const ended = <T>(answer: Promise<T>) =>
        name === "nothing in time" ? givenUp(bad, timeouts, answer) : answer;
      const limits = { timeoutMs: TIMEOUT_MS, bytesMax: 4000 };
      await ended(failsAs("unavailable", open([bad.url], limits).ask(ASK)));
      const both = open([bad.url, good.url], limits);
      deepEqual(await ended(both.ask(ASK)), { height: 7 });
      deepEqual(await without(bad, both.ask(ASK)), { height: 7 });
    });
  }
});

Deno.test("a resource that a node refuses is an answer of the node, which goes on being asked", async () => {
  await using node = startJsonNode(() =>
    Response.json({ Error: "no such\naddress" }, { status: 400 })
  );
  const nodes = open([node.url]);
  for (let times = 0; times < 2; times++) {
    await rejects(nodes.ask(ASK), (error) => {
      ok(error instanceof RpcError);
      deepEqual([error.code, error.data], [400, { Error: "no such\naddress" }]);
      return !error.message.includes("\n");
    });
  }
  node.answer = () => new Response('{"amount":9007199254740993}');
  const exact = open([node.url], { exactNumbers: true });
  deepEqual(await exact.ask(ASK), { amount: "9007199254740993" });
});

Deno.test("a refusal that repeats the node's address does not reveal its keys", async () => {
  await using node = startJsonNode(({ url }) =>
    Response.json({ id: null, error: { code: 5, message: `nothing at ${url}` } }, { status: 404 })
  );
  const keys = ["0123456789abcdef", "fedcba9876543210"];
  const nodes = open([`${node.url}v3/${keys[0]}/?key=${keys[1]}`]);
  const address = "TLsV52sRDL79HXGGm9yzwKibb6BeruhUzy";
  const asked: [(peer: Peer) => Promise<unknown>, kept: string][] = [
    [
      (peer) => peer.request({ ...BLOCK, query: { address } }),
      `wallet/getnowblock?key=…&address=${address}`,
    ],
    [(peer) => peer.call("eth_chainId", []), "/v3/…/?key=…"],
  ];
  for (const [ask, kept] of asked) {
    await rejects(nodes.ask(ask), ({ message }: RpcError) => {
      ok(keys.every((key) => !message.includes(key)), message);
      return message.includes(kept);
    });
  }
});

Deno.test("a resource is asked for only of a node that has proven its network, and of none after the closing", async () => {
  await using node = startJsonNode(() => Response.json({ block: "of another network" }));
  const nodes = openNodes({
    urls: [node.url],
    identify: async (peer) => void await peer.request({ path: "wallet/getgenesis" }),
  });
  await nodes.ask(ASK);
  deepEqual(node.asked, ["GET /wallet/getgenesis", "GET /wallet/getnowblock"]);
  nodes.close();
  await failsAs("unavailable", nodes.ask(ASK));
  equal(node.asked.length, 2);
});

Deno.test("a provider's key travels in its header, and in no message that repeats it", async () => {
  await using node = startJsonNode((request) =>
    Response.json({ error: `no such key: ${request.headers.get("x-key")}` }, { status: 400 })
  );
  const url = new URL(node.url);
  url.username = "0123-4567-89ab-cdef";
  const identify = () => Promise.resolve();
  const nodes = openNodes({ urls: [url.href], keyHeader: "x-key", identify });
  await rejects(nodes.ask(ASK), (error: Error) => {
    ok(error instanceof RpcError);
    equal(error.message, '{"error":"no such key: …"}');
    return true;
  });
});

Deno.test("a node that asks for a pause is left alone for it, within ten minutes", async () => {
  const limits = { timeoutMs: 20_000, bytesMax: 4000, exactNumbers: false };
  const settings = { identify: () => Promise.resolve() };
  const pauses = [["90", 35_000, 90_000], ["7200", 300_000, 600_000]] as const;
  for (const [retryAfter, leastMs, mostMs] of pauses) {
    await using node = startJsonNode(() =>
      Response.json({ jsonrpc: "2.0", id: 0, error: { code: 429, message: "too many" } }, {
        status: 429,
        headers: { "retry-after": retryAfter },
      })
    );
    // Over JSON-RPC, whose error in the body is not the answer to the question, and plain HTTP.
    for (const rpc of [true, false]) {
      const single = openSingle(endpointOf(node.url), settings, limits, new AbortController());
      await failsAs("unavailable", rpc ? single.call("any", []) : single.request(BLOCK));
      const restMs = single.restsUntil - performance.now();
      ok(restMs > leastMs && restMs <= mostMs, `${restMs}`);
    }
  }
});
