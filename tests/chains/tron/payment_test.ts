/** Payments on Tron: what is signed, what it costs, and what is refused before it is signed. */
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { ChainError, type ChainFault } from "../../../workers/chains/chain.ts";
import { feeOf } from "../../../workers/chains/outgoing.ts";
import { newTronParty, richTron, toHex } from "../../support/nodes/tron/wallet.ts";
import { failsAs, statusIs } from "../conformance.ts";
import { deployed, openTronPlay, pays, signed } from "./fixture.ts";

const PAYER = richTron();

async function refusedAs(fault: ChainFault, why: RegExp, work: Promise<unknown>): Promise<void> {
  await rejects(work, (error: unknown) => {
    ok(error instanceof ChainError, `${error}`);
    equal(error.fault, fault, error.message);
    match(error.message, why);
    return true;
  });
}

Deno.test("TRX: a payment is known by its id before it is sent, and costs what was told at most", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const to = newTronParty();
  const { plan, bytes } = await signed(chain, PAYER, pays(PAYER, to.address, 5_000_000n));
  const ask = () => chain.status({ attempts: [bytes], since: 0, depth: 1 });
  statusIs(await ask(), "unseen");
  const seen = await chain.inspect(bytes.raw);
  deepEqual(seen, {
    hash: bytes.hash,
    inputs: [],
    from: [PAYER.address],
    payments: [{ to: to.address, contract: null, amount: 5_000_000n }],
    fee: null,
    creates: null,
  });
  deepEqual(await chain.sign(plan, new Map([[PAYER.address, PAYER.key]])), bytes);
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  equal((await chain.broadcast(bytes)).outcome, "known");
  equal(statusIs(await ask(), "pending").hash, bytes.hash);
  await node.mine();
  const mined = statusIs(await ask(), "mined");
  deepEqual([mined.hash, mined.confirmations, mined.success, mined.final], [
    bytes.hash,
    1,
    true,
    true,
  ]);
  // The account did not exist: 1 TRX for it, and 0.1 for its bandwidth.
  deepEqual([mined.fee, plan.fee], [1_100_000n, 1_100_000n]);
  equal(await chain.raw({ hash: bytes.hash, height: mined.block.height }), bytes.raw);
});

Deno.test("TRX: bandwidth is counted to the byte, and free only if it suffices", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const from = newTronParty();
  await node.fund(from.address, 100_000_000n);
  const fees: [bigint, bigint][] = [];
  for (let round = 0; round < 3; round++) {
    const draft = await chain.draft(pays(from, PAYER.address, 1_000_000n), "medium");
    const plan = chain.plan(draft, {});
    const bytes = await chain.sign(plan, new Map([[from.address, from.key]]));
    equal((await chain.broadcast(bytes)).outcome, "accepted");
    await node.mine();
    const status = await chain.status({ attempts: [bytes], since: 0, depth: 1 });
    const { fee } = statusIs(status, "mined");
    equal(fee, draft.likely);
    ok(fee <= plan.fee);
    fees.push([fee, plan.fee]);
  }
  // The free 600 bytes pay for two of them.
  deepEqual(fees.map(([fee]) => fee > 0n), [false, false, true]);
  equal(fees[2][0], fees[2][1]);
});

Deno.test("TRX: a sweep leaves nothing behind, with free bandwidth and without", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const from = newTronParty();
  for (const isFree of [true, false]) {
    await node.fund(from.address, 7_654_321n);
    await node.vote({ getFreeNetLimit: isFree ? 600n : 0n });
    const { plan, bytes } = await signed(chain, from, pays(from, PAYER.address, "all"));
    equal(plan.amounts[0] + plan.fee, 7_654_321n);
    equal(plan.fee > 0n, !isFree);
    equal((await chain.broadcast(bytes)).outcome, "accepted");
    await node.mine();
    const status = await chain.status({ attempts: [bytes], since: 0, depth: 1 });
    equal(statusIs(status, "mined").fee, plan.fee);
    await refusedAs("insufficient", /holds 0/, signed(chain, from, pays(from, PAYER.address, 1n)));
  }
});

Deno.test("two equal payments in one moment are two transactions", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const order = pays(PAYER, richTron(1).address, 1_000_000n);
  const all = await Promise.all(Array.from({ length: 20 }, () => signed(chain, PAYER, order)));
  equal(new Set(all.map(({ bytes }) => bytes.hash)).size, 20);
  for (const { bytes } of all.slice(0, 2)) {
    equal((await chain.broadcast(bytes)).outcome, "accepted");
  }
  await node.mine();
  for (const { bytes: { expires } } of all) {
    const lasts = (expires as { time: number }).time - (await chain.head()).time * 1000;
    ok(lasts > 60_000 && lasts <= 120_000, `${lasts}`);
  }
});

Deno.test("TRC-20: energy is tried first, and the limit of its cost leaves a margin", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const contract = await deployed(node, "Tether");
  const to = newTronParty();
  const draft = await chain.draft(pays(PAYER, to.address, 3_000_000n, contract), "medium");
  const plan = chain.plan(draft, {});
  const bytes = await chain.sign(plan, new Map([[PAYER.address, PAYER.key]]));
  deepEqual((await chain.inspect(bytes.raw)).payments, [
    { to: to.address, contract, amount: 3_000_000n },
  ]);
  equal((await chain.broadcast(bytes)).outcome, "accepted");
  await node.mine();
  // USDT answers false to a transfer that it carries out.
  const mined = statusIs(
    await chain.status({ attempts: [bytes], since: 0, depth: 1 }),
    "mined",
  );
  equal(mined.success, true);
  // The free bandwidth paid for its bytes.
  ok(mined.fee < draft.likely! && mined.fee > draft.likely! * 4n / 5n, `${draft.likely}`);
  ok(plan.fee > mined.fee && plan.fee < 2n * mined.fee, `${plan.fee} ${mined.fee}`);
});

Deno.test("TRC-20: a blocked sender or receiver is named, before anything is signed", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const contract = await deployed(node, "Tether");
  const [to, other] = [newTronParty(), richTron(1)];
  const block = async (address: string) => {
    const data = "0ecb93c0" + toHex(address).slice(2).padStart(64, "0");
    await node.trigger(contract, data);
    await node.mine();
  };
  await block(to.address);
  const draft = (from: typeof PAYER, at: string) =>
    chain.draft(pays(from, at, 1_000_000n, contract), "medium");
  await refusedAs(
    "refused",
    new RegExp(`${to.address} is blocked by the token`),
    draft(PAYER, to.address),
  );
  await draft(PAYER, other.address);
  await block(PAYER.address);
  await refusedAs(
    "refused",
    new RegExp(`${PAYER.address} is blocked by the token`),
    draft(PAYER, other.address),
  );
});

Deno.test("a contract, a token and the sender itself are refused as receivers", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const [contract, other] = [await deployed(node, "Tether"), await deployed(node, "Tether")];
  const draft = (to: string, token: string | null) =>
    chain.draft(pays(PAYER, to, 1_000_000n, token), "medium");
  await refusedAs("refused", /is a contract/, draft(contract, null));
  await refusedAs("refused", /contract of a token/, draft(contract, contract));
  await refusedAs("refused", /contract of a token/, draft(other, contract));
  await refusedAs("refused", /would pay itself/, draft(PAYER.address, null));
  await refusedAs("refused", /would pay itself/, draft(PAYER.address, contract));
});

Deno.test("a receiver whose balance is below zero, as that of burnt coins, is paid like any other", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const burnt = richTron(1);
  node.trick = async ({ path, body, honest }) => {
    if (!path.endsWith("/getaccount") || body.address !== burnt.hex) return undefined;
    return { ...await honest() as object, balance: -(2n ** 63n) };
  };
  const { plan } = await signed(chain, PAYER, pays(PAYER, burnt.address, 1_000_000n));
  deepEqual(plan.amounts, [1_000_000n]);
  const holding = { address: burnt.address, contract: null };
  deepEqual((await chain.balances([holding], null)).amounts, [0n]);
});

Deno.test("what the sender lacks is told: coins, tokens, and TRX for the fee", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const contract = await deployed(node, "Tether");
  const from = newTronParty();
  await refusedAs("insufficient", /holds 0/, signed(chain, from, pays(from, PAYER.address, 1n)));
  await node.trigger(
    contract,
    "a9059cbb" + from.hex.slice(2).padStart(64, "0") + "64".padStart(64, "0"),
  );
  await node.mine();
  await refusedAs(
    "insufficient",
    /holds 100 base units/,
    signed(chain, from, pays(from, PAYER.address, 101n, contract)),
  );
  const draft = await chain.draft(pays(from, PAYER.address, 100n, contract), "medium");
  equal(draft.lacking, draft.fee.base);
  await node.fund(from.address, draft.fee.base);
  equal((await chain.draft(pays(from, PAYER.address, 100n, contract), "medium")).lacking, 0n);
});

Deno.test("no plan costs more than its budget, and no node's price is believed beyond a limit", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const contract = await deployed(node, "Tether");
  const order = pays(PAYER, newTronParty().address, 1_000_000n, contract);
  const free = await chain.draft(order, "medium");
  const within = { contract: null, units: free.fee.base - 1n };
  equal((await chain.draft(order, "medium", within)).fee.base, within.units);
  const below = { contract: null, units: free.likely! / 2n };
  await failsAs("exceeded", chain.draft(order, "medium", below));
  await failsAs("exceeded", chain.draft(order, "medium", { contract, units: 10n ** 9n }));
  await node.vote({ getEnergyFee: 2_001n });
  await failsAs("unavailable", chain.draft(order, "medium"));
});

Deno.test("a quote covers a new account, and a token's transfer to somebody who never had it", async () => {
  await using play = await openTronPlay();
  const { chain, node } = play;
  const contract = await deployed(node, "Tether");
  const fresh = () => newTronParty().address;
  for (const asset of [null, contract]) {
    const quoted = feeOf((await chain.quote(asset)).slow, 0, 1);
    const draft = await chain.draft(pays(PAYER, fresh(), 1_000_000n, asset), "medium");
    ok(quoted >= draft.likely!, `${quoted} ${draft.likely}`);
  }
  const calm = feeOf((await chain.quote(contract)).slow, 0, 1);
  await node.busy(contract, 10_000n);
  ok(feeOf((await chain.quote(contract)).slow, 0, 1) > calm * 19n / 10n);
});

Deno.test("sign() refuses without the key or with another, and a changed plan", async () => {
  await using play = await openTronPlay();
  const { chain } = play;
  const { plan } = await signed(chain, PAYER, pays(PAYER, richTron(1).address, 1_000_000n));
  const keys = new Map([[PAYER.address, PAYER.key]]);
  await failsAs("refused", chain.sign(plan, new Map()));
  await failsAs("refused", chain.sign(plan, new Map([[PAYER.address, richTron(1).key]])));
  const body = JSON.parse(plan.body);
  for (
    const contract of [
      { ...body.raw.contract, amount: "1000001" },
      { ...body.raw.contract, to: richTron(2).hex },
      { ...body.raw.contract, owner: richTron(2).hex },
    ]
  ) {
    const raw = { ...body.raw, contract };
    await failsAs("refused", chain.sign({ ...plan, body: JSON.stringify({ ...body, raw }) }, keys));
  }
  const { bytes } = await signed(chain, PAYER, pays(PAYER, richTron(1).address, 1_000_000n));
  const last = bytes.raw.slice(-4, -2) === "00" ? "01" : "00";
  const changed = bytes.raw.slice(0, -4) + last + bytes.raw.slice(-2);
  notEqual(changed, bytes.raw);
  await failsAs("refused", chain.inspect(changed));
  await failsAs("refused", chain.inspect(bytes.raw + "2a00"));
});
