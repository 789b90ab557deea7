/** Coins that contracts pay inside calls, which balances alone show, while their blocks are reorganised away. */
import { deepEqual } from "node:assert/strict";
import { CALLS } from "../support/nodes/anvil.ts";
import { NodeError, passOn } from "../support/nodes/faulty_node.ts";
import { driftsOf } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { retryDepositsNow, sharingNodes, type Witnessed } from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
const HALF = ETHER / 2n;

/** Confirmations of a deposit; reorganisations replace two blocks at most. */
const DEPTH = 5;

const test = sharingNodes("coins of calls whose blocks are replaced", {
  env: { ETHEREUM_TESTNET_CONFIRMATIONS: `${DEPTH}` },
});

/** An address of a customer, and a contract that pays it when it is called. */
async function openPayee(witnessed: Witnessed) {
  const { fixture } = witnessed;
  const ramp = await fixture.ramp();
  const { id, address } = await fixture.address(ramp.id);
  const batcher = await fixture.anvil.deploy("Batcher");
  await fixture.mine(2);
  const pay = async () => {
    const data = CALLS.encodeFunctionData("payCoin", [[address], HALF]);
    return await fixture.anvil.send({ to: batcher, value: HALF, data });
  };
  return { id, address, pay };
}

/** A deposit: its status and amount. */
type Shown = [status: string, amount: string];

/**
 * Follows beyond the depth until an account has the deposits that are demanded, and two rounds more; demands them, and that
 * chain and ledger agree.
 */
async function assertSettled(
  { fixture }: Witnessed,
  account: string,
  wanted: Shown[],
): Promise<void> {
  const { anvil, realm } = fixture;
  const told = async () =>
    (await rowsOf<{ status: string; amount: string }>(
      realm,
      "select status, trim_scale(amount)::text as amount from deposits where account = $1 order by id",
      [account],
    )).map(({ status, amount }): Shown => [status, amount]);
  await anvil.mine(DEPTH - 1);
  for (let [round, more] = [0, 2]; round < 10 && more > 0; round++) {
    await retryDepositsNow(fixture);
    await rowsOf(realm, "update jobs set run_at = now() where state = 'ready'");
    await fixture.mine();
    if (`${await told()}` === `${wanted}`) more--;
  }
  deepEqual(await told(), wanted);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
}

for (const told of [true, false]) {
  const which = told ? "" : ", and nodes have no older balances";
  test(
    `coins of a call whose block a reorganisation replaces are credited in their new block${which}`,
    "l",
    async (witnessed) => {
      const { fixture: { anvil, poller }, lying } = witnessed;
      const { id, pay } = await openPayee(witnessed);
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
      await assertSettled(witnessed, id, [["CONFIRMED", "0.5"]]);
    },
  );
}

test(
  "coins of a call are credited although its new block was told wrong for a moment",
  "l",
  async (witnessed) => {
    const { fixture: { anvil, poller }, lying, url } = witnessed;
    const { id, pay } = await openPayee(witnessed);
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
    await assertSettled(witnessed, id, [["CONFIRMED", "0.5"]]);
  },
);

test(
  "coins of a call that come instead of as many which a reorganisation removed are found",
  "l",
  async (witnessed) => {
    const { fixture: { anvil, poller } } = witnessed;
    const { id, pay } = await openPayee(witnessed);
    await pay();
    await poller.follow();
    await anvil.rpc("anvil_reorg", 1, []);
    await anvil.mine(); // the same nonce pays as much once more, in another transaction
    await pay();
    await poller.follow();
    await assertSettled(witnessed, id, [["ORPHANED", "0.5"], ["CONFIRMED", "0.5"]]);
  },
);

for (const nodes of ["lhh", "hlh", "hhl", "lha", "lah", "hla", "ahl", "alh", "hal"]) {
  const away = nodes.indexOf("a");
  const which = away < 0 ? "" : ", and another tells none";
  test(
    `coins of a call are found although one node tells too much of the block below them${which} (nodes ${nodes})`,
    nodes,
    async (witnessed) => {
      const { fixture: { anvil, poller }, lying } = witnessed;
      const { id, address, pay } = await openPayee(witnessed);
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
      await assertSettled(witnessed, id, [["ORPHANED", "0.5"], ["CONFIRMED", "0.5"]]);
    },
  );
}

test(
  "a rise that is not explained yet is searched below a reorganisation as well",
  "l",
  async (witnessed) => {
    const { fixture: { anvil, poller }, lying } = witnessed;
    const { id, pay } = await openPayee(witnessed);
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
    await assertSettled(witnessed, id, [["CONFIRMED", "0.5"]]);
  },
);
