/** What operators say of transactions that cannot be read: of several withdrawals, of those called paid, of addresses of ours. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { FEE, mineByHand } from "../support/made_by_hand.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { newTronParty, partyOf, richTron } from "../support/nodes/tron/wallet.ts";
import { openOneCoin } from "../support/paying_ramp.ts";
import { pay } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { openSolanaRamp, outsider } from "../support/solana_fixture.ts";
import { openTronRamp, type TronRamp } from "../support/tron_fixture.ts";
import {
  actOnSolana,
  alteredFront,
  booksOf,
  callTron,
  haltLongAgo,
  littleEndian,
  payCoin,
  payInside,
  reconciled,
  trailOf,
  withKey,
} from "../support/unreadable.ts";
import { sharingTronRamp } from "../support/kept_tron_ramps.ts";
import { COIN, follow } from "../support/utxo_fixture.ts";

const test = sharingTronRamp("calls on Tron of which an operator says what they paid");

const ignore = !hasLitecoind();
const TRX = 1_000_000n;

async function withdrawn(ramped: TronRamp, to: string, value: string): Promise<string> {
  const made = await ramped.withdraw(to, value);
  equal(made.status, 201, made.text);
  return made.body.id;
}

Deno.test({
  name:
    "LTC: a transaction of ours that pays two withdrawals beside what is no address ends both where an operator names both",
  ignore,
  fn: async () => {
    await using funded = await openOneCoin();
    const { realm, node } = funded;
    const to = [(await newParty("LITECOIN")).address, (await newParty("LITECOIN")).address];
    const ids = [await pay(funded, to[0], "1"), await pay(funded, to[1], "1")].toSorted();
    const hash = await mineByHand(funded, null, [
      ...to.map((one) => ({ to: one, amount: COIN })),
      { to: "script:51", amount: COIN },
      { to: funded.address, amount: 2n * COIN - FEE },
    ]);
    await node.mine(2);
    await haltRealm(realm);
    for (const wrong of [null, ids[0], ids[1]]) {
      const { report } = await reconciled(realm, { [hash]: wrong });
      match(report.obstacles.join(), new RegExp(`the chain shows that it paid ${ids.join(", ")}`));
    }
    const { report } = await reconciled(realm, { [hash]: ids });
    deepEqual([report.lifted, report.obstacles], [true, []]);
    const rows = await funded.ended(ids);
    deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
    await follow(funded, 3);
    for (const one of to) deepEqual(await funded.held(one), [COIN]);
    deepEqual((await trailOf(realm)).map(({ entity }) => entity), ids);
    await funded.agree();
  },
});

test("Tron: a call of ours that paid three withdrawals, two of them to one address in one sum, ends them where an operator names them, and no fewer", async (ramped) => {
  const { realm } = ramped;
  const [one, other] = [newTronParty().address, newTronParty().address];
  const ids = [
    await withdrawn(ramped, one, "5"),
    await withdrawn(ramped, other, "3"),
    await withdrawn(ramped, other, "2"),
  ].toSorted();
  const hash = await payInside(ramped, [one, other], 5n * TRX, 10n * TRX);
  await ramped.follow();
  await haltLongAgo(realm);
  for (const wrong of [null, ids[0], ids.slice(1)]) {
    const { report } = await reconciled(realm, { [hash]: wrong });
    match(report.obstacles.join(), new RegExp(`the chain shows that it paid ${ids.join(", ")}`));
  }
  const { report } = await reconciled(realm, { [hash]: ids });
  deepEqual([report.lifted, report.obstacles, report.taken[0].unmatched], [true, [], []]);
  for (const id of ids) {
    const row = await ramped.withdrawal(id);
    deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  }
  await ramped.agree();
});

test("Tron: of two withdrawals alike, the one that an operator names is ended by a call of ours that paid one of them", async (ramped) => {
  const { realm } = ramped;
  const to = newTronParty().address;
  const [first, second] = [await withdrawn(ramped, to, "5"), await withdrawn(ramped, to, "5")];
  const hash = await payInside(ramped, to, 5n * TRX, 5n * TRX);
  await ramped.follow();
  await haltLongAgo(realm);
  const { report } = await reconciled(realm, { [hash]: second });
  deepEqual([report.obstacles, report.taken[0]?.stated], [[], second]);
  deepEqual(report.open.map(({ withdrawal }) => withdrawal), [first]);
  equal((await ramped.withdrawal(second)).status, "DONE");
  equal((await ramped.withdrawal(first)).status, "PROCESSING");
});

test("Tron: a call of ours that paid a withdrawal which an operator had called paid is no loss beside it, also while another waits that is due the same", async (ramped) => {
  const { realm } = ramped;
  const to = newTronParty().address;
  const id = await withdrawn(ramped, to, "5");
  await haltLongAgo(realm);
  const [called] = await reconcile(realm, () => Promise.resolve(true));
  equal(called.lifted, true, called.obstacles.join());
  equal((await ramped.withdrawal(id)).status, "DONE");
  const waiting = await withdrawn(ramped, to, "5");
  const hash = await payInside(ramped, to, 5n * TRX, 5n * TRX);
  await ramped.follow();
  await haltLongAgo(realm);
  const before = await booksOf(realm, "TRON");
  const { report } = await reconciled(realm, { [hash]: id });
  deepEqual([report.obstacles, report.taken[0]?.unmatched], [[], []]);
  const after = await booksOf(realm, "TRON");
  equal(after.world - before.world < 5, true, `its fee and no more: ${after.world - before.world}`);
  equal((await ramped.withdrawal(id)).chain.hash, hash);
  deepEqual(report.open.map(({ withdrawal }) => withdrawal), [waiting]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("Tron: a call of ours that paid a withdrawal to another customer of the realm ends it, and the customer gets the deposit", async (ramped) => {
  const { realm, ramp } = ramped;
  const { send } = realm.admin;
  const made = await send("POST", "/v1/accounts", { type: "virtual", asset: "TRON", ramp });
  const customer = made.body.id;
  const given = await send("POST", `/v1/account/${customer}/address`, {});
  await realm.drain();
  const to = given.body.address.address;
  const id = await withdrawn(ramped, to, "5");
  await haltLongAgo(realm);
  const hash = await payInside(ramped, to, 5n * TRX, 7n * TRX);
  await ramped.follow();
  const wrong = await reconciled(realm, { [hash]: null });
  match(wrong.report.obstacles.join(), new RegExp(`the chain shows that it paid ${id}`));
  const { report } = await reconciled(realm, { [hash]: id });
  deepEqual([report.lifted, report.obstacles], [true, []]);
  equal((await ramped.withdrawal(id)).status, "DONE");
  await ramped.until(async () => (await ramped.account(customer)).balance.total === "5");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("Tron: a call of ours that has a contract pay a withdrawal of what it was funded with earlier is no loss, and ends it where an operator says so: the house has paid before", async (ramped) => {
  const { realm, node } = ramped;
  const to = newTronParty().address;
  const contract = await node.deploy("Batcher");
  await node.trigger(contract, payCoin([], 0n), { from: richTron(), value: 7n * TRX });
  const id = await withdrawn(ramped, to, "5");
  const hash = await callTron(ramped, contract, payCoin([to], 5n * TRX), 0n);
  await ramped.follow();
  await haltLongAgo(realm);
  const before = await booksOf(realm, "TRON");
  const wrong = await reconciled(realm, { [hash]: null });
  match(
    wrong.report.obstacles.join(),
    new RegExp(`is not booked as a loss: the chain shows that it paid ${id}`),
  );
  const { report } = await reconciled(realm, { [hash]: id });
  deepEqual([report.lifted, report.obstacles, report.taken[0].unmatched], [true, [], []]);
  const row = await ramped.withdrawal(id);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  const after = await booksOf(realm, "TRON");
  equal(after.world - before.world < 5, true, `its fee and no more: ${after.world - before.world}`);
  await ramped.agree();
});

test("Tron: a call of ours without calls inside is booked once nodes are known to keep them, and keeps the quarantine until then", async (ramped) => {
  const { realm, node } = ramped;
  const contract = await node.deploy("Batcher");
  const hash = await callTron(ramped, contract, payCoin([], 0n), 2n * TRX);
  await ramped.follow();
  await haltLongAgo(realm);
  const first = await reconciled(realm, { [hash]: null });
  match(first.report.obstacles.join(), /keeps no calls inside transactions/);
  const by = { from: richTron(), value: TRX };
  await node.trigger(contract, payCoin([newTronParty().address], TRX), by);
  await node.mine(3);
  node.settings.savesInternals = false;
  const without = await reconciled(realm, { [hash]: null });
  match(without.report.obstacles.join(), /keeps no calls inside transactions/);
  node.settings.savesInternals = true;
  const { report } = await reconciled(realm, { [hash]: null });
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken[0].unmatched, [{ to: "unknown", contract: null, amount: `${2n * TRX}` }]);
  await ramped.agree();
});

/** Sends TRC-10 with the ramp's key: no plan of ours does. */
async function sendAsset(ramped: TronRamp): Promise<string> {
  const { node, address } = ramped;
  await node.grantAsset(address, "1000001", 50n);
  return await withKey(ramped, { chain: "TRON", network: "main" }, async (key) => {
    const by = { from: partyOf(key) };
    const hash = await node.payAsset(newTronParty().address, "1000001", 5n, by);
    await node.mine(3);
    return hash;
  });
}

test("Tron: TRC-10 that our key sent is a loss of the fee alone where an operator says so", async (ramped) => {
  const { realm } = ramped;
  const hash = await sendAsset(ramped);
  await ramped.follow();
  await haltLongAgo(realm);
  const { report } = await reconciled(realm, { [hash]: null });
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken[0].unmatched, []);
  await ramped.agree();
});

/** Kinds of stakes, as nodes tell them, and what they cost in sun where 3 TRX are named. */
const STAKES = [
  { type: "FreezeBalanceContract", named: "frozen_balance", info: {}, lost: 3n * TRX },
  { type: "FreezeBalanceV2Contract", named: "frozen_balance", info: {}, lost: 3n * TRX },
  // Nothing is there to spend for 14 days.
  { type: "UnfreezeBalanceV2Contract", named: "unfreeze_balance", info: {}, lost: 0n },
  {
    type: "WithdrawExpireUnfreezeContract",
    named: "none",
    info: { withdraw_expire_amount: 4_000_000 },
    lost: -4n * TRX,
  },
  {
    type: "WithdrawBalanceContract",
    named: "none",
    info: { withdraw_amount: 4_000_000 },
    lost: -4n * TRX,
  },
];

Deno.test("Tron: what our key staked has left, and what it unstakes has not come before nodes say so", async () => {
  let real = "";
  let stake = STAKES[0];
  const told = alteredFront(
    () => real,
    "/walletsolidity/gettransactionbyid",
    (text) =>
      text.replace(/"TransferAssetContract"/g, `"${stake.type}"`)
        .replace(/"amount":\s*5\b/g, `"${stake.named}":3000000`),
  );
  const both = alteredFront(
    () => told.url,
    "/walletsolidity/gettransactioninfobyid",
    (text) => JSON.stringify({ ...JSON.parse(text), ...stake.info }),
  );
  try {
    await using ramped = await openTronRamp({
      nodes: ({ url }) => {
        real = url;
        return [both.url];
      },
    });
    const hash = await sendAsset(ramped);
    const chain = await ramped.context.chains.open({ chain: "TRON", testnet: false });
    const of = { own: new Set([ramped.address]), to: new Set<string>() };
    for (stake of STAKES) {
      const { lost, type } = stake;
      const { assets, from } = await chain.outflow!(hash, of);
      deepEqual(from, [ramped.address]);
      deepEqual(assets, lost === 0n ? [] : [{ contract: null, lost, got: [] }], type);
    }
    stake = { ...STAKES[0], type: "ProposalCreateContract" };
    await rejects(chain.outflow!(hash, of), /what a ProposalCreateContract moves is not told/);
  } finally {
    await both.stop();
    await told.stop();
  }
});

Deno.test("Solana: an unknown instruction that paid a withdrawal ends it where another key of ours paid the fee", async () => {
  await using ramped = await openSolanaRamp();
  const { realm, token, address, node } = ramped;
  const payer = await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset: "SOL" });
  equal(payer.status, 201, payer.text);
  await realm.drain();
  const [{ address: other }] = await rowsOf<{ address: string }>(
    realm,
    "select address from addresses where account = $1",
    [payer.body.id],
  );
  await node.pay(other, 1_000_000_000n);
  const to = outsider();
  await token.pay(to, 1n);
  const made = await ramped.withdraw("5", { destination: { address: to } });
  equal(made.status, 201, made.text);
  const { id } = made.body;
  const accounts: [string, boolean][] = [[token.account(address), true], [token.account(to), true]];
  const data = [3, ...littleEndian(5_000_000n)];
  const hash = await actOnSolana(ramped, data, accounts, other);
  await ramped.poller.follow();
  await haltLongAgo(realm);
  const { report } = await reconciled(realm, { [hash]: id });
  deepEqual([report.obstacles, report.taken[0]?.unmatched], [[], []]);
  const row = await ramped.read(id);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
