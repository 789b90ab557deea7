/**
 * Deposits on Tron: TRX, TRC-20, TRC-10 and inner calls are found, and nothing is believed that only one of a
 * node's two words says.
 * @module
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { Interface } from "ethers";
import type { Chain } from "../../../workers/chains/chain.ts";
import type { Transfer } from "../../../workers/chains/observations.ts";
import { openTron } from "../../../workers/chains/tron/chain.ts";
import { mined, TRC20, TRX, word } from "../../support/nodes/tron/client.ts";
import type { TronNode } from "../../support/nodes/tron/node.ts";
import type { TronTrick } from "../../support/nodes/tron/surface.ts";
import {
  newTronParty,
  richTron,
  toBase58,
  toHex,
  type TronParty,
} from "../../support/nodes/tron/wallet.ts";
import { failsAs, scanned, watching } from "../conformance.ts";
import { deployed, openTronPlay } from "./fixture.ts";

const BATCHER = new Interface([
  "function payCoin(address[],uint256) payable",
  "function swallowFailure(address) payable",
]);
const RICH = richTron().address;
const LAG = 3;

async function arrivedAt(chain: Chain, node: TronNode, ...parties: TronParty[]) {
  const to = node.ledger.blocks.length - 1;
  const found = await scanned(chain, 1, to, watching(parties.map(({ address }) => address)));
  return found.flatMap(({ transfers }) => transfers);
}

function told({ index, from, to, contract, amount }: Transfer) {
  return [index, from, to, contract, amount];
}

function transfer(to: TronParty, amount: bigint): string {
  return TRC20.encodeFunctionData("transfer", [word(to.hex), amount]);
}

Deno.test("TRX, TRC-20, TRC-10 and inner calls are found, each once and with its sender", async () => {
  await using play = await openTronPlay();
  const { node, chain } = play;
  const ours = newTronParty();
  const usdt = await deployed(node, "Tether");
  const batcher = await deployed(node, "Batcher");
  await node.grantAsset(RICH, "1000001", 50n);
  await node.pay(ours.address, 2n * TRX);
  await node.trigger(usdt, transfer(ours, 7n));
  await node.payAsset(ours.address, "1000001", 5n);
  const inner = BATCHER.encodeFunctionData("payCoin", [[word(ours.hex), word(ours.hex)], 3n]);
  await node.trigger(batcher, inner, { value: 6n });
  await node.mine();
  deepEqual((await arrivedAt(chain, node, ours)).map(told), [
    [-1, RICH, ours.address, null, 2n * TRX],
    [0, RICH, ours.address, usdt, 7n],
    [-1, RICH, ours.address, "TRC10:1000001", 5n],
    [-2, batcher, ours.address, null, 6n],
  ]);
  for (const one of await arrivedAt(chain, node, ours)) {
    const checked = await chain.recheck(one, { depth: 1 });
    deepEqual([checked?.transfer, checked?.received], [one, one.amount]);
    deepEqual(
      (await chain.search({ hash: one.hash }, watching([ours.address]))).map(told),
      [told(one)],
    );
  }
  const only = { ...watching([ours.address]), contracts: new Set([usdt]) };
  const [{ transfers }] = await scanned(
    chain,
    node.ledger.blocks.length - 1,
    node.ledger.blocks.length - 1,
    only,
  );
  deepEqual(transfers.map(({ contract }) => contract), [null, usdt, null]);
});

Deno.test("what failed brought nothing: a revert, too little energy, an inner call that was undone", async () => {
  await using play = await openTronPlay();
  const { node, chain } = play;
  const ours = newTronParty();
  const usdt = await deployed(node, "Tether");
  const batcher = await deployed(node, "Batcher");
  const block = TRC20.encodeFunctionData("addBlackList", [word(richTron(1).hex)]);
  await mined(node, node.trigger(usdt, block));
  await node.trigger(usdt, transfer(ours, 7n), { from: richTron(1) });
  const burnt = await node.trigger(usdt, transfer(ours, 7n), { feeLimit: TRX });
  await node.trigger(batcher, BATCHER.encodeFunctionData("swallowFailure", [word(ours.hex)]), {
    value: 9n,
  });
  await node.mine();
  deepEqual(await arrivedAt(chain, node, ours), []);
  deepEqual(await chain.search({ hash: burnt }, watching([ours.address])), []);
  const balances = await chain.balances([{ address: ours.address, contract: null }], null);
  deepEqual(balances.amounts, [0n]);
});

/** Makes a node say a failed payment's success in one of the places where it stands. */
function halfSuccess(field: "contractRet" | "receipt"): TronTrick {
  return async ({ path, honest }) => {
    // deno-lint-ignore no-explicit-any
    const answer = await honest() as any;
    if (field === "contractRet" && /getblockbynum|gettransactionbyid/.test(path)) {
      for (const one of answer.transactions ?? [answer]) {
        if (one.ret) one.ret[0].contractRet = "SUCCESS";
      }
      return answer;
    }
    if (field === "receipt" && /gettransactioninfo/.test(path)) {
      for (const one of Array.isArray(answer) ? answer : [answer]) {
        if (one.receipt) one.receipt = { ...one.receipt, result: "SUCCESS" };
        delete one.result;
        one.log = LOG;
      }
      return answer;
    }
    return undefined;
  };
}

let LOG: unknown[] = [];

Deno.test("a payment is believed only if contractRet and receipt say the same", async () => {
  await using play = await openTronPlay();
  const { node, chain } = play;
  const ours = newTronParty();
  const usdt = await deployed(node, "Tether");
  const good = await mined(node, node.trigger(usdt, transfer(ours, 7n)));
  const height = node.ledger.blocks.length - 1;
  LOG = [...node.ledger.blocks[height].processed[0].info.log as unknown[]];
  const bad = await mined(node, node.trigger(usdt, transfer(ours, 9n), { feeLimit: TRX }));
  for (const field of ["contractRet", "receipt"] as const) {
    node.trick = halfSuccess(field);
    await failsAs("unavailable", scanned(chain, height + 1, height + 1, watching([ours.address])));
    await failsAs("unavailable", chain.search({ hash: bad }, watching([ours.address])));
  }
  node.trick = () => undefined;
  equal((await arrivedAt(chain, node, ours)).length, 1);
  equal((await chain.search({ hash: good }, watching([ours.address]))).length, 1);
});

Deno.test("a deposit counts only in a final block, whatever the depth, and a fork above it takes it away", async () => {
  await using play = await openTronPlay({ lag: LAG });
  const { node, chain } = play;
  const ours = newTronParty();
  await mined(node, node.pay(ours.address, TRX));
  const [one] = await arrivedAt(chain, node, ours);
  equal((await chain.recheck(one))?.received, TRX);
  await failsAs("unavailable", chain.recheck(one, { depth: 1 }));
  await node.mine(LAG - 1);
  await failsAs("unavailable", chain.recheck(one, { depth: LAG }));
  await node.reorganise(LAG);
  equal(await chain.recheck(one), null);
  await node.solidify();
  equal(await chain.recheck(one, { depth: 1 }), null);
  const again = await mined(node, node.pay(ours.address, 3n * TRX));
  await node.solidify();
  const [found] = await arrivedAt(chain, node, ours);
  equal(found.hash, again);
  equal((await chain.recheck(found, { depth: LAG }))?.received, 3n * TRX);
});

Deno.test("a payment that a fork moved is reported in its new block", async () => {
  await using play = await openTronPlay({ lag: LAG });
  const { node, chain } = play;
  const ours = newTronParty();
  const hash = await mined(node, node.pay(ours.address, TRX));
  const [one] = await arrivedAt(chain, node, ours);
  await node.reorganise(1, (id) => id === hash);
  const checked = await chain.recheck(one);
  equal(checked?.transfer.hash, hash);
  ok(checked?.transfer.block?.hash !== one.block?.hash);
});

Deno.test("every transaction that a watched address signed is told, also one that failed", async () => {
  await using play = await openTronPlay();
  const { node, chain } = play;
  const payer = newTronParty();
  const usdt = await deployed(node, "Tether");
  await node.fund(payer.address, 50n * TRX);
  const paid = await node.pay(RICH, TRX, { from: payer });
  const failed = await node.trigger(usdt, transfer(richTron(1), 5n), { from: payer });
  await node.mine();
  const height = node.ledger.blocks.length - 1;
  const [{ consumed }] = await scanned(chain, height, height, watching([payer.address]));
  deepEqual(
    consumed,
    [paid, failed].map((hash) => ({ input: `${payer.address}:${hash}`, hash })),
  );
  const spent = await chain.spent({ address: payer.address, contract: null }, height - 1, height);
  const balances = await chain.balances([{ address: payer.address, contract: null }], height);
  equal(50n * TRX - spent, balances.amounts[0]);
  await rejects(chain.spent({ address: payer.address, contract: null }, 0, 1000), /too many/);
});

Deno.test("balances at a height are exact, and below the final block they are those of the final block", async () => {
  await using play = await openTronPlay({ lag: LAG });
  const { node, chain } = play;
  const ours = newTronParty();
  const usdt = await deployed(node, "Tether");
  const batcher = await deployed(node, "Batcher");
  const holdings = [null, usdt].map((contract) => ({ address: ours.address, contract }));
  const truth: bigint[][] = [];
  const first = node.ledger.blocks.length;
  const note = async () => truth.push([...(await chain.balances(holdings, null)).amounts]);
  await node.mine();
  await note();
  await node.pay(ours.address, 20n * TRX);
  await node.mine();
  await note();
  await node.trigger(usdt, transfer(ours, 7n));
  const inner = BATCHER.encodeFunctionData("payCoin", [[word(ours.hex)], 3n]);
  await node.trigger(batcher, inner, { value: 3n });
  await node.mine();
  await note();
  await node.trigger(usdt, transfer(richTron(1), 2n), { from: ours });
  await node.pay(RICH, TRX, { from: ours });
  await node.mine();
  await note();
  for (const final of [0, 1, 2]) {
    for (const [at, amounts] of truth.entries()) {
      const there = await chain.balances(holdings, first + at);
      const height = Math.max(first + at, node.ledger.solid);
      const known = truth[Math.min(height - first, truth.length - 1)];
      deepEqual([there.height, there.amounts], [height, known], `${at} with ${final} more`);
      equal(await chain.balance(holdings[0], first + at), amounts[0]);
    }
    await node.mine();
  }
  deepEqual((await chain.funds(holdings)).amounts, truth[3]);
  await failsAs("unavailable", chain.balances(holdings, first + 200));
  const stranger = toBase58(newTronParty().hex);
  const mute = { address: ours.address, contract: stranger };
  await failsAs("refused", chain.balances([mute], null));
});

Deno.test("a balance of a contract that is younger than the final block is told once that has come to it", async () => {
  await using play = await openTronPlay({ lag: LAG });
  const { node, chain } = play;
  const usdt = await deployed(node, "Tether");
  const height = node.ledger.blocks.length - 1;
  const { address } = newTronParty();
  const holding = { address, contract: usdt };
  await failsAs("held", chain.balance(holding, height));
  await failsAs("refused", chain.balance({ address, contract: newTronParty().address }, height));
  await node.solidify();
  equal(await chain.balance(holding, height), 0n);
});

Deno.test("a token describes itself, and an address without a contract does not", async () => {
  await using play = await openTronPlay();
  const { node, chain } = play;
  const usdt = await deployed(node, "Tether");
  const details = { contract: usdt, symbol: "USDT", name: "Tether USD", decimals: 6 };
  deepEqual(await chain.token(usdt), { ...details, supply: 10n ** 18n });
  deepEqual(await chain.token(usdt, 1), { ...details, supply: 10n ** 18n });
  equal(await chain.token(newTronParty().address), null);
  const old = await deployed(node, "Old");
  equal((await chain.token(old))?.name, "Maker");
});

Deno.test("an amount above 2^53 is read exactly, and results of another block are not believed", async () => {
  await using play = await openTronPlay();
  const { node, chain } = play;
  const ours = newTronParty();
  const huge = 2n ** 53n + 1n;
  const payer = newTronParty();
  await node.fund(payer.address, 2n * huge);
  await mined(node, node.pay(ours.address, huge, { from: payer }));
  const height = node.ledger.blocks.length - 1;
  deepEqual((await arrivedAt(chain, node, ours)).map(({ amount }) => amount), [huge]);
  equal(
    (await chain.balances([{ address: ours.address, contract: null }], height)).amounts[0],
    huge,
  );
  await mined(node, node.pay(ours.address, TRX));
  node.trick = ({ path, honest }) =>
    path.endsWith("gettransactioninfobyblocknum")
      ? honest(path, { num: BigInt(height) })
      : undefined;
  await failsAs("unavailable", scanned(chain, height + 1, height + 1, watching([ours.address])));
  equal(toHex(ours.address), ours.hex);
});

Deno.test("results of a block that are too large for one answer are read one by one", async () => {
  await using play = await openTronPlay();
  const { node } = play;
  const [ours, other] = [newTronParty(), newTronParty()];
  const usdt = await deployed(node, "Tether");
  await node.pay(other.address, TRX);
  await node.trigger(usdt, transfer(ours, 7n));
  await node.pay(ours.address, 2n * TRX);
  await node.mine();
  const bytesMax = 100_000;
  node.trick = ({ path }) =>
    path.endsWith("gettransactioninfobyblocknum")
      ? new Response("[".repeat(2 * bytesMax))
      : undefined;
  const chain = await openTron("main", [node.url], { limits: { bytesMax }, genesisHash: "any" });
  const found = await arrivedAt(chain, node, ours);
  deepEqual(found.map(({ contract, amount }) => [contract, amount]), [[usdt, 7n], [
    null,
    2n * TRX,
  ]]);
  chain.close();
});
