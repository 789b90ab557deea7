/** Restored databases of which several withdrawals pay the same to the same address: each payment that was found counts once. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { selectUnmatchedLike } from "../../db/recovery/found_payments.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { newId } from "../../domain/ids.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import { asSuperuser } from "../support/database.ts";
import { type FundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { pay } from "../support/pending_withdrawals.ts";
import { leaveBroken, rowsOf, type TestRealm } from "../support/realm.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { advance, customer, ended, tokenDraw } from "../support/own_token.ts";
import { COIN, follow, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp("equal payments on Ethereum");
const paid = () => Promise.resolve(true);

/** What the ledger says has left for the outside and for fees of the network, in base units of ether. */
async function gone(funded: FundedRamp): Promise<{ ledger: bigint; chain: bigint }> {
  const { anvil, address } = funded;
  const left = BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
  const { world } = await funded.books();
  const [whole, part = ""] = world.replace("-", "").split(".");
  return { ledger: BigInt(whole) * ETHER + BigInt(part.padEnd(18, "0")), chain: left };
}

async function quarantineOf(realm: TestRealm): Promise<string | null> {
  const text = "select quarantined ->> 'detail' as detail from ramps";
  return (await rowsOf<{ detail: string | null }>(realm, text))[0].detail;
}

/** The database lets no payment be two withdrawals', and none be that of a withdrawal to somebody else. */
async function assertOneEach(
  realm: TestRealm,
  { other, equals: [one, two] }: { other: string; equals: readonly string[] },
): Promise<void> {
  const take = (id: string) =>
    serializable(realm.pool, (tx) =>
      tx.unsafe(
        `update withdrawals w set found_order_id = o.found_order_id, found_payment = o.found_payment
          from withdrawals o where o.id = '${one}' and w.id = '${id}'`,
      ));
  await rejects(take(two), /"withdrawals_found"/);
  await rejects(take(other), /was not paid by that/);
}

Deno.test({
  name:
    "LTC: of two equal payments in one transaction that nobody is known to have ordered, each is one withdrawal's that is called paid",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    const { realm } = funded;
    await funded.fund(5n * COIN);
    const first = await pay(funded, (await newParty("LITECOIN")).address, "1");
    await funded.advance();
    const [{ input }] = await rowsOf<{ input: string }>(realm, "select input from reserved_inputs");
    const { address } = await newParty("LITECOIN");
    const equals = [await pay(funded, address, "0.3"), await pay(funded, address, "0.3")];
    await funded.advance(); // out of the change of the first
    await funded.advance();
    const sent = "select purpose, state from chain_orders where purpose = 'batch'";
    deepEqual([...await rowsOf(realm, sent)], [{ purpose: "batch", state: "sent" }]);
    await keepRealm(realm);
    await funded.rob((await newParty("LITECOIN")).address, input);
    await funded.release();
    await funded.fund(3n * COIN);
    const rows = await funded.ended([first, ...equals]);
    deepEqual(rows.map(({ status }) => status), ["FAILED", "DONE", "DONE"]);
    equal(rows[1].chain.hash, rows[2].chain.hash);
    await restoreRealm(realm);
    await haltRealm(realm);
    await reconcile(realm);
    await follow(funded, 6);
    match((await quarantineOf(realm))!, /which was found on the chain, paid the same/);
    const asked: (string | null)[] = [];
    const [report] = await reconcile(realm, ({ like }) => {
      asked.push(like);
      return Promise.resolve(true);
    });
    ok(report.lifted, JSON.stringify(report));
    deepEqual(asked, [rows[1].chain.hash, rows[1].chain.hash]);
    await assertOneEach(realm, { other: first, equals });
    await follow(funded, 6);
    const ended = await funded.ended([first, ...equals]);
    deepEqual(ended.map(({ status, chain }) => [status, chain.hash === rows[1].chain.hash]), [
      ["FAILED", false],
      ["DONE", true],
      ["DONE", true],
    ]);
    deepEqual(await funded.held(address), [COIN * 3n / 10n, COIN * 3n / 10n]);
    await funded.agree();
  },
});

test("a found payment whose transaction failed or can never be mined is no withdrawal's", async (funded) => {
  const { realm } = funded;
  const { body: { id } } = await funded.withdraw("1");
  const [{ order }] = await rowsOf<{ order: string }>(
    realm,
    `select order_id as order from withdrawals where id = '${id}'`,
  );
  const { schema } = locationOf(realm.made.realm);
  const like = async (state: string) => {
    const found = newId(Date.now());
    // As it is stored when it was found, whatever has become of it since.
    await asSuperuser(`set session_replication_role = replica;
      insert into ${schema}.chain_orders
      select (jsonb_populate_record(o, jsonb_build_object('id', '${found}', 'purpose', 'recovered', 'state', '${state}',
        'reference_id', null, 'hash', '0x01', 'height', 1, 'created_at', now(), 'nonce', null,
        'request', jsonb_build_object('payments', jsonb_build_array(
          (o.request -> 'payments' -> 0) || '{"order": null, "withdrawal": null}'))))).*
      from ${schema}.chain_orders o where o.id = '${order}'`);
    const rows = await reading(realm.pool, (db) => selectUnmatchedLike(db, order));
    return rows.map((row) => row.order === found);
  };
  await leaveBroken(realm);
  for (const state of ["failed", "dropped", "canceled"]) deepEqual(await like(state), [], state);
  deepEqual(await like("sent"), [true]);
});

test("of two equal payments that are found after a withdrawal was called paid, one is its, and the fees bear the other", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await keepRealm(realm);
  const before = await anvil.rpc<string>("evm_snapshot");
  await funded.finish(id);
  await funded.finish((await funded.withdraw("1")).body.id);
  const sent = "select raw from order_attempts where sent_at is not null order by order_id";
  const raws = await rowsOf<{ raw: string }>(realm, sent);
  equal(raws.length, 2);
  await anvil.rpc("evm_revert", before);
  await restoreRealm(realm);
  await haltRealm(realm);
  // No node has them when the operator looks.
  const [called] = await reconcile(realm, paid);
  ok(called.lifted, JSON.stringify(called));
  const chainBefore = await gone(funded);
  for (const { raw } of raws) await anvil.rpc("eth_sendRawTransaction", raw);
  await anvil.mine(3);
  const context = { ...funded.context, actor: { ...funded.context.actor, at: Date.now() } };
  await scanNetwork(context, { chain: "ETHEREUM", network: "main" });
  await haltRealm(realm);
  const [report] = await reconcile(realm, paid);
  ok(report.lifted, JSON.stringify(report));
  deepEqual(report.taken.map(({ unmatched }) => unmatched.length), [0, 1]);
  for (let round = 0; round < 4; round++) {
    await funded.advance();
    await anvil.mine();
  }
  equal(BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest")), 2n * ETHER);
  const chainAfter = await gone(funded);
  // One ether of the world was booked when the first was called paid.
  equal(
    chainBefore.chain - chainAfter.chain,
    chainBefore.ledger - chainAfter.ledger + ETHER,
    "the chain lost what the ledger says",
  );
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a payment of a realm's own token that is found after its withdrawal was called paid is its, and no second loss", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const owner = await customer(fixture);
  await fixture.mine(3);
  const made = await tokenDraw(owner);
  equal(made.status, 201, made.text);
  await keepRealm(realm);
  const before = await anvil.rpc<string>("evm_snapshot");
  await ended(fixture, owner, made);
  const sent = "select raw from order_attempts where order_id = (select order_id from withdrawals)";
  const [{ raw }] = await rowsOf<{ raw: string }>(realm, sent);
  await anvil.rpc("evm_revert", before);
  await restoreRealm(realm);
  await haltRealm(realm);
  const [called] = await reconcile(realm, paid);
  ok(called.lifted, JSON.stringify(called));
  await anvil.rpc("eth_sendRawTransaction", raw);
  await fixture.mine(3);
  await haltRealm(realm);
  const [report] = await reconcile(realm, paid);
  ok(report.lifted, JSON.stringify(report));
  deepEqual(report.taken.map(({ unmatched }) => unmatched), [[]]);
  for (let round = 0; round < 3; round++) {
    await advance(fixture);
    await fixture.mine();
  }
  const found = "select hash from withdrawals where found_order_id is not null";
  deepEqual((await rowsOf<{ hash: string }>(realm, found)).length, 1);
  const fees =
    "select total from accounts where system = 'fees' and asset = 'GOLD_ETH' and total <> 0";
  deepEqual([...await rowsOf(realm, fees)], []);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
