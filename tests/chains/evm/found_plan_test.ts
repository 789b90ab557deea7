import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import type { Plan, SendRequest } from "../../../workers/chains/outgoing.ts";
import { hexlify, type TransactionLike, Wallet, ZeroHash } from "ethers";
import { rich } from "../../support/nodes/anvil.ts";
import { deployToken, newParty, openEvmFixture, paysToken } from "./fixture.ts";

/** What a plan makes of a transaction, price and encoding left out. */
function effectOf({ order, inputs, signers, amounts, creates, feeContract }: Plan) {
  return { order, inputs, signers, amounts, creates, feeContract };
}

Deno.test("the plan of signed bytes that nothing here planned makes what the bytes make, and is replaced by the same at a higher price", async (t) => {
  await using fixture = await openEvmFixture();
  const { anvil, chain, payer } = fixture;
  const contract = await deployToken(fixture);
  const to = newParty().address;
  const from = payer.address;
  const pay = { kind: "pay" as const, from, contract: null, payments: [{ to, amount: 5n }] };
  const token = { name: "A Token", symbol: "ATK", decimals: 6, supply: 10n ** 12n };
  const requests: Record<string, SendRequest> = {
    "a payment of coins": pay,
    "a payment of a token": paysToken(payer, contract, to, 7n),
    "a transaction that moves nothing": { kind: "noop", from },
    "a deployment": { kind: "deploy", from, token },
  };
  for (const [name, request] of Object.entries(requests)) {
    await t.step(name, async () => {
      const nonce = (await chain.nonces!.count(from)).mined;
      const plan = chain.plan(await chain.draft(request, "medium"), { nonce });
      const keys = new Map([[from, payer.key]]);
      const signed = await chain.sign(plan, keys);
      const read = (await chain.planOf(signed, { all: false }))!;
      const meant = request.kind === "noop" ? { kind: "noop", from } : plan.order;
      deepEqual(effectOf(read), { ...effectOf(plan), order: meant });
      equal(read.fee, plan.fee);
      const how = { speed: "fast" as const, budget: null, cancels: false };
      const next = chain.plan(await chain.redraft(read, how), {}, read);
      deepEqual(effectOf(next), effectOf(read));
      ok(next.fee * 1000n >= read.fee * 1125n);
      const replacement = await chain.sign(next, keys);
      notEqual(replacement.hash, signed.hash);
      const [first, second] = [signed, replacement].map(({ raw }) => chain.inspect(raw));
      deepEqual((await second).payments, (await first).payments);
      for (const one of [signed, replacement]) {
        equal((await chain.broadcast(one)).outcome, "accepted");
      }
      await anvil.mine();
      const since = 0;
      const status = await chain.status({ attempts: [signed, replacement], since, depth: 1 });
      deepEqual([status.state, "hash" in status && status.hash], ["mined", replacement.hash]);
      equal((await chain.nonces!.count(from)).mined, nonce + 1);
    });
  }
  await t.step("a deployment of something else is told by no bytes", async () => {
    const hash = await anvil.send({ data: "0x600a600c600039600a6000f3602a60005260206000f3" });
    const raw = await chain.raw({ hash, height: (await chain.head()).height });
    equal(await chain.planOf({ hash, raw, inputs: [], expires: null }, { all: false }), null);
  });
  await t.step("a payment of all gets smaller by what the fee rises", async () => {
    const source = newParty();
    await anvil.send({ to: source.address, value: 10n ** 18n });
    const all = {
      ...pay,
      from: source.address,
      payments: [{ to: rich(3).address, amount: "all" as const }],
    };
    const keys = new Map([[source.address, source.key]]);
    const plan = chain.plan(await chain.draft(all, "medium"), { nonce: 0 });
    const read = (await chain.planOf(await chain.sign(plan, keys), { all: true }))!;
    deepEqual(effectOf(read), effectOf(plan));
    const how = { speed: "fast" as const, budget: null, cancels: false };
    const next = chain.plan(await chain.redraft(read, how), {}, read);
    ok(next.fee > plan.fee);
    equal(next.amounts[0] + next.fee, plan.amounts[0] + plan.fee);
    await chain.sign(next, keys);
  });
});

Deno.test("signed bytes of other kinds than ours, or not for this chain alone, have no plan", async () => {
  await using fixture = await openEvmFixture();
  const { chain, payer } = fixture;
  const contract = await deployToken(fixture);
  const to = newParty().address;
  const { address: from } = payer;
  const pay = { kind: "pay" as const, from, contract: null, payments: [{ to, amount: 5n }] };
  const wallet = new Wallet(hexlify(payer.key));
  const { chainId } = JSON.parse((await chain.draft(pay, "medium")).body) as { chainId: number };
  const accessList = [{ address: contract, storageKeys: [] }];
  const price = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n };
  const legacy = { type: 0, gasPrice: 10n ** 10n };
  const delegate = { address: contract, nonce: 1, chainId: 0 };
  const authorizationList = [await wallet.authorize(delegate)];
  const blobs = { blobVersionedHashes: [`0x01${ZeroHash.slice(4)}`], maxFeePerBlobGas: 1n };
  const kinds: [string, boolean, TransactionLike<string>][] = [
    ["legacy, for this chain", true, { ...legacy, chainId }],
    ["EIP-1559, for this chain", true, { type: 2, chainId, ...price }],
    ["legacy, for any chain", false, { ...legacy, chainId: 0 }],
    ["for another chain", false, { type: 2, chainId: chainId + 1, ...price }],
    ["with a list of accesses", false, { type: 1, chainId, gasPrice: 10n ** 10n, accessList }],
    ["with blobs", false, { type: 3, chainId, ...price, ...blobs }],
    ["with an authorization", false, { type: 4, chainId, ...price, authorizationList }],
  ];
  for (const [name, planned, kind] of kinds) {
    const raw = await wallet.signTransaction({
      to,
      value: 5n,
      nonce: 9,
      gasLimit: 60_000n,
      ...kind,
    });
    const { hash, inputs, payments } = await chain.inspect(raw);
    deepEqual([name, payments], [name, [{ to, contract: null, amount: 5n }]]);
    const read = await chain.planOf({ hash, raw, inputs, expires: null }, { all: false });
    deepEqual([name, read !== null], [name, planned]);
  }
});
