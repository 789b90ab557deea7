/** Status of payments on Tron: final blocks, failures, expiry by proof, and nodes that lie or lag. */
import { deepEqual, equal, ok } from "node:assert/strict";
import * as ethers from "ethers";
import type { Chain } from "../../../workers/chains/chain.ts";
import type { Signed } from "../../../workers/chains/outgoing.ts";
import { absenceOf } from "../../../workers/chains/tron/expiry_proof.ts";
import { readSigned } from "../../../workers/chains/tron/transaction.ts";
import { newTronParty, richTron, toHex } from "../../support/nodes/tron/wallet.ts";
import type { TronNode } from "../../support/nodes/tron/node.ts";
import type { TronQuestion, TronTrick } from "../../support/nodes/tron/surface.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { deployed, openTronPlay, pays, signed } from "./fixture.ts";

const PAYER = richTron();
/** Blocks after which the longest validity is over; they are three seconds apart. */
const BEYOND = 42;

const ask = (chain: Chain, bytes: Signed, depth = 1) =>
  chain.status({ attempts: [bytes], since: 0, depth });

async function payment(chain: Chain): Promise<Signed> {
  return (await signed(chain, PAYER, pays(PAYER, richTron(1).address, 1_000_000n))).bytes;
}

/** Hides a transaction from lookups, as a server that lags does; blocks are shown. */
function hiding({ hash }: Signed): TronTrick {
  return ({ path, body }) =>
    path.includes("/gettransaction") && body.value === hash ? {} : undefined;
}

/** Hides a transaction everywhere, in blocks too. */
function erasing(bytes: Signed): TronTrick {
  return async (question) => {
    const hidden = hiding(bytes)(question);
    if (hidden !== undefined || !question.path.endsWith("getblockbynum")) return hidden;
    const block = await question.honest() as { transactions?: { txID: string }[] };
    const transactions = block.transactions?.filter(({ txID }) => txID !== bytes.hash);
    return { ...block, transactions };
  };
}

/** Refers to a block by its id. */
function referenceTo(id: string) {
  return { refBlockBytes: id.slice(12, 16), refBlockHash: id.slice(16, 32) };
}

async function expire(node: TronNode): Promise<void> {
  await node.mine(BEYOND);
  await node.solidify();
}

Deno.test("a payment reaches the depth that settles it only in a final block", async () => {
  await using play = await openTronPlay({ lag: 3 });
  const { chain, node } = play;
  const bytes = await payment(chain);
  await chain.broadcast(bytes);
  await node.mine();
  const fresh = statusIs(await ask(chain, bytes), "mined");
  deepEqual([fresh.confirmations, fresh.final], [0, false]);
  equal(statusIs(await ask(chain, bytes, 5), "mined").confirmations, 1);
  await node.mine(2);
  deepEqual(statusIs(await ask(chain, bytes, 3), "mined").confirmations, 2);
  await node.mine();
  const settled = statusIs(await ask(chain, bytes), "mined");
  deepEqual([settled.confirmations, settled.final, settled.success], [4, true, true]);
});

Deno.test("a contract that fails in its block is told with the TRX that it burnt", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const contract = await deployed(node, "Tether");
  const { plan, bytes } = await signed(
    chain,
    PAYER,
    pays(PAYER, richTron(1).address, 5n, contract),
  );
  await node.trigger(contract, "0ecb93c0" + toHex(PAYER.address).slice(2).padStart(64, "0"));
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await node.mine();
  const failed = statusIs(await ask(chain, bytes), "mined");
  equal(failed.success, false);
  ok(failed.fee > 0n && failed.fee <= plan.fee, `${failed.fee}`);
});

Deno.test("a payment that was planned with free bandwidth, and was charged in its block, is settled; a fee beyond belief is not", async () => {
  await using play = await openTronPlay();
  const { node } = play;
  const peer = node.peer();
  const chain = await play.open([peer.url]);
  const from = newTronParty();
  const other = richTron(1).address;
  await node.fund(from.address, 10_000_000n);
  const { plan, bytes } = await signed(chain, from, pays(from, other, "all"));
  deepEqual([plan.fee, plan.amounts], [0n, [10_000_000n]]);
  // What came meanwhile pays for the bytes; the free ones are used up.
  await node.fund(from.address, 5_000_000n);
  for (let amount = 1n; amount <= 2n; amount++) await node.pay(other, amount, { from });
  await node.mine();
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await node.mine();
  const attempt = { ...bytes, body: plan.body };
  const { success, fee } = statusIs(await ask(chain, attempt), "mined");
  ok(success && fee > 260_000n && fee < 280_000n, `${fee}`);
  peer.trick = async ({ path, honest }) => {
    const answer = await honest() as object;
    return path.endsWith("infobyid") ? { ...answer, fee: 5_000_001 } : answer;
  };
  await failsAs("unavailable", ask(chain, attempt));
});

Deno.test("a node that tells two results of a transaction is not believed", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const contract = await deployed(node, "Tether");
  const { bytes } = await signed(chain, PAYER, pays(PAYER, richTron(1).address, 5n, contract));
  await chain.broadcast(bytes);
  await node.mine();
  node.trick = async ({ path, honest }) =>
    path.endsWith("gettransactionbyid")
      ? { ...await honest() as object, ret: [{ contractRet: "REVERT" }] }
      : undefined;
  await failsAs("unavailable", ask(chain, bytes));
  node.trick = async ({ path, honest }) => {
    if (!path.endsWith("gettransactioninfobyid")) return undefined;
    const { log: _, ...rest } = await honest() as Record<string, unknown>;
    return rest;
  };
  const played = await play.open([node.url]);
  equal(statusIs(await ask(played, bytes), "mined").success, false, "no log, so nothing moved");
});

Deno.test("a payment is dropped once final blocks beyond its expiry were read, and not before", async () => {
  await using play = await openTronPlay({ lag: 4 });
  const { chain, node } = play;
  const bytes = await payment(chain);
  const { time } = bytes.expires as { time: number };
  statusIs(await ask(chain, bytes), "unseen");
  while (Number(node.ledger.blocks.at(-1)!.timestamp) <= time) await node.mine();
  statusIs(await ask(chain, bytes), "unseen");
  equal((await chain.broadcast(bytes)).outcome, "unknown");
  await node.solidify();
  const status = statusIs(await ask(chain, bytes), "dropped");
  ok(status.proof === "expired" && status.reached > time);
  deepEqual([status.by, status.expiry], [null, { time }]);
  const proof = await chain.block(status.height);
  const before = await chain.block(status.height - 1);
  ok(proof!.time * 1000 > time - 1000 && before!.time * 1000 <= time);
});

Deno.test("a server that lags behind its blocks proves no expiry", async () => {
  await using play = await openTronPlay({ lag: 2 });
  const { chain, node } = play;
  const bytes = await payment(chain);
  await chain.broadcast(bytes);
  await expire(node);
  node.trick = hiding(bytes);
  await failsAs("unavailable", ask(chain, bytes));
  node.trick = () => undefined;
  statusIs(await ask(await play.open([node.url]), bytes), "mined");
});

Deno.test("a block that is left out, or belongs to another branch, proves no expiry", async () => {
  await using play = await openTronPlay({ lag: 2 });
  const { node } = play;
  const bytes = await payment(play.chain);
  await expire(node);
  const height = node.ledger.blocks.length - 30;
  const lies: readonly TronTrick[] = [
    ({ path, body }) =>
      path.endsWith("getblockbynum") && `${body.num}` === `${height}` ? {} : undefined,
    async ({ path, body, honest }) => {
      if (!path.endsWith("getblockbynum") || `${body.num}` !== `${height}`) return undefined;
      const block = await honest() as { block_header: { raw_data: object } };
      const raw_data = { ...block.block_header.raw_data, parentHash: "0".repeat(64) };
      return { ...block, block_header: { ...block.block_header, raw_data } };
    },
  ];
  for (const trick of lies) {
    node.trick = trick;
    await failsAs("unavailable", ask(await play.open([node.url]), bytes));
  }
  node.trick = () => undefined;
  statusIs(await ask(await play.open([node.url]), bytes), "dropped");
});

Deno.test("a payment is dropped beyond its expiry where the chain has lost the block that it refers to, and not by a server that lacks it", async () => {
  await using play = await openTronPlay({ lag: 2 });
  const { chain, node } = play;
  await node.mine(250);
  const bytes = await payment(chain);
  const { refBlockBytes } = readSigned(ethers, bytes.raw).raw;
  await expire(node);
  await node.reorganiseFinal(2 * BEYOND);
  await expire(node);
  node.asked.length = 0;
  const status = statusIs(await ask(chain, bytes), "dropped");
  const beyond = (await chain.block(status.height))!;
  const { time } = bytes.expires as { time: number };
  ok(status.proof === "expired" && beyond.time * 1000 > time - 1000);
  const places = node.asked.filter((path) => path === "wallet/getblock").length;
  ok(places < 20, `${places} questions about places of blocks`);
  const height = `${parseInt(refBlockBytes, 16)}`;
  node.trick = ({ path, body }) =>
    path === "wallet/getblock" && body.id_or_num === height ? {} : undefined;
  await failsAs("unavailable", ask(await play.open([node.url]), bytes));
  node.trick = async ({ path, body, honest }) => {
    if (path !== "wallet/getblock" || !(Number(body.id_or_num) > 0)) return undefined;
    const { block_header, ...block } = await honest() as { block_header: { raw_data: object } };
    const raw_data = { ...block_header.raw_data, timestamp: time - 525_000 + 1 };
    return { ...block, block_header: { ...block_header, raw_data } };
  };
  node.asked.length = 0;
  await failsAs("unavailable", ask(await play.open([node.url]), bytes));
  ok(node.asked.length < 100, `${node.asked.length} questions where all blocks are of one time`);
});

Deno.test("the expiry of a payment of a year ago is proven by as few questions as one of a month ago", async () => {
  const began = 1_700_000_000_000;
  const made = 20_000_000;
  let asked = 0;
  const idOf = (height: number) => Math.max(0, height).toString(16).padStart(16, "0").repeat(4);
  const blockOf = (number: number) => ({
    blockID: idOf(number),
    block_header: {
      raw_data: { number, timestamp: began + number * 3_000, parentHash: idOf(number - 1) },
    },
  });
  const peer = {
    name: "a",
    request({ body }: { body: { id_or_num?: string; num?: number } }) {
      asked++;
      return Promise.resolve(blockOf(Number(body.id_or_num ?? body.num)));
    },
  } as never;
  const expiration = BigInt(began + (made + 30) * 3_000);
  const old = { hash: "f".repeat(64), expiration, ...referenceTo(idOf(made)) } as never;
  for (const blocks of [864_000, 10_512_000]) {
    asked = 0;
    const height = made + blocks;
    const final = { height, hash: idOf(height), parentHash: idOf(height - 1) };
    const timeMs = began + height * 3_000;
    const { height: beyond } = await absenceOf(peer, old, {
      ...final,
      time: timeMs / 1000,
      timeMs,
    });
    equal(beyond, made + 31);
    ok(asked < 80, `${asked} questions`);
  }
});

Deno.test("one node of three that invents or hides a payment decides nothing", async () => {
  await using play = await openTronPlay({ lag: 2 });
  const { node } = play;
  const [lying, third] = [node.peer(), node.peer()];
  const urls = [lying.url, node.url, third.url];
  const chain = await play.open(urls, 2);
  const bytes = await payment(chain);
  const other = await payment(chain);
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await expire(node);
  lying.trick = erasing(bytes);
  statusIs(await ask(await play.open(urls, 2), bytes), "mined");
  // The other one was never sent: the lying node shows it mined, with another's receipt.
  lying.trick = async ({ path, body, honest }) => {
    if (!path.includes("/gettransaction") || body.value !== other.hash) return undefined;
    const told = await honest(path, { value: bytes.hash }) as object;
    return { ...told, ..."id" in told ? { id: other.hash } : { txID: other.hash } };
  };
  const status = await ask(await play.open(urls, 2), other);
  ok(status.state === "mined" && status.confirmations === 0, status.state);
});

Deno.test("bytes go to every node, and a refusal that is one node's own is no verdict", async () => {
  await using play = await openTronPlay();
  const { node } = play;
  const [first, second] = [node.peer(), node.peer()];
  const chain = await play.open([first.url, second.url, node.url], 2);
  const bytes = await payment(chain);
  first.trick = ({ path }) =>
    path.endsWith("broadcasthex")
      ? { result: false, code: "SERVER_BUSY", message: "Server busy." }
      : undefined;
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  for (const one of [first, second, node]) ok(one.asked.includes("wallet/broadcasthex"));
  const poor = newTronParty();
  await node.fund(poor.address, 2_000_000n);
  const spends = async () =>
    (await signed(chain, poor, pays(poor, richTron(1).address, 1_500_000n))).bytes;
  const [one, two] = [await spends(), await spends()];
  equal((await chain.broadcast(one)).outcome, "accepted");
  first.trick = () => undefined;
  const refused = await chain.broadcast(two);
  deepEqual([refused.outcome, refused.obstacle], ["unknown", "funds"]);
  await node.mine();
  statusIs(await ask(chain, two), "unseen");
});

Deno.test("one node of three that lies about prices, blocks or a refusal changes no draft", async () => {
  await using play = await openTronPlay();
  const { node } = play;
  const contract = await deployed(node, "Tether");
  const [lying, third] = [node.peer(), node.peer()];
  const lies: readonly TronTrick[] = [
    ({ path }) =>
      path.endsWith("getchainparameters")
        ? {
          chainParameter: [
            ...["getTransactionFee", "getEnergyFee", "getCreateAccountFee", "getMemoFee"],
            "getCreateNewAccountFeeInSystemContract",
          ].map((key) => ({ key, value: 1 })),
        }
        : undefined,
    ({ path }) =>
      path.endsWith("triggerconstantcontract")
        ? { result: { result: true, message: "REVERT" }, energy_used: 5, constant_result: [""] }
        : undefined,
    async ({ path, honest }) => {
      if (!path.endsWith("/getblock")) return undefined;
      const block = await honest() as { blockID: string };
      return { ...block, blockID: block.blockID.slice(0, 16) + "f".repeat(48) };
    },
    ({ path }) => path.endsWith("getaccount") ? {} : undefined,
    async ({ path, honest }) =>
      path.endsWith("triggerconstantcontract")
        ? { ...await honest() as object, energy_used: 5 }
        : undefined,
  ];
  for (const trick of lies) {
    const order = pays(PAYER, newTronParty().address, 5n, contract);
    const honest = await play.chain.draft(order, "medium");
    lying.trick = trick;
    const chain = await play.open([lying.url, node.url, third.url], 2);
    const draft = await chain.draft(order, "medium");
    equal(draft.fee.base, honest.fee.base);
    const bytes = await chain.sign(chain.plan(draft, {}), new Map([[PAYER.address, PAYER.key]]));
    lying.trick = () => undefined;
    equal((await chain.broadcast(bytes)).outcome, "accepted");
    await node.mine();
    equal(statusIs(await ask(chain, bytes), "mined").success, true);
  }
});

Deno.test("a server on a fork behind a node's address settles no payment by that fork's block", async () => {
  await using play = await openTronPlay({ lag: 3 });
  const { chain, node } = play;
  const bytes = await payment(chain);
  await chain.broadcast(bytes);
  await node.mineAfter(1);
  const kept = new Map<string, unknown>();
  const isOf = ({ path, body }: TronQuestion) =>
    path.includes("/gettransaction") && body.value === bytes.hash;
  node.trick = async (question) => {
    const told = await question.honest();
    kept.set(JSON.stringify([question.path, question.body]), told);
    return told;
  };
  const { block } = statusIs(await ask(chain, bytes), "mined");
  await node.reorganise(1);
  await node.mine(3);
  const told = ({ path, body }: TronQuestion) => kept.get(JSON.stringify([path, body]));
  node.trick = (question) => isOf(question) ? told(question) : undefined;
  await failsAs("unavailable", ask(chain, bytes));
  // It shows that block too, and another server how far final blocks go.
  const isBlock = ({ body }: TronQuestion) => body.id_or_num === `${block.height}`;
  node.trick = (question) => isOf(question) || isBlock(question) ? told(question) : undefined;
  const { confirmations, final } = statusIs(await ask(chain, bytes), "mined");
  deepEqual([confirmations, final], [0, false]);
});
