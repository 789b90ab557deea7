/** Transactions of our own keys that cannot be read: an operator says what each was, and the chain what it moved. */
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { readReconcileArguments } from "../../workers/recovery/reconcile_command.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { FEE, mineByHand } from "../support/made_by_hand.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { newTronParty } from "../support/nodes/tron/wallet.ts";
import { openOneCoin, openPayingOne } from "../support/paying_ramp.ts";
import { pay } from "../support/pending_withdrawals.ts";
import { openSolanaRamp, outsider } from "../support/solana_fixture.ts";
import { openTronRamp } from "../support/tron_fixture.ts";
import {
  actOnSolana,
  alteredFront,
  booksOf,
  haltLongAgo,
  littleEndian,
  payInside,
  reconciled,
  trailOf,
} from "../support/unreadable.ts";
import { COIN, follow } from "../support/utxo_fixture.ts";

const ignore = !hasLitecoind();
/** A script that anybody may spend, and no address. */
const SCRIPT = "script:51";
const INFO = "/walletsolidity/gettransactioninfobyid";

Deno.test({
  name:
    "LTC: a transaction of ours that pays what is no address keeps the quarantine until an operator calls it a loss, which the chain measures, once",
  ignore,
  fn: async () => {
    await using funded = await openOneCoin();
    const { realm, node } = funded;
    const id = await pay(funded, (await newParty("LITECOIN")).address, "1");
    const hash = await mineByHand(funded, null, [
      { to: SCRIPT, amount: 2n * COIN },
      { to: funded.address, amount: 3n * COIN - FEE },
    ]);
    await haltRealm(realm);
    const first = await reconciled(realm);
    equal(first.report.lifted, false);
    match(first.report.obstacles.join(), new RegExp(`${hash}: .*unknown script; .*--loss ${hash}`));
    const early = await reconciled(realm, { [hash]: null });
    match(early.report.obstacles.join(), /may still lose its block/);
    await node.mine(2);
    const wrong = await reconciled(realm, { [hash]: id });
    equal(wrong.report.lifted, false);
    match(
      wrong.report.obstacles.join(),
      /is not booked as the payment of .*: the chain shows no payment/,
    );
    deepEqual([wrong.left, await trailOf(realm)], [[hash], []]);
    const { report, left } = await reconciled(realm, { [hash]: null });
    deepEqual([report.obstacles, left], [[], []]);
    deepEqual(report.taken, [{
      ...{ hash, purpose: "recovered", paid: [], stated: "loss" },
      unmatched: [{ to: SCRIPT, contract: null, amount: `${2n * COIN}` }],
    }]);
    deepEqual(report.open.map(({ withdrawal }) => withdrawal), [id], "it is asked about");
    const again = await reconciled(realm, { [hash]: null });
    deepEqual([again.report.taken, again.left], [[], [hash]]);
    const [line, ...more] = await trailOf(realm);
    deepEqual([line.actor, line.action, more], [null, "reconcile.loss", []]);
    equal(line.hash, hash);
    const [end] = await reconcile(realm, () => Promise.resolve(false));
    equal(end.lifted, true);
    equal((await funded.ended([id]))[0].status, "DONE");
    await follow(funded, 3);
    await funded.agree();
  },
});

Deno.test({
  name:
    "LTC: a transaction of ours that pays a withdrawal beside what is no address is no loss, and ends that withdrawal where an operator says so",
  ignore,
  fn: async () => {
    await using funded = await openPayingOne();
    const { realm, node, id, to } = funded;
    const hash = await mineByHand(funded, null, [
      { to, amount: COIN },
      { to: SCRIPT, amount: COIN },
      { to: funded.address, amount: 3n * COIN - FEE },
    ]);
    await node.mine(2);
    await haltRealm(realm);
    const wrong = await reconciled(realm, { [hash]: null });
    match(
      wrong.report.obstacles.join(),
      new RegExp(`is not booked as a loss: the chain shows that it paid ${id}`),
    );
    const all = await Promise.all([1, 2].map(() => reconciled(realm, { [hash]: id })));
    equal(all.flatMap(({ report }) => report.taken).length, 1, "twice at once");
    ok(all.some(({ report }) => report.lifted));
    const [row] = await funded.ended([id]);
    deepEqual([row.status, row.chain.hash], ["DONE", hash]);
    await follow(funded, 3);
    deepEqual(await funded.held(to), [COIN]);
    deepEqual((await trailOf(realm)).map(({ action, entity }) => [action, entity]), [
      ["reconcile.payment", id],
    ]);
    await funded.agree();
  },
});

Deno.test("Tron: a call of ours to an unknown contract that paid a withdrawal is no loss, ends it where an operator says so, and costs what the chain tells", async () => {
  await using ramped = await openTronRamp();
  const { realm } = ramped;
  const to = newTronParty().address;
  const made = await ramped.withdraw(to, "5");
  equal(made.status, 201, made.text);
  const { id } = made.body;
  const before = await booksOf(realm, "TRON");
  const hash = await payInside(ramped, to, 5_000_000n, 7_000_000n);
  await ramped.follow();
  await haltLongAgo(realm);
  const first = await reconciled(realm);
  match(first.report.obstacles.join(), new RegExp(`${hash}: .* does not write; .*--loss ${hash}`));
  const wrong = await reconciled(realm, { [hash]: null });
  match(
    wrong.report.obstacles.join(),
    new RegExp(`is not booked as a loss: the chain shows that it paid ${id}`),
  );
  const { report } = await reconciled(realm, { [hash]: id });
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual([report.taken[0].paid.length, report.taken[0].stated], [1, id]);
  const row = await ramped.withdrawal(id);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  const after = await booksOf(realm, "TRON");
  ok(after.world >= before.world + 7, `${after.world}, of ${before.world}`);
  deepEqual((await trailOf(realm)).map(({ action, entity }) => [action, entity]), [
    ["reconcile.payment", id],
  ]);
  await ramped.agree();
});

Deno.test("Tron: what nodes disagree on is booked by nobody's word", async () => {
  let real = "";
  const lying = alteredFront(
    () => real,
    INFO,
    (text) => text.replace(/"fee":(\d+)/g, (_, units) => `"fee":${BigInt(units) + 1n}`),
  );
  try {
    await using ramped = await openTronRamp({
      nodes: ({ url }) => {
        real = url;
        return [url, lying.url];
      },
    });
    const { realm } = ramped;
    const hash = await payInside(ramped, newTronParty().address, 5_000_000n, 5_000_000n);
    await ramped.follow();
    await haltLongAgo(realm);
    const before = await booksOf(realm, "TRON");
    const { report, left } = await reconciled(realm, { [hash]: null });
    equal(report.lifted, false);
    match(report.obstacles.join(), new RegExp(`nodes confirm what ${hash} moved, 2 must`));
    deepEqual([left, await trailOf(realm), await booksOf(realm, "TRON")], [[hash], [], before]);
  } finally {
    await lying.stop();
  }
});

Deno.test("Solana: what an unknown instruction with our key took is a loss where an operator says so, of just what the balances show", async () => {
  await using ramped = await openSolanaRamp();
  const { realm, token, address } = ramped;
  const before = await booksOf(realm, "PYUSD_SOL");
  const burn = [8, ...littleEndian(5_000_000n)];
  const hash = await actOnSolana(ramped, burn, [[token.account(address), true], [
    token.mint,
    true,
  ]]);
  await ramped.poller.follow();
  await haltLongAgo(realm);
  const first = await reconciled(realm);
  match(first.report.obstacles.join(), new RegExp(`does something unknown; .*--loss ${hash}`));
  const { report } = await reconciled(realm, { [hash]: null });
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken[0].unmatched, [
    { to: "unknown", contract: token.mint, amount: "5000000" },
  ]);
  const after = await booksOf(realm, "PYUSD_SOL");
  deepEqual(after.world, (before.world ?? 0) + 5);
  deepEqual(after.fees, (before.fees ?? 0) - 5);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("Solana: an unknown instruction with our key that paid a withdrawal ends it where an operator says so", async () => {
  await using ramped = await openSolanaRamp();
  const { realm, token, address } = ramped;
  const to = outsider();
  await token.pay(to, 1n);
  const made = await ramped.withdraw("5", { destination: { address: to } });
  equal(made.status, 201, made.text);
  const { id } = made.body;
  const transfer = [3, ...littleEndian(5_000_000n)];
  const accounts: [string, boolean][] = [[token.account(address), true], [token.account(to), true]];
  const hash = await actOnSolana(ramped, transfer, accounts);
  await ramped.poller.follow();
  await haltLongAgo(realm);
  const { report } = await reconciled(realm, { [hash]: id });
  deepEqual([report.lifted, report.obstacles], [true, []], JSON.stringify(report));
  const row = await ramped.read(id);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await ramped.advance();
  equal(await token.held(to), 5_000_001n);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("Solana: an unknown instruction with our key that paid a withdrawal which was called paid before is no loss", async () => {
  await using ramped = await openSolanaRamp();
  const { realm, token, address } = ramped;
  const to = outsider();
  await token.pay(to, 1n);
  const { body: { id } } = await ramped.withdraw("5", { destination: { address: to } });
  await haltLongAgo(realm);
  const [called] = await reconcile(realm, () => Promise.resolve(true));
  deepEqual([called.lifted, (await ramped.read(id)).status], [true, "DONE"]);
  const before = await booksOf(realm, "PYUSD_SOL");
  const transfer = [3, ...littleEndian(5_000_000n)];
  const accounts: [string, boolean][] = [[token.account(address), true], [token.account(to), true]];
  const hash = await actOnSolana(ramped, transfer, accounts);
  await ramped.poller.follow();
  await haltLongAgo(realm);
  const wrong = await reconciled(realm, { [hash]: null });
  match(wrong.report.obstacles.join(), new RegExp(`chain shows that it paid ${id}`));
  const { report } = await reconciled(realm, { [hash]: id });
  deepEqual([report.lifted, report.obstacles], [true, []], JSON.stringify(report));
  equal((await ramped.read(id)).chain.hash, hash);
  deepEqual(await booksOf(realm, "PYUSD_SOL"), before);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("what is said of a transaction is refused where it names none, no withdrawal, two things, or an amount", () => {
  const hash = "ab".repeat(32);
  const id = "01a21afe-ef5e-7000-8001-e3cae74d1cc7";
  const faults: [string[], RegExp][] = [
    [["--loss", "ab"], /ab is no transaction/],
    [["--payment", hash], /is no transaction and the id of a withdrawal/],
    [["--payment", `${hash}=5`], /is no transaction and the id of a withdrawal/],
    [["--payment", `${hash}=${id}=5`], /is no transaction and the id of a withdrawal/],
    [["--loss", hash, "--payment", `${hash}=${id}`], /two things are said/],
  ];
  for (const [args, fault] of faults) throws(() => readReconcileArguments(args), fault);
  const { stated } = readReconcileArguments(["--loss", hash, "--loss", hash]);
  deepEqual([...stated], [[hash, []]]);
  const other = id.replace(/.$/, "8");
  const several = ["--payment", `${hash}=${id}`, "--payment", `${hash}=${other}`];
  deepEqual([...readReconcileArguments(several).stated], [[hash, [id, other]]]);
});
