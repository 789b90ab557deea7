/** Coins that contracts pay inside calls, which balances alone show, while their blocks are reorganised away. */
import { deepEqual } from "node:assert/strict";
import { CALLS } from "../support/nodes/anvil.ts";
import { NodeError, passOn } from "../support/nodes/faulty_node.ts";
import { driftsOf } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { among, retryDepositsNow, type Witnessed } from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
const HALF = ETHER / 2n;

/** An address of a customer, and a contract that pays it when it is called. */
async function openPayee(witnessed: Witnessed) {
  const { fixture } = witnessed;
  const ramp = await fixture.ramp();
  const { address } = await fixture.address(ramp.id);
  const batcher = await fixture.anvil.deploy("Batcher");
  await fixture.mine(2);
  const pay = async () => {
    const data = CALLS.encodeFunctionData("payCoin", [[address], HALF]);
    return await fixture.anvil.send({ to: batcher, value: HALF, data });
  };
  return { address, pay };
}

async function open(nodes = "l"): Promise<Witnessed> {
  return await among(nodes, { env: { ETHEREUM_TESTNET_CONFIRMATIONS: "5" } });
}

/** Follows until the depth is reached; gives the deposits, and what chain and ledger differ by. */
async function settled({ fixture }: Witnessed) {
  for (let round = 0; round < 10; round++) {
    await retryDepositsNow(fixture);
    await rowsOf(fixture.realm, "update jobs set run_at = now() where state = 'ready'");
    await fixture.mine();
  }
  const rows = await rowsOf<{ status: string; amount: string }>(
    fixture.realm,
    "select status, trim_scale(amount)::text as amount from deposits order by id",
  );
  return { deposits: rows.map((one) => [one.status, one.amount]), drifts: await driftsOf(fixture) };
}

for (const told of [true, false]) {
  const which = told ? "" : ", and nodes have no older balances";
  Deno.test(`coins of a call whose block a reorganisation replaces are credited in their new block${which}`, async () => {
    const witnessed = await open();
    try {
      const { fixture: { anvil, poller }, lying } = witnessed;
      const { pay } = await openPayee(witnessed);
      const hash = await pay();
      await poller.follow();
      const raw = await anvil.rpc<string>("eth_getRawTransactionByHash", hash);
      await anvil.mine();
      await anvil.rpc("anvil_reorg", 2, [[raw, 1]]);
      if (!told) {
        const head = await anvil.rpc<string>("eth_blockNumber");
        lying.trick = ({ method, params }) => {
          const old = method === "eth_getBalance" && params[1] !== "latest" && params[1] !== head;
          if (old) throw new NodeError(-32000, "missing trie node");
        };
      }
      await poller.follow();
      lying.trick = () => undefined;
      deepEqual(await settled(witnessed), {
        deposits: [["CONFIRMED", "0.5"]],
        drifts: [["ETH", "0"]],
      });
    } finally {
      await witnessed.end();
    }
  });
}

Deno.test("coins of a call are credited although its new block was told wrong for a moment", async () => {
  const witnessed = await open();
  try {
    const { fixture: { anvil, poller }, lying, url } = witnessed;
    const { pay } = await openPayee(witnessed);
    const hash = await pay();
    await poller.follow();
    const raw = await anvil.rpc<string>("eth_getRawTransactionByHash", hash);
    await anvil.mine();
    await anvil.rpc("anvil_reorg", 2, [[raw, 1]]);
    const head = await anvil.rpc<string>("eth_blockNumber");
    const { blockNumber } = await anvil.rpc<{ blockNumber: string }>(
      "eth_getTransactionReceipt",
      hash,
    );
    const gone = `0x${"f".repeat(64)}`;
    lying.trick = async (question) => {
      const { method, params } = question;
      const old = method === "eth_getBalance" && params[1] !== "latest" && params[1] !== head;
      if (old) throw new NodeError(-32000, "missing trie node");
      const receipt = method === "eth_getTransactionReceipt" && params[0] === hash;
      const block = method === "eth_getBlockByNumber" && params[0] === blockNumber && !params[1];
      if (!receipt && !block) return undefined;
      // deno-lint-ignore no-explicit-any
      const { result } = await passOn(url, question) as any;
      return receipt ? { ...result, blockHash: gone } : { ...result, hash: gone };
    };
    await poller.follow();
    lying.trick = () => undefined;
    deepEqual(await settled(witnessed), {
      deposits: [["CONFIRMED", "0.5"]],
      drifts: [["ETH", "0"]],
    });
  } finally {
    await witnessed.end();
  }
});

Deno.test("coins of a call that come instead of as many which a reorganisation removed are found", async () => {
  const witnessed = await open();
  try {
    const { fixture: { anvil, poller } } = witnessed;
    const { pay } = await openPayee(witnessed);
    await pay();
    await poller.follow();
    await anvil.rpc("anvil_reorg", 1, []);
    await anvil.mine(); // the same nonce pays as much once more, in another transaction
    await pay();
    await poller.follow();
    deepEqual(await settled(witnessed), {
      deposits: [["ORPHANED", "0.5"], ["CONFIRMED", "0.5"]],
      drifts: [["ETH", "0"]],
    });
  } finally {
    await witnessed.end();
  }
});

for (const nodes of ["lhh", "hlh", "hhl", "lha", "lah", "hla", "ahl", "alh", "hal"]) {
  const away = nodes.indexOf("a");
  const which = away < 0 ? "" : ", and another tells none";
  Deno.test(`coins of a call are found although one node tells too much of the block below them${which} (nodes ${nodes})`, async () => {
    const witnessed = await open(nodes);
    try {
      const { fixture: { anvil, poller }, lying } = witnessed;
      const { address, pay } = await openPayee(witnessed);
      const below = await anvil.rpc<string>("eth_blockNumber");
      await pay();
      await poller.follow();
      await anvil.rpc("anvil_reorg", 1, []);
      await anvil.mine();
      await pay();
      lying.trick = ({ method, params }) =>
        method === "eth_getBalance" && params[0] === address && params[1] === below
          ? "0x8ac7230489e80000"
          : undefined;
      const tell = ({ method }: { method: string }) =>
        method === "eth_getBalance" ? new Response("busy", { status: 503 }) : undefined;
      if (away >= 0) witnessed.nodes[away].trick = tell;
      await poller.follow();
      for (const one of witnessed.nodes) one.trick = () => undefined;
      deepEqual(await settled(witnessed), {
        deposits: [["ORPHANED", "0.5"], ["CONFIRMED", "0.5"]],
        drifts: [["ETH", "0"]],
      });
    } finally {
      await witnessed.end();
    }
  });
}

Deno.test("a rise that is not explained yet is searched below a reorganisation as well", async () => {
  const witnessed = await open();
  try {
    const { fixture: { anvil, poller }, lying } = witnessed;
    const { pay } = await openPayee(witnessed);
    await pay();
    await anvil.mine(2);
    const head = await anvil.rpc<string>("eth_blockNumber");
    // In which of the blocks it rose cannot be told.
    lying.trick = ({ method, params }) => {
      const old = method === "eth_getBalance" && params[1] !== "latest" && params[1] !== head;
      if (old || method.startsWith("debug_")) throw new NodeError(-32000, "missing trie node");
    };
    await poller.follow();
    lying.trick = ({ method }) => {
      if (method.startsWith("debug_")) throw new NodeError(-32000, "missing trie node");
    };
    await anvil.rpc("anvil_reorg", 1, []);
    await poller.follow();
    lying.trick = () => undefined;
    deepEqual(await settled(witnessed), {
      deposits: [["CONFIRMED", "0.5"]],
      drifts: [["ETH", "0"]],
    });
  } finally {
    await witnessed.end();
  }
});
