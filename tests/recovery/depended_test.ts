/** Withdrawals that an operator calls paid while the change of their own transactions, which were never sent, is to be spent. */
import { deepEqual, equal, fail, match, ok, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { newId } from "../../domain/ids.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { endAt } from "../support/ended_worker.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { withTwoCoins } from "../support/paying_ramp.ts";
import { crashAt, pay } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { COIN, follow, LITECOIN, type UtxoRamp } from "../support/utxo_fixture.ts";

const ignore = !hasLitecoind();
const test = sharingUtxoRamp("UTXO payments that spend the change of others", LITECOIN, ignore);

/** Withdrawals that are signed and were not sent, each of which but the first spends the change of the one before. */
async function depend(funded: UtxoRamp, count = 2): Promise<{ ids: string[]; to: string[] }> {
  await funded.fund(5n * COIN);
  const to: string[] = [];
  for (let at = 0; at < count; at++) to.push((await newParty("LITECOIN")).address);
  const ids = [await pay(funded, to[0], "1")];
  ok((await crashAt(funded, "stored")).done);
  for (const address of to.slice(1)) {
    ids.push(await pay(funded, address, "0.5"));
    await signOnly(funded, ids.at(-1)!);
  }
  const spends = await rowsOf(
    funded.realm,
    `select from order_attempts a join order_attempts b on split_part(b.inputs[1], ':', 1) = a.hash`,
  );
  equal(spends.length, count - 1, "each spends the change of the one before");
  return { ids, to };
}

/** Signs a withdrawal, and ends the worker before it is sent. */
async function signOnly(funded: UtxoRamp, id: string): Promise<void> {
  const [seen] = await rowsOf<{ order: string; version: number }>(
    funded.realm,
    "select id as order, schedule_version as version from chain_orders where reference_id = $1",
    [id],
  );
  const at = Date.now();
  const actor = { ...funded.context.actor, at, requestId: newId(at) };
  await endAt("stored", (passing) => advanceOrder({ ...funded.context, actor }, seen, passing));
}

test("LTC: two withdrawals that are called paid are not sent, although one was to spend the change of the other's transaction", async (funded) => {
  const { ids, to } = await depend(funded);
  await haltRealm(funded.realm);
  await funded.node.mine(3);
  const [report] = await reconcile(funded.realm, () => Promise.resolve(true));
  deepEqual([report.obstacles, report.late, report.open, report.lifted], [[], [], [], true]);
  await follow(funded, 3);
  for (const address of to) deepEqual(await funded.held(address), []);
  for (const id of ids) equal((await funded.withdrawal(id)).status, "DONE");
});

test("LTC: a withdrawal that is called paid stays open, and is not sent, while it is not known of another whether it was paid that is to spend the change of its transaction", async (funded) => {
  const { ids, to } = await depend(funded);
  await haltRealm(funded.realm);
  await funded.node.mine(3);
  const [report] = await reconcile(
    funded.realm,
    ({ withdrawal }) => Promise.resolve(withdrawal === ids[0] ? true : null),
  );
  deepEqual([report.late, report.open.map(({ withdrawal }) => withdrawal), report.lifted], [
    [],
    [ids[1], ids[0]],
    false,
  ]);
  match(report.obstacles.join(), new RegExp(`withdrawal ${ids[0]} was called paid`));
  await follow(funded, 3);
  for (const address of to) deepEqual(await funded.held(address), []);
  const [paid] = await reconcile(funded.realm, () => Promise.resolve(true));
  deepEqual([paid.obstacles, paid.lifted], [[], true]);
  for (const id of ids) equal((await funded.withdrawal(id)).status, "DONE");
});

test("LTC: a withdrawal that is called paid is not sent, and another that was not paid, and was to spend the change of its transaction, is paid with that one's coins, once", async (funded) => {
  const { ids, to } = await depend(funded);
  const { realm, node } = funded;
  const stored = await bytesOf(funded);
  await haltRealm(realm);
  await give(funded, 2n * COIN, 4n * COIN, 9n * COIN);
  await node.mine(3);
  const [report] = await reconcile(
    realm,
    ({ withdrawal }) => Promise.resolve(withdrawal === ids[0]),
  );
  deepEqual([report.obstacles, report.late, report.open, report.lifted], [[], [], [], true]);
  equal((await funded.withdrawal(ids[0])).status, "DONE");
  const other = await pay(funded, (await newParty("LITECOIN")).address, "0.5");
  const spent = "select inputs from order_attempts where hash is not null and not dropped" +
    ` and order_id = (select order_id from withdrawals where id = '${ids[1]}')`;
  await funded.until(async () => {
    const [made] = await rowsOf<{ inputs: string[] }>(realm, spent);
    return made?.inputs.includes(stored[0].inputs[0]) === true;
  });
  // Somebody who had the bytes that were never sent from here sends them: they come too late.
  for (const { raw } of stored) await node.rpc("sendrawtransaction", raw).catch(() => {});
  const rows = await funded.ended([ids[1], other]);
  deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
  for (const { raw } of stored) {
    await rejects(node.rpc("sendrawtransaction", raw), /missing|conflict|spent/i);
  }
  await follow(funded, 3);
  deepEqual([await funded.held(to[0]), await funded.held(to[1])], [[], [COIN / 2n]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("LTC: of three withdrawals, each of which was to spend the change of the one before, the first is called paid, and the others are paid once", async (funded) => {
  const { ids, to } = await depend(funded, 3);
  const { realm, node } = funded;
  const stored = await bytesOf(funded);
  await haltRealm(realm);
  await give(funded, 9n * COIN, 8n * COIN);
  await node.mine(3);
  const [report] = await reconcile(
    realm,
    ({ withdrawal }) => Promise.resolve(withdrawal === ids[0]),
  );
  deepEqual([report.obstacles, report.open, report.lifted], [[], [], true]);
  const waits = "select from chain_orders where error like '%, which was never sent from here, %'";
  await funded.until(async () => (await rowsOf(realm, waits)).length > 0);
  const rows = await funded.ended(ids.slice(1));
  deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
  for (const { raw } of stored) {
    await rejects(node.rpc("sendrawtransaction", raw), /missing|conflict|spent/i);
  }
  await follow(funded, 3);
  const held: bigint[][] = [];
  for (const address of to) held.push(await funded.held(address));
  deepEqual(held, [[], [COIN / 2n], [COIN / 2n]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("LTC: bytes that were never sent from here, and are mined after all, leave no withdrawal without an end, and none is paid twice", async (funded) => {
  const { ids, to } = await depend(funded);
  const { realm, node } = funded;
  const stored = await bytesOf(funded);
  await haltRealm(realm);
  await give(funded, 9n * COIN);
  await node.mine(3);
  const [report] = await reconcile(
    realm,
    ({ withdrawal }) => Promise.resolve(withdrawal === ids[0]),
  );
  ok(report.lifted, JSON.stringify(report));
  const again = "select from order_attempts a join withdrawals w using (order_id)" +
    ` where w.id = '${ids[1]}' and a.raw is not null and not a.dropped and a.attempt > 1`;
  await funded.until(async () => (await rowsOf(realm, again)).length > 0);
  // A miner takes both instead of what was sent.
  const raws = stored.map(({ raw }) => raw);
  await node.rpc("generateblock", await node.rpc("getnewaddress"), raws);
  const quarantined =
    "select quarantined ->> 'detail' as detail from ramps where quarantined is not null";
  await funded.until(async () => (await rowsOf(realm, quarantined)).length > 0);
  const [{ detail }] = await rowsOf<{ detail: string }>(realm, quarantined);
  match(detail, /was given up, and was mined/);
  equal((await funded.withdrawal(ids[1])).status, "PROCESSING");
  await node.mine(3);
  const [late] = await reconcile(realm, () => fail("nobody is asked"));
  deepEqual([late.obstacles, late.lifted], [[], true], JSON.stringify(late));
  // One block has both.
  deepEqual(
    late.taken.map(({ hash, unmatched }) => [hash, unmatched]).sort(),
    [
      [stored[0].hash, []],
      [stored[1].hash, []],
    ].sort(),
  );
  await follow(funded, 3);
  deepEqual((await funded.ended(ids)).map(({ status }) => status), ["DONE", "DONE"]);
  deepEqual([await funded.held(to[0]), await funded.held(to[1])], [[COIN], [COIN / 2n]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("LTC: bytes of a withdrawal that were given up, and are mined instead of those that were made in their place and spend the same coins, pay it, once", async (ramp) => {
  const funded = await withTwoCoins(ramp);
  const { realm, node } = funded;
  const to = [(await newParty("LITECOIN")).address, (await newParty("LITECOIN")).address];
  const ids = [await pay(funded, to[0], "1")];
  ok((await crashAt(funded, "stored")).done);
  ids.push(await pay(funded, to[1], "6"));
  await signOnly(funded, ids[1]);
  const [paying, given] = await bytesOf(funded);
  ok(given.inputs.some((input) => input.startsWith(paying.hash)), "it spends the change");
  await haltRealm(realm);
  await node.mine(3);
  const [report] = await reconcile(
    realm,
    ({ withdrawal }) => Promise.resolve(withdrawal === ids[0]),
  );
  ok(report.lifted, JSON.stringify(report));
  const taken = async (raw: string, answer: () => Promise<boolean>) => {
    await node.rpc("generateblock", await node.rpc("getnewaddress"), [raw]);
    await node.mine(3);
    await funded.follow();
    const [late] = await reconcile(realm, answer);
    deepEqual([late.obstacles, late.lifted], [[], true], JSON.stringify(late));
    return late.taken.map(({ hash, unmatched }) => [hash, unmatched]);
  };
  const made = async (attempt: number): Promise<string[]> => {
    const rows = await rowsOf<{ inputs: string[] }>(
      realm,
      "select inputs from order_attempts a join withdrawals w using (order_id)" +
        ` where w.id = '${ids[1]}' and a.raw is not null and a.attempt = ${attempt}`,
    );
    return rows.flatMap(({ inputs }) => inputs);
  };
  await funded.until(async () => (await made(2)).length > 0);
  deepEqual(await taken(paying.raw, () => Promise.resolve(false)), [[paying.hash, []]]);
  await funded.until(async () => (await made(3)).length > 0);
  deepEqual((await made(3)).toSorted(), given.inputs.toSorted());
  deepEqual(await taken(given.raw, () => fail("nobody is asked")), [[given.hash, []]]);
  await follow(funded, 3);
  deepEqual((await funded.ended(ids)).map(({ status }) => status), ["DONE", "DONE"]);
  deepEqual([await funded.held(to[0]), await funded.held(to[1])], [[COIN], [6n * COIN]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("LTC: a withdrawal that is to be made anew waits while nobody knows what spent the coin of bytes that were never sent from here: it may be these", async (funded) => {
  const { ids, to } = await depend(funded);
  const { realm, node } = funded;
  const [{ inputs: [coin] }] = await bytesOf(funded);
  await haltRealm(realm);
  await give(funded, 9n * COIN);
  await node.mine(3);
  await reconcile(realm, ({ withdrawal }) => Promise.resolve(withdrawal === ids[0]));
  const spent = (by: string | null) =>
    rowsOf(
      realm,
      `update coins set spent_by = $1, spent_height = case when $1::text is null then null else 1 end
        where hash || ':' || index = $2`,
      [by, coin],
    );
  await spent("unknown");
  const errorOf =
    `select o.state, o.error from chain_orders o join withdrawals w on w.order_id = o.id
    where w.id = '${ids[1]}'`;
  for (let run = 0; run < 3; run++) await funded.advance();
  const [row] = await rowsOf<{ state: string; error: string }>(realm, errorOf);
  equal(row.state, "new");
  match(row.error, /which was never sent from here, could be mined beside it/);
  await spent(null);
  equal((await funded.ended([ids[1]]))[0].status, "DONE");
  deepEqual([await funded.held(to[0]), await funded.held(to[1])], [[], [COIN / 2n]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

/** Pays the ramp more coins, which nobody here has seen yet. */
async function give({ node, address }: UtxoRamp, ...amounts: bigint[]): Promise<void> {
  const script = (await scriptOf("LITECOIN", "regtest", address)).toHex();
  await node.pay(amounts.map((amount) => ({ script, amount })));
}

/** The bytes of both, oldest first. */
async function bytesOf({ realm }: UtxoRamp) {
  return await rowsOf<{ hash: string; raw: string; inputs: string[] }>(
    realm,
    "select hash, raw, inputs from order_attempts order by order_id",
  );
}
