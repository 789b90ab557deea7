/** Gas that was sent ahead for sweeps of a customer's own token which are found on the chain. */
import { deepEqual, equal, fail, ok } from "node:assert/strict";
import { lockOrder } from "../../db/sending/chain_orders.ts";
import { renewOrder, scheduleOrder } from "../../domain/sending/chain_orders.ts";
import { fromUnits } from "../../domain/money.ts";
import { signCall } from "../support/evm_by_hand.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { sharingFixture } from "../support/kept_ramps.ts";
import { CALLS } from "../support/nodes/anvil.ts";
import { customer, ended, tokenDraw, total, units } from "../support/own_token.ts";
import { driftsOf, mineUntil, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const nobody = () => fail("nobody is asked");
const OPEN = `select from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined')
  union all select from sweeps where state not in ('done', 'failed')`;
const AMOUNT = 50n * 10n ** 6n;

/** A customer with a token of its own, and an address for deposits of it. */
async function openOwn(fixture: RampFixture) {
  const mine = await customer(fixture);
  const { realm } = fixture;
  await ended(fixture, mine, await tokenDraw(mine, "100"));
  await mineUntil(fixture, async () => (await rowsOf(realm, OPEN)).length === 0);
  const made = await mine.user.send("POST", "/v1/accounts", { type: "virtual", asset: "GOLD_ETH" });
  await realm.drain();
  const given = await mine.user.send("POST", `/v1/account/${made.body.id}/address`, {});
  equal(given.status, 201, given.text);
  await realm.drain();
  const { address } = given.body.address;
  const before = await total(fixture, mine.ramp);
  return {
    mine,
    virtual: made.body.id as string,
    address: address as string,
    before,
  };
}

/** The token lies at the address, and waits for its gas. */
interface Owed extends Awaited<ReturnType<typeof openOwn>> {
  readonly fixture: RampFixture;
}

const ground = sharingFixture("sweeps of a customer's own token", {
  ...{ testnet: false, prepare: openOwn },
  // Gas waits for its depth for longer than a sweep takes.
  env: { ETHEREUM_CONFIRMATIONS: "6" },
});

function test(title: string, work: (owed: Owed) => Promise<void>): void {
  ground(title, async ({ made, ...fixture }) => {
    const data = CALLS.encodeFunctionData("transfer", [made.address, AMOUNT]);
    await fixture.anvil.pool({ from: 5, to: made.mine.contract, data });
    await work({ fixture, ...made });
  });
}

/**
 * Waits for the end of all; the ramp's account has paid for the gas that was sent ahead, and nothing else.
 *
 * @param drift of the coins, where the test took some away
 */
async function assertPaidOnce(
  { fixture, mine, virtual, before }: Owed,
  drift = "0",
): Promise<void> {
  const { realm } = fixture;
  await mineUntil(fixture, async () => (await rowsOf(realm, OPEN)).length === 0);
  await fixture.mine(7);
  equal(await total(fixture, virtual), "50");
  deepEqual(await driftsOf(fixture), [["ETH", drift], ["GOLD_ETH", "0"]]);
  const [{ spent }] = await rowsOf<{ spent: string }>(
    realm,
    "select sum(fee + amount)::text as spent from chain_orders where purpose = 'gas' and state = 'done'",
  );
  equal(units(before) - units(await total(fixture, mine.ramp)), BigInt(spent));
}

async function rampOf(fixture: RampFixture, ramp: string): Promise<string> {
  return (await fixture.account(ramp)).ramp.address;
}

test("a sweep of a customer's own token that is found on the chain before its gas has ended is booked once, and the gas costs its fee", async (owed) => {
  const { fixture, mine, address } = owed;
  const { realm, anvil } = fixture;
  const mined = "select from chain_orders where purpose = 'gas' and state = 'mined'";
  await mineUntil(fixture, async () => (await rowsOf(realm, mined)).length > 0);
  const held = BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
  const context = await workerContextOf(realm);
  const to = await rampOf(fixture, mine.ramp);
  const call = { to: mine.contract, data: CALLS.encodeFunctionData("transfer", [to, AMOUNT]) };
  const gasLimit = BigInt(
    await anvil.rpc<string>("eth_estimateGas", { from: address, ...call, gasPrice: "0x0" }),
  );
  const prices = { maxFeePerGas: held / gasLimit, maxPriorityFeePerGas: 1n };
  const raw = await signCall({ realm, context, address }, { ...call, gasLimit, ...prices });
  context.chains.close();
  const hash = await anvil.rpc<string>("eth_sendRawTransaction", raw);
  await anvil.mine();
  await haltRealm(realm);
  const [report] = await reconcile(realm, nobody);
  deepEqual(report.taken.map((one) => [one.hash, one.purpose]), [[hash, "sweep"]]);
  equal((await rowsOf(realm, mined)).length, 1, "the gas has not ended");
  await mineUntil(fixture, async () => (await reconcile(realm, nobody)).every((one) => one.lifted));
  await assertPaidOnce(owed);
});

/** Has the sweep mined that was given up, while another one of its account is sent. */
async function mineLate({ fixture }: Owed) {
  const { realm, anvil } = fixture;
  const sent =
    "select id as order, hash from chain_orders where purpose = 'sweep' and contract <> '' and state = 'sent'";
  await mineUntil(fixture, async () => (await rowsOf(realm, sent)).length > 0);
  const [first] = await rowsOf<{ order: string; hash: string }>(realm, sent);
  const [{ raw }] = await rowsOf<{ raw: string }>(
    realm,
    `select raw from order_attempts where hash = '${first.hash}'`,
  );
  await anvil.rpc("anvil_dropAllTransactions");
  const actor = { ...realm.admin.actor, at: Date.now() };
  const proof = { proof: "consumed", by: `0x${"ab".repeat(32)}`, height: 1 } as const;
  await realm.command(async (tx) => {
    await renewOrder(tx, actor, (await lockOrder(tx, first.order))!, proof);
    await scheduleOrder(tx, actor, first.order);
  });
  await anvil.mine(); // at another price
  for (let round = 0; (await rowsOf(realm, sent)).length === 0; round++) {
    ok(round < 10, "it is sent again");
    await realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
    await realm.drain();
  }
  await anvil.rpc("anvil_dropAllTransactions");
  await anvil.rpc("eth_sendRawTransaction", raw);
  await anvil.mine(70);
  await fixture.poller.advance();
  const [report] = await reconcile(realm, nobody);
  deepEqual(report.taken.map((one) => [one.hash, one.purpose]), [[first.hash, "sweep"]]);
  equal((await rowsOf(realm, "select from sweeps where beside")).length, 1);
  await mineUntil(fixture, async () => (await reconcile(realm, nobody)).every((one) => one.lifted));
}

test("a sweep of a customer's own token that is mined late beside another costs no more than the gas that was sent ahead", async (owed) => {
  await mineLate(owed);
  await assertPaidOnce(owed);
});

test("a sweep of a customer's own token beside which a late one left neither tokens nor gas is canceled, for gas that its ramp pays for", async (owed) => {
  const { fixture: { realm, anvil }, address } = owed;
  await mineLate(owed);
  const left = BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
  await anvil.rpc("anvil_setBalance", address, "0x0");
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '20 minutes'");
  await assertPaidOnce(owed, fromUnits(-left, 18));
  deepEqual(
    await rowsOf(
      realm,
      "select purpose, state from chain_orders where purpose in ('gas', 'sweep') order by id",
    ),
    [
      { purpose: "gas", state: "done" },
      { purpose: "sweep", state: "failed" },
      { purpose: "sweep", state: "done" },
      { purpose: "gas", state: "done" },
    ],
  );
});
