import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { ChainError } from "../../workers/chains/chain.ts";
import { allOf, openNodes, type Peer } from "../../workers/chains/node_pool.ts";
import { endpointOf, RpcError } from "../../workers/chains/rpc.ts";
import { failsAs } from "./conformance.ts";
import {
  type FaultyNode,
  NodeError,
  startFaultyNode,
  type Trick,
} from "../support/nodes/faulty_node.ts";
import { until } from "../support/eventually.ts";
import { holdingTimeouts } from "../support/held_timers.ts";
import { givenUp, without } from "../support/nodes/silent_nodes.ts";

/** Of a node's answers, and until the next node is asked: over when a test says so, so that no answer of a busy machine is late. */
const [TIMEOUT_MS, NEXT_NODE_MS] = [599_000, 598_000];
const ASK = (peer: Peer) => peer.call("ping", []);

function open(faultyNodes: readonly FaultyNode[], limits = {}) {
  return openNodes({
    urls: faultyNodes.map(({ url }) => url),
    limits: { timeoutMs: TIMEOUT_MS, ...limits },
    nextNodeAfterMs: NEXT_NODE_MS,
    identify: () => Promise.resolve(),
    blamesNode: (error) => error.code === -32005,
  });
}

const BAD_ANSWERS: Readonly<Record<string, Trick>> = {
  "no JSON": () => new Response("<html>gateway</html>"),
  "half a JSON": ({ id }) => new Response(`{"jsonrpc":"2.0","id":${id},"resu`),
  "an empty body": () => new Response(""),
  "another id": () => Response.json({ jsonrpc: "2.0", id: 7, result: "wrong" }),
  "no result": ({ id }) => Response.json({ jsonrpc: "2.0", id }),
  "its id as text": ({ id }) => Response.json({ jsonrpc: "2.0", id: `${id}`, result: "wrong" }),
  "two answers": ({ id }) =>
    Response.json(["right", "wrong"].map((result) => ({ jsonrpc: "2.0", id, result }))),
  "a result and an error that is none": ({ id }) =>
    Response.json({ jsonrpc: "2.0", id, result: "wrong", error: "out of step" }),
  "an error with another id": () =>
    Response.json({ jsonrpc: "2.0", id: 7, error: { code: 1, message: "of another question" } }),
  "HTTP 503": () => new Response("busy", { status: 503 }),
  "HTTP 429": () => new Response("{}", { status: 429, headers: { "retry-after": "9" } }),
  "a redirect": () => Response.redirect("http://127.0.0.1:1/", 307),
  "too much": ({ id }) =>
    new Response(`{"jsonrpc":"2.0","id":${id},"result":"${"x".repeat(5000)}"}`),
  "nothing in time": () => new Promise(() => {}),
};

for (const [name, trick] of Object.entries(BAD_ANSWERS)) {
  Deno.test(`a node that answers ${name} is unavailable, and the next one is asked`, async () => {
    using timeouts = holdingTimeouts(TIMEOUT_MS);
    const bad = startFaultyNode(null, trick);
    await using good = startFaultyNode(null, () => "pong");
    const ended = <T>(answer: Promise<T>) =>
      name === "nothing in time" ? givenUp(bad, timeouts, answer) : answer;
    const alone = open([bad], { bytesMax: 4000 });
    await ended(failsAs("unavailable", alone.ask(ASK)));
    const both = open([bad, good], { bytesMax: 4000 });
    equal(await ended(both.ask(ASK)), "pong");
    // While it rests, the failed node is asked last.
    equal(await without(bad, both.ask(ASK)), "pong");
    await bad.abort();
  });
}

Deno.test("a node that is not there is unavailable, without saying its path or password", async () => {
  const nodes = openNodes({
    urls: ["http://user:hunter2@127.0.0.1:9/v3/apikey"],
    identify: () => Promise.resolve(),
  });
  await rejects(nodes.ask(ASK), (error: Error) => {
    ok(error instanceof ChainError && error.fault === "unavailable");
    ok(!/hunter2|apikey|user/.test(error.message), error.message);
    return error.message.includes("127.0.0.1:9");
  });
});

Deno.test("of several requests to a silent node one waits for it, the others fail at once with the reason", async () => {
  using timeouts = holdingTimeouts(TIMEOUT_MS);
  const node = startFaultyNode(null);
  const stall = node.stall();
  const nodes = open([node]);
  await givenUp(node, timeouts, failsAs("unavailable", nodes.ask(ASK)));
  const probe = failsAs("unavailable", nodes.ask(ASK));
  await until(() => stall.kept.length === 2);
  const failed: unknown[] = [];
  for (let i = 0; i < 20; i++) nodes.ask(ASK).catch((error) => failed.push(error));
  await until(() => failed.length === 20 || stall.kept.length > 2);
  equal(stall.kept.length, 2);
  for (const error of failed) ok(`${error}`.includes(`gave no answer in ${TIMEOUT_MS} ms`));
  timeouts.expire();
  await probe;
  await node.abort();
});

Deno.test("a slow node is waited for once: not beyond those that suffice, and then it is asked after them", async () => {
  await using second = startFaultyNode(null, () => "pong");
  await using third = startFaultyNode(null, () => "pong");
  const slow = startFaultyNode(second.url);
  const same = (heard: readonly unknown[]) => heard.length === 2;
  using nextNode = holdingTimeouts(NEXT_NODE_MS);
  for (const ask of ["few", "hear", "ask"] as const) {
    const stall = slow.stall();
    const refused = Promise.withResolvers<unknown>();
    const nodes = open([slow, second, third]);
    const [of] = nodes.peers;
    /** Two questions, one after the other. */
    const work = async (peer: Peer) => {
      await peer.call("first", []);
      return await peer.call("second", []).catch((error) => {
        if (peer.name === of.name) refused.resolve(error);
        throw error;
      });
    };
    const asking = {
      few: () => nodes.few(work, () => true),
      hear: () => nodes.hear(work),
      ask: () => nodes.ask(work),
    };
    const answered = asking[ask]();
    await stall.reached;
    if (ask === "ask") nextNode.expire(); // the others are asked only then
    await answered;
    equal(stall.kept.length, 1, ask);
    const { heard } = await nodes.few(work, same);
    equal(heard.length, 2);
    equal(stall.kept.length, 1, `${ask}: the slow one is asked again`);
    // Nobody waits for it, so it is asked nothing more.
    stall.end();
    ok(/is not waited for/.test(String(await refused.promise)), ask);
    nodes.close();
  }
  await slow.abort();
});

Deno.test("a node that contradicts the others is asked after them, and again where they do not suffice", async () => {
  await using lying = startFaultyNode(null, () => "ping");
  await using second = startFaultyNode(null, () => "pong");
  await using third = startFaultyNode(null, () => "pong");
  const nodes = open([lying, second, third]);
  equal(await nodes.agree(ASK, String, "it"), "pong");
  const before = lying.asked.length;
  equal(await nodes.agree(ASK, String, "it"), "pong");
  equal((await nodes.few(ASK, () => true)).heard.length, 2);
  equal(lying.asked.length, before);
  third.trick = () => "pang";
  await failsAs("unavailable", nodes.agree(ASK, String, "it"));
  equal(lying.asked.length, before + 1);
});

Deno.test("nodes of one host and port have different names", async () => {
  await using node = startFaultyNode(null, () => "pong");
  const nodes = openNodes({
    urls: [`${node.url}/one`, `${node.url}/other`],
    identify: () => Promise.resolve(),
  });
  const { host } = new URL(node.url);
  deepEqual(nodes.peers.map(({ name }) => name), [host, `${host} (2)`]);
  nodes.close();
});

Deno.test("user and password travel as basic authentication, not in the address", () => {
  const endpoint = endpointOf("http://me:p%40ss@node.test:8332/wallet");
  deepEqual(endpoint, {
    url: "http://node.test:8332/wallet",
    authorization: `Basic ${btoa("me:p@ss")}`,
    name: "node.test:8332",
  });
});

Deno.test("a user without password is a provider's key where the chain has a header for it", () => {
  deepEqual(endpointOf("https://a-key%2B@node.test/v1", "X-KEY"), {
    url: "https://node.test/v1",
    authorization: null,
    key: { header: "X-KEY", value: "a-key+" },
    name: "node.test",
  });
  equal(endpointOf("https://me:word@node.test", "X-KEY").key, undefined);
  equal(endpointOf("https://me@node.test").key, undefined);
});

Deno.test("a node's own error is an answer; only one about the node makes another be asked", async () => {
  await using first = startFaultyNode(null, () => {
    throw new NodeError(-32000, "you are wrong\u0007\n");
  });
  await using second = startFaultyNode(null, () => "pong");
  const nodes = open([first, second]);
  await rejects(nodes.ask(ASK), (error: Error) => {
    ok(error instanceof RpcError);
    equal(error.message, "you are wrong ");
    return error.code === -32000;
  });
  first.trick = () => {
    throw new NodeError(-32005, "rate limited");
  };
  equal(await nodes.ask(ASK), "pong");
  await failsAs("unavailable", open([first]).ask(ASK));
});

Deno.test("a batch keeps its order, and an error stands in its place", async () => {
  await using node = startFaultyNode(null, ({ params: [number] }) => {
    if (number === 3) throw new NodeError(-32000, "not three");
    return number;
  });
  const calls = Array.from({ length: 120 }, (_, number) => ({ method: "echo", params: [number] }));
  for (const takesBatches of [true, false]) {
    node.takesBatches = takesBatches;
    const answers = await open([node]).ask((peer) => peer.batch(calls));
    ok(answers[3] instanceof RpcError);
    deepEqual(answers.toSpliced(3, 1), calls.map((_, number) => number).toSpliced(3, 1));
    await rejects(async () => await Promise.resolve(allOf(answers)), RpcError);
  }
  deepEqual(await open([node]).ask((peer) => peer.batch([])), []);
});

Deno.test("a node that gives the answer to an earlier question counts as one that gives none", async () => {
  const answers: unknown[] = [];
  await using node = startFaultyNode(null, ({ method }) => `of ${method}`);
  node.retell = (said) => { // as after an answer too many, or behind a proxy that confuses its callers
    answers.push(said);
    return answers.at(-2) ?? said;
  };
  const nodes = open([node]);
  equal(await nodes.ask((peer) => peer.call("first", [])), "of first");
  await failsAs("unavailable", nodes.ask((peer) => peer.call("second", [])));
});

Deno.test("what one task joins goes in one request, each question once, and each asker has its own answers", async () => {
  await using node = startFaultyNode(null, ({ method, params: [number] }) => {
    if (number === 3) throw new NodeError(-32000, "not three");
    return method === "height" ? 7 : number;
  });
  const nodes = open([node]);
  const height = { method: "height", params: [] };
  const echo = (number: number) => ({ method: "echo", params: [number] });
  const join = (number: number) =>
    nodes.ask((peer) => peer.join([height, echo(number), echo(number + 1)]));
  const [first, second, third] = await Promise.all([join(1), join(2), join(4)]);
  deepEqual(first, [7, 1, 2]);
  deepEqual([second[0], second[1]], [7, 2]);
  ok(second[2] instanceof RpcError);
  deepEqual(third, [7, 4, 5]);
  deepEqual(node.asked, ["height", ...Array(5).fill("echo")]);
  deepEqual(await join(1), [7, 1, 2]); // a later task asks again
  equal(node.asked.length, 9);
  node.takesBatches = false;
  deepEqual(await Promise.all([join(0), join(4)]), [[7, 0, 1], [7, 4, 5]]);
});

Deno.test("a question at which a node fails fails no question that went with it", async () => {
  await using node = startFaultyNode(null, ({ params: [number] }) => {
    return number === 3 ? new Response("", { status: 502 }) : number;
  });
  const nodes = open([node]);
  const asked = [1, 3, 5].map((number) =>
    nodes.ask((peer) => peer.join([{ method: "echo", params: [number] }]))
  );
  const [one, three, five] = await Promise.allSettled(asked);
  deepEqual([one, five], [1, 5].map((number) => ({ status: "fulfilled", value: [number] })));
  ok(three.status === "rejected" && three.reason instanceof ChainError);
});

Deno.test("a question that a node refuses without its id fails no question that went with it", async () => {
  const refused =
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no such question"}}';
  await using node = startFaultyNode(null, ({ params: [number] }) => {
    return number === 3 ? new Response(refused) : number;
  });
  for (const takesBatches of [true, false]) {
    node.takesBatches = takesBatches;
    const nodes = open([node]);
    const asked = [1, 3, 5].map((number) =>
      nodes.ask((peer) => peer.join([{ method: "echo", params: [number] }]))
    );
    const [one, three, five] = await Promise.allSettled(asked);
    deepEqual([one, five], [1, 5].map((number) => ({ status: "fulfilled", value: [number] })));
    ok(three.status === "rejected" && three.reason instanceof RpcError);
  }
});

Deno.test("shared questions fill requests of fifty, and all askers learn that a node did not answer", async () => {
  await using node = startFaultyNode(null, ({ params: [number] }) => number);
  const nodes = open([node]);
  const ask = (from: number) =>
    nodes.ask((peer) =>
      peer.join(
        Array.from({ length: 20 }, (_, at) => ({ method: "echo", params: [from + at] })),
      )
    );
  const answers = await Promise.all([0, 20, 40, 60].map(ask));
  deepEqual(answers.flat(), Array.from({ length: 80 }, (_, at) => at));
  node.trick = () => new Response("", { status: 502 });
  const failed = await Promise.allSettled([ask(0), ask(20)]);
  deepEqual(failed.map(({ status }) => status), ["rejected", "rejected"]);
});

Deno.test("a node that refused a batch as a whole is asked in batches again after ten minutes, by one batch at a time, and where it takes none no sooner than ten minutes later", async () => {
  await using node = startFaultyNode(null, ({ params: [number] }) => number);
  const nodes = openNodes({
    urls: [node.url],
    limits: { timeoutMs: 60_000 },
    identify: () => Promise.resolve(),
  });
  const some = [1, 2, 3];
  const calls = some.map((number) => ({ method: "echo", params: [number] }));
  async function sizesOf(times = 1): Promise<number[]> {
    const before = node.sizes.length;
    const asked = Array.from({ length: times }, () => nodes.ask((peer) => peer.batch(calls)));
    deepEqual(await Promise.all(asked), asked.map(() => some));
    return node.sizes.slice(before).toSorted();
  }
  const now = performance.now.bind(performance);
  let passed = 0;
  try {
    performance.now = () => now() + passed;
    deepEqual(await sizesOf(), [3]);
    node.takesBatches = false;
    deepEqual(await sizesOf(), [1, 1, 1, 3]);
    passed += 590_000;
    deepEqual(await sizesOf(), [1, 1, 1]);
    passed += 11_000;
    deepEqual(await sizesOf(3), [...Array(9).fill(1), 3], "one of three tries");
    deepEqual(await sizesOf(), [1, 1, 1]);
    node.takesBatches = true;
    passed += 590_000;
    deepEqual(await sizesOf(), [1, 1, 1]);
    passed += 11_000;
    deepEqual(await sizesOf(), [3]);
    deepEqual(await sizesOf(3), [3, 3, 3]);
  } finally {
    performance.now = now;
  }
});

Deno.test("a node is believed only after it has proven its network, and again after a failure", async () => {
  await using impostor = startFaultyNode(null, () => "impostor");
  await using honest = startFaultyNode(null, () => "honest");
  const nodes = openNodes({
    urls: [impostor.url, honest.url],
    restMs: 0,
    identify: async (peer) => {
      if (await peer.call("who", []) === "honest") return;
      throw new ChainError("wrong_chain", `${peer.name} is of another chain`);
    },
  });
  equal(await nodes.ask(ASK), "honest");
  equal(await nodes.ask(ASK), "honest");
  deepEqual(honest.asked, ["who", "ping", "ping"]);
  ok(impostor.asked.every((method) => method === "who"));
  honest.trick = () => new Response("", { status: 502 });
  await failsAs("wrong_chain", nodes.ask(ASK));
  honest.trick = () => "honest";
  equal(await nodes.ask(ASK), "honest");
  deepEqual(honest.asked.slice(3), ["ping", "who", "ping"]);
});

Deno.test("a batch whose answers are too large together is asked in parts, and none is left out", async () => {
  await using node = startFaultyNode(null, ({ params }) => `${params[0]} ${"x".repeat(1_000)}`);
  const calls = Array.from({ length: 16 }, (_, at) => ({ method: "block", params: [at] }));
  const nodes = open([node], { bytesMax: 5_000 });
  const answers = await nodes.ask((peer) => peer.batch(calls));
  deepEqual(answers.map((answer) => parseInt(String(answer), 10)), calls.map((_, at) => at));
  node.trick = () => "x".repeat(6_000);
  await failsAs("unavailable", nodes.ask((peer) => peer.batch(calls)));
});

Deno.test("numbers that a double would change are handed over as their digits", async () => {
  const result = '[0.10000000,21,9007199254740993,1e3,"0.5",-1.5]';
  await using node = startFaultyNode(
    null,
    ({ id }) => new Response(`{"jsonrpc":"2.0","id":${id},"result":${result}}`),
  );
  deepEqual(await open([node], { exactNumbers: true }).ask(ASK), [
    "0.10000000",
    21,
    "9007199254740993",
    "1e3",
    "0.5",
    "-1.5",
  ]);
});

Deno.test("closing ends a call in flight and refuses the next", async () => {
  const started = Promise.withResolvers<void>();
  const node = startFaultyNode(null, () => {
    started.resolve();
    return new Promise(() => {});
  });
  const nodes = open([node], { timeoutMs: 60_000 });
  const asked = failsAs("unavailable", nodes.ask(ASK));
  await started.promise;
  nodes.close();
  await asked;
  await failsAs("unavailable", nodes.ask(ASK));
  await node.abort();
});
