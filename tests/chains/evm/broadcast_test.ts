import { deepEqual, equal, ok } from "node:assert/strict";
import { readRefusal } from "../../../workers/chains/evm/broadcast.ts";
import type { SendRequest } from "../../../workers/chains/outgoing.ts";
import { failsAs, pays, signed, statusIs } from "../conformance.ts";
import { NodeError, startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { newParty, openEvmFixture } from "./fixture.ts";

const NO: Readonly<Record<string, readonly [outcome: string, obstacle: string | null]>> = {
  "already known": ["known", null],
  "transaction already imported": ["known", null],
  "known transaction: 1234": ["known", null],
  "Transaction with the same hash was already imported.": ["known", null],
  "unknown transaction": ["unknown", "other"],
  "nonce too low: next nonce 5, tx nonce 4": ["unknown", "consumed"],
  "replacement transaction underpriced": ["unknown", "underpriced"],
  "transaction underpriced": ["unknown", "underpriced"],
  "max fee per gas less than block base fee": ["unknown", "underpriced"],
  "FeeTooLow, EffectivePriorityFeePerGas too low": ["unknown", "underpriced"],
  "nonce too high": ["unknown", "early"],
  "insufficient funds for gas * price + value": ["unknown", "funds"],
  "Insufficient funds for gas * price + value": ["unknown", "funds"],
  "intrinsic gas too low": ["unknown", "malformed"],
  "invalid sender": ["unknown", "malformed"],
  "rlp: expected input list for types.LegacyTx": ["unknown", "malformed"],
  "Failed to decode transaction": ["unknown", "malformed"],
  "transaction type not supported": ["unknown", "malformed"],
  "txpool is full": ["unknown", "other"],
  "the moon is in the wrong house": ["unknown", "other"],
};

for (const [message, [outcome, obstacle]] of Object.entries(NO)) {
  Deno.test(`"${message}" is ${outcome}${obstacle ? `, ${obstacle}` : ""}`, () => {
    deepEqual(readRefusal(message), { outcome, obstacle, detail: message });
  });
}

Deno.test("no answer to a broadcast is unknown, and the payment is found all the same", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, mine, payer, amount } = fixture;
  const { signed: bytes } = await signed(fixture, payer, pays(payer, newParty().address, amount));
  // It takes the transaction, and its answer is lost.
  await using lossy = startFaultyNode(anvil.url, async ({ method, params }) => {
    if (method !== "eth_sendRawTransaction") return undefined;
    await anvil.rpc(method, ...params);
    return new Response("", { status: 504 });
  });
  const chain = await fixture.open(lossy.url);
  const sent = await chain.broadcast(bytes);
  deepEqual([sent.outcome, sent.obstacle], ["unknown", "silent"]);
  const ask = () => chain.status({ attempts: [bytes], since: 0, depth: 1 });
  statusIs(await ask(), "pending");
  lossy.trick = () => undefined;
  equal((await chain.broadcast(bytes)).outcome, "known");
  await mine();
  ok(statusIs(await ask(), "mined").success);
});

Deno.test("bytes count as malformed only if every node says so, and even then nothing is concluded", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, payer, amount } = fixture;
  const { signed: bytes } = await signed(fixture, payer, pays(payer, newParty().address, amount));
  const refuse = () => {
    throw new NodeError(-32000, "invalid sender");
  };
  const trick = ({ method }: { method: string }) =>
    method === "eth_sendRawTransaction" ? refuse() : undefined;
  await using one = startFaultyNode(anvil.url, trick);
  await using two = startFaultyNode(anvil.url, trick);
  const both = await fixture.open(one.url, two.url);
  const said = async () => {
    const { outcome, obstacle } = await both.broadcast(bytes);
    return [outcome, obstacle];
  };
  deepEqual(await said(), ["unknown", "malformed"]);
  two.trick = ({ method }) =>
    method === "eth_sendRawTransaction" ? new Response("", { status: 502 }) : undefined;
  deepEqual(await said(), ["unknown", "silent"]);
  const honest = await fixture.open(one.url, anvil.url);
  equal((await honest.broadcast(bytes)).outcome, "accepted");
});

Deno.test("a transaction that the pool dropped is unseen, and the same bytes bring it back", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, mine, payer, amount } = fixture;
  const { signed: bytes } = await signed(fixture, payer, pays(payer, newParty().address, amount));
  await chain.broadcast(bytes);
  await anvil.rpc("anvil_dropTransaction", bytes.hash);
  const ask = () => chain.status({ attempts: [bytes], since: 0, depth: 1 });
  statusIs(await ask(), "unseen");
  await mine(5);
  statusIs(await ask(), "unseen");
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await mine();
  statusIs(await ask(), "mined");
});

Deno.test("a gap in the nonces stops later transactions until a noop fills it", async () => {
  await using fixture = await openEvmFixture();
  const { chain, mine, payer, amount } = fixture;
  const to = newParty().address;
  const plan = async (order: SendRequest, nonce: number) => {
    const made = chain.plan(await chain.draft(order, "fast"), { nonce, coins: [] });
    return await chain.sign(made, new Map([[payer.address, payer.key]]));
  };
  const later = await plan(pays(payer, to, amount), 1);
  equal((await chain.broadcast(later)).outcome, "accepted");
  await mine(2);
  deepEqual((await chain.nonces!.count(payer.address)).mined, 0);
  statusIs(await chain.status({ attempts: [later], since: 0, depth: 1 }), "pending");
  const filler = await plan({ kind: "noop", from: payer.address }, 0);
  deepEqual((await chain.inspect(filler.raw)).payments, []);
  await chain.broadcast(filler);
  await mine();
  statusIs(await chain.status({ attempts: [later], since: 0, depth: 1 }), "mined");
  deepEqual(await chain.nonces!.count(payer.address), { mined: 2, pooled: 2 });
});

Deno.test("a reverted payment is mined without success, and its fee is reported", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, mine, payer } = fixture;
  const batcher = await anvil.deploy("Batcher");
  const { signed: bytes } = await signed(fixture, payer, pays(payer, batcher, 10n));
  const refuser = await anvil.deploy("Silent"); // has no way to take coins
  await anvil.rpc("anvil_setCode", batcher, await anvil.rpc("eth_getCode", refuser, "latest"));
  await anvil.rpc("anvil_setNonce", payer.address, nonceOf(bytes.inputs[0]));
  await chain.broadcast(bytes);
  await mine();
  const status = statusIs(await chain.status({ attempts: [bytes], since: 0, depth: 1 }), "mined");
  deepEqual([status.success, status.fee > 0n], [false, true]);
});

Deno.test("a broadcast on which the nodes disagree stays open", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, mine, payer, amount } = fixture;
  const to = newParty().address;
  const { chain } = fixture;
  const since = (await chain.head()).height;
  const first = await signed(fixture, payer, pays(payer, to, amount));
  const second = await signed(fixture, payer, pays(payer, to, amount), first.plan);
  await chain.broadcast(second.signed);
  await mine(6);
  const query = { attempts: [first.signed], since, depth: 3 };
  statusIs(await chain.status(query), "dropped");
  // Another node still holds it in its pool, or has mined it: that one is not overruled.
  await using other = startFaultyNode(anvil.url, ({ method, params: [hash] }) => {
    if (hash !== first.signed.hash) return undefined;
    if (method === "eth_getTransactionByHash") {
      return { hash, from: payer.address, to, value: "0x1", nonce: "0x0" };
    }
  });
  other.trick = ((before) => (question) => {
    if (question.method === "eth_getTransactionCount") return "0x0";
    return before(question);
  })(other.trick);
  const both = await fixture.open(anvil.url, other.url);
  statusIs(await both.status(query), "pending");
  await using gone = startFaultyNode(null, () => new Response("", { status: 500 }));
  const alone = await fixture.open(gone.url);
  await failsAs("unavailable", alone.status(query));
});

Deno.test("the taker of a nonce is found also where old states are gone", async () => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, mine, payer, amount } = fixture;
  const to = newParty().address;
  await mine(4);
  const since = (await chain.head()).height;
  const first = await signed(fixture, payer, pays(payer, to, amount));
  await mine(20);
  const second = await signed(fixture, payer, pays(payer, to, amount), first.plan);
  await chain.broadcast(second.signed);
  await mine(30);
  await using pruned = startFaultyNode(anvil.url, ({ method, params: [, at] }) => {
    if (method !== "eth_getTransactionCount" || at === "latest") return undefined;
    const { height } = { height: parseInt(String(at), 16) };
    if (height < 50) throw new NodeError(-32000, "historical state is not available");
  });
  const poor = await fixture.open(pruned.url);
  for (const node of [chain, poor]) {
    const status = await node.status({ attempts: [first.signed], since, depth: 3 });
    const { proof, by } = statusIs(status, "dropped");
    deepEqual([proof, by], ["consumed", second.signed.hash]);
  }
  const early = await chain.status({ attempts: [first.signed], since, depth: 40 });
  statusIs(early, "unseen");
});

function nonceOf(input: string): string {
  return `0x${parseInt(input.split(":")[1]).toString(16)}`;
}
