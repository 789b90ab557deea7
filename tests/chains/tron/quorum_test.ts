/** One Tron node's report on blocks, alone among several, hides nothing and invents nothing. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Interface } from "ethers";
import type { Chain } from "../../../workers/chains/chain.ts";
import { type Json, mined, TRC20, TRX, word } from "../../support/nodes/tron/client.ts";
import type { TronNode } from "../../support/nodes/tron/node.ts";
import type { TronSurface, TronTrick } from "../../support/nodes/tron/surface.ts";
import { newTronParty, richTron } from "../../support/nodes/tron/wallet.ts";
import { failsAs, scanned, watching } from "../conformance.ts";
import { deployed, openTronPlay, type TronPlay } from "./fixture.ts";

interface Among extends AsyncDisposable {
  readonly play: TronPlay;
  readonly node: TronNode;
  readonly chain: Chain;
  readonly nodes: readonly TronSurface[];
  readonly lying: TronSurface;
}

/** A chain behind nodes: "h" is an honest one, "l" one that may lie. */
async function among(names: string, quorum?: number): Promise<Among> {
  const play = await openTronPlay();
  const nodes = [...names].map(() => play.node.peer());
  const chain = await play.open(nodes.map(({ url }) => url), quorum);
  return {
    ...{ play, node: play.node, chain, nodes, lying: nodes[names.indexOf("l")] },
    [Symbol.asyncDispose]: () => play[Symbol.asyncDispose](),
  };
}

/** Knows nothing of a transaction, anywhere. */
function withholds(hash: string): TronTrick {
  return async ({ body, honest }) => {
    if (body.value === hash) return {};
    const answer = await honest() as Json;
    if (Array.isArray(answer)) return answer.filter((one) => one.id !== hash);
    if (!answer?.transactions) return answer;
    return {
      ...answer,
      transactions: answer.transactions.filter((one: Json) => one.txID !== hash),
    };
  };
}

/** Changes what a transaction's log or value says, everywhere. */
function changes(
  hash: string,
  change: { transaction?(one: Json): void; info?(one: Json): void },
): TronTrick {
  return async ({ honest }) => {
    const answer = await honest() as Json;
    const infos = Array.isArray(answer) ? answer : [answer];
    for (const one of infos) if (one?.id === hash) change.info?.(one);
    for (const one of [answer, ...answer?.transactions ?? []]) {
      if (one?.txID === hash) change.transaction?.(one);
    }
    return answer;
  };
}

for (const names of ["lh", "hl", "hlh"]) {
  Deno.test(`a USDT payment that one Tron node keeps back is seen in its block (nodes ${names})`, async () => {
    await using one = await among(names);
    const { node, chain, lying } = one;
    const ours = newTronParty();
    const usdt = await deployed(node, "Tether");
    const data = TRC20.encodeFunctionData("transfer", [word(ours.hex), 7n]);
    const hash = await mined(node, node.trigger(usdt, data));
    lying.trick = withholds(hash);
    const height = node.ledger.blocks.length - 1;
    const [{ transfers }] = await scanned(chain, height, height, watching([ours.address]));
    deepEqual(transfers.map(({ hash, amount }) => [hash, amount]), [[hash, 7n]]);
    const known = chain.recheck(transfers[0], { depth: 1 });
    if (names.length > 2) equal((await known)?.received, 7n);
    else await failsAs("unavailable", known);
  });
}

for (const names of ["lh", "hl", "hlh"]) {
  Deno.test(`an amount that one Tron node raises is never credited (nodes ${names})`, async () => {
    await using one = await among(names);
    const { node, chain, lying } = one;
    const ours = newTronParty();
    const usdt = await deployed(node, "Tether");
    const data = TRC20.encodeFunctionData("transfer", [word(ours.hex), 7n]);
    const logged = await mined(node, node.trigger(usdt, data));
    const paid = await mined(node, node.pay(ours.address, TRX));
    const raise = (one: Json) => one.log[0].data = "f".padStart(64, "0");
    const more = (one: Json) => one.raw_data.contract[0].parameter.value.amount *= 9n;
    for (
      const [hash, change] of [[logged, { info: raise }], [paid, { transaction: more }]] as const
    ) {
      lying.trick = changes(hash, change);
      const height = node.ledger.minedIn.get(hash)!;
      for (const { transfers } of await scanned(chain, height, height, watching([ours.address]))) {
        for (const transfer of transfers) {
          if (names.length === 2) {
            await failsAs("unavailable", chain.recheck(transfer, { depth: 1 }));
          } else ok([7n, TRX].includes((await chain.recheck(transfer, { depth: 1 }))!.received));
        }
      }
    }
    // Of three nodes two that agree may have answered before the one that lies.
    if (names.length === 2) match(chain.reports().join(), /contradict/);
  });
}

Deno.test("a deposit that one Tron node invents, or calls successful, is denied by the others", async () => {
  await using one = await among("lhh");
  const { node, chain, lying } = one;
  const ours = newTronParty();
  const usdt = await deployed(node, "Tether");
  const data = TRC20.encodeFunctionData("transfer", [word(ours.hex), 7n]);
  const good = await mined(node, node.trigger(usdt, data));
  const log = structuredClone(
    node.ledger.blocks[node.ledger.minedIn.get(good)!].processed[0].info.log,
  );
  const failed = await mined(node, node.trigger(usdt, data, { feeLimit: TRX }));
  lying.trick = changes(failed, {
    transaction: (one) => one.ret = [{ contractRet: "SUCCESS" }],
    info(one) {
      delete one.result;
      Object.assign(one, { receipt: { ...one.receipt, result: "SUCCESS" }, log });
    },
  });
  const height = node.ledger.minedIn.get(failed)!;
  const [{ transfers }] = await scanned(chain, height, height, watching([ours.address]));
  deepEqual(transfers, []);
  const alone = await one.play.open([lying.url]);
  const [{ transfers: [claimed] }] = await scanned(
    alone,
    height,
    height,
    watching([ours.address]),
  );
  equal(claimed.amount, 7n);
  equal(await chain.recheck(claimed, { depth: 1 }), null);
});

Deno.test("a Tron node that calls a block final which is not, moves no credit of the quorum", async () => {
  await using one = await among("lhh");
  const { node, chain, lying } = one;
  await node.lag(3);
  const ours = newTronParty();
  await mined(node, node.pay(ours.address, TRX));
  lying.trick = ({ path, body, honest }) =>
    path.startsWith("walletsolidity/")
      ? honest(path.replace("walletsolidity", "wallet"), body)
      : undefined;
  const height = node.ledger.blocks.length - 1;
  const [{ transfers: [paid] }] = await scanned(chain, height, height, watching([ours.address]));
  await failsAs("unavailable", chain.recheck(paid, { depth: 1 }));
  ok((await chain.head()).finalized! < height);
  await node.solidify();
  equal((await chain.recheck(paid, { depth: 1 }))?.received, TRX);
});

Deno.test("inner calls that one Tron node does not keep wait for a second that does", async () => {
  await using one = await among("hhh");
  const { node, chain, nodes } = one;
  nodes[0].settings.savesInternals = false;
  const ours = newTronParty();
  const batcher = await deployed(node, "Batcher");
  const data = new Interface(["function payCoin(address[],uint256) payable"])
    .encodeFunctionData("payCoin", [[word(ours.hex)], 3n]);
  const hash = await mined(node, node.trigger(batcher, data, { value: 3n }));
  const height = node.ledger.blocks.length - 1;
  const [{ transfers: [inner] }] = await scanned(chain, height, height, watching([ours.address]));
  deepEqual([inner.hash, inner.index, inner.amount], [hash, -2, 3n]);
  equal((await chain.recheck(inner, { depth: 1 }))?.received, 3n);
  nodes[1].settings.savesInternals = false;
  await failsAs("unavailable", chain.recheck(inner, { depth: 1 }));
});

Deno.test("a signer whom one Tron node invents does not stop our ramp, and a real one is told by one", async () => {
  await using one = await among("lh");
  const { node, chain, lying } = one;
  const payer = newTronParty();
  await node.fund(payer.address, 10n * TRX);
  const ours = await mined(node, node.pay(richTron().address, TRX, { from: payer }));
  const other = await mined(node, node.pay(newTronParty().address, TRX));
  lying.trick = changes(other, {
    transaction: (one) => one.raw_data.contract[0].parameter.value.owner_address = payer.hex,
  });
  const consumed = async (hash: string) => {
    const height = node.ledger.minedIn.get(hash)!;
    return (await scanned(chain, height, height, watching([payer.address])))[0].consumed;
  };
  deepEqual(await consumed(ours), [{ input: `${payer.address}:${ours}`, hash: ours }]);
  deepEqual(await consumed(other), []);
});

Deno.test("bytes with a signature of another's, or with none that is whole, are not believed of a Tron node", async () => {
  await using one = await among("lh");
  const { node, chain, lying } = one;
  const hash = await mined(node, node.pay(newTronParty().address, TRX));
  const other = await mined(node, node.pay(newTronParty().address, TRX, { from: richTron(1) }));
  const height = node.ledger.minedIn.get(hash)!;
  const { transaction } = node.ledger.blocks[node.ledger.minedIn.get(other)!].processed[0];
  const honest = await chain.raw({ hash, height });
  for (const signature of [transaction.signatures[0], transaction.signatures[0].slice(2), ""]) {
    lying.trick = changes(hash, { transaction: (one) => one.signature = [signature] });
    equal(await chain.raw({ hash, height }), honest);
    const alone = await one.play.open([lying.url]);
    await failsAs("unavailable", alone.raw({ hash, height }));
  }
});

Deno.test("a signature that a stranger turned into another of the same key is still its owner's on Tron", async () => {
  await using one = await among("l");
  const { node, chain, lying } = one;
  const hash = await mined(node, node.pay(newTronParty().address, TRX));
  const height = node.ledger.minedIn.get(hash)!;
  const honest = await chain.raw({ hash, height });
  const [signature] = node.ledger.blocks[height].processed[0].transaction.signatures;
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const turned = (order - BigInt(`0x${signature.slice(64, 128)}`)).toString(16).padStart(64, "0");
  const parity = parseInt(signature.slice(128), 16) % 27;
  const again = [0, 4, 27, 31].map((from) =>
    signature.slice(0, 128) + (from + parity).toString(16).padStart(2, "0")
  );
  const other = signature.slice(0, 64) + turned + `0${1 - parity}`;
  for (const told of [other, `${signature}00`, ...again]) {
    lying.trick = changes(hash, { transaction: (one) => one.signature = [told] });
    equal(await chain.raw({ hash, height }), honest);
    deepEqual((await chain.inspect(await chain.raw({ hash, height }))).from, [richTron().address]);
  }
});

Deno.test("a Tron node whose block names itself, or a later one, as its parent ends no sum and fills no memory", async (t) => {
  await using one = await among("lh");
  const { node, chain, lying } = one;
  const payer = newTronParty();
  await node.fund(payer.address, 10n * TRX);
  const from = node.ledger.blocks.length - 1;
  await mined(node, node.pay(richTron().address, TRX, { from: payer }));
  await node.mine(3);
  const to = node.ledger.blocks.length - 1;
  const coins = { address: payer.address, contract: null };
  const honest = await one.play.open([one.nodes[1].url]);
  const truth = await honest.spent(coins, from, to);
  ok(truth >= TRX);
  for (const [parent, above] of Object.entries({ itself: 0, "a later one": 1 })) {
    await t.step(parent, async () => {
      lying.trick = async ({ path, honest }) => {
        const answer = await honest() as Json;
        if (!path.endsWith("getblockbynum") || answer.blockID !== node.ledger.blocks[to - 1].id) {
          return answer;
        }
        answer.block_header.raw_data.parentHash = node.ledger.blocks[to - 1 + above].id;
        return answer;
      };
      equal(await chain.spent(coins, from, to), truth);
      const alone = await one.play.open([lying.url]);
      await failsAs("unavailable", alone.spent(coins, from, to));
    });
  }
});
