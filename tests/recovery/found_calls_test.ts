/** Calls by a key of ours that nothing here makes: what they paid is what nodes tell, or keeps the quarantine. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { toUnits } from "../../domain/money.ts";
import { until } from "../support/eventually.ts";
import { signCall } from "../support/evm_by_hand.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { answered, paidOut } from "../support/found_payments.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { CALLS } from "../support/nodes/anvil.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { rowsOf } from "../support/realm.ts";
import { openTestPoller } from "../support/scan_steps.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp("calls on Ethereum by a key of ours");
const TRACE = "debug_traceTransaction";

/** Has a contract pay each of some addresses, called by the ramp's key with a value; its block is final. */
async function payInside(
  funded: FundedRamp,
  to: readonly string[],
  { each = ETHER, value, contract }: { each?: bigint; value: bigint; contract: string },
): Promise<string> {
  const { anvil } = funded;
  const data = CALLS.encodeFunctionData("payCoin", [to, each]);
  const raw = await signCall(funded, { to: contract, value, data });
  const hash = await anvil.rpc<string>("eth_sendRawTransaction", raw);
  await anvil.mine(3);
  return hash;
}

/**
 * The ledger is sound, and holds what lies at our addresses, to the last unit; and the 10 ETH of the virtual account,
 * which came from nowhere: a scan has found those of the ramp.
 */
async function agree(funded: FundedRamp): Promise<void> {
  const { realm, anvil } = funded;
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  const owned = await rowsOf<{ address: string }>(realm, "select address from addresses");
  let held = 0n;
  for (const { address } of owned) {
    held += BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
  }
  equal(-toUnits((await funded.books()).world, 18) - 10n * ETHER, held);
}

/** Follows the order of a transaction that was found until it has ended. */
async function settle(funded: FundedRamp): Promise<void> {
  const open = "select from chain_orders where purpose = 'recovered' and state <> 'done'";
  for (let round = 0; (await rowsOf(funded.realm, open)).length > 0; round++) {
    ok(round < 10, "it ends");
    await funded.advance();
    await funded.anvil.mine();
  }
}

test("a call of ours that forwards its coins to the destination of a withdrawal has paid it, and costs what left, once", async (funded) => {
  const { realm, anvil } = funded;
  const contract = await anvil.deploy("Batcher");
  const { body: { id } } = await funded.withdraw("1");
  const hash = await payInside(funded, [OUTSIDE], { value: 2n * ETHER, contract });
  await haltRealm(realm);
  const { report, asked } = await answered(realm);
  deepEqual([report.lifted, report.obstacles, asked], [true, [], []]);
  const [{ paid, unmatched, calls }] = report.taken;
  deepEqual([paid.length, calls], [1, contract]);
  deepEqual(unmatched, [{ to: contract, contract: null, amount: `${ETHER}` }]);
  const row = await funded.finish(id);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await settle(funded);
  equal(await paidOut(funded), ETHER);
  await agree(funded);
});

test("a call of ours that has a contract pay a withdrawal of what it was funded with earlier is asked about, and costs nothing twice", async (funded) => {
  const { realm, anvil } = funded;
  const contract = await anvil.deploy("Batcher");
  await anvil.send({ to: contract, value: 3n * ETHER });
  const { body: { id } } = await funded.withdraw("1");
  const hash = await payInside(funded, [OUTSIDE], { value: 0n, contract });
  await haltRealm(realm);
  const [found] = await reconcile(realm);
  deepEqual(found.taken, [{
    hash,
    purpose: "recovered",
    paid: [],
    calls: contract,
    unmatched: [],
  }]);
  deepEqual(found.open.map(({ withdrawal, like }) => [withdrawal, like]), [[id, hash]]);
  await settle(funded);
  const [called] = await reconcile(realm, () => Promise.resolve(true));
  deepEqual([called.lifted, called.obstacles], [true, []]);
  const row = await funded.read(id);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  equal(await paidOut(funded), ETHER);
  ok(toUnits((await funded.books()).fees, 18) > 99n * ETHER / 100n, "the house has paid it before");
  await agree(funded);
});

test("a withdrawal that was called paid, and that a contract paid of what it was funded with earlier, is found to be paid by that, and booked no further", async (funded) => {
  const { realm, anvil } = funded;
  const contract = await anvil.deploy("Batcher");
  await anvil.send({ to: contract, value: 3n * ETHER });
  const { body: { id } } = await funded.withdraw("1");
  await haltRealm(realm);
  const [called] = await reconcile(realm, () => Promise.resolve(true));
  deepEqual([called.lifted, (await funded.read(id)).status], [true, "DONE"]);
  const { fees } = await funded.books();
  const hash = await payInside(funded, [OUTSIDE], { value: 0n, contract });
  await haltRealm(realm);
  const [found] = await reconcile(realm);
  deepEqual([found.lifted, found.obstacles, found.open], [true, [], []]);
  deepEqual(found.taken.map(({ unmatched }) => unmatched), [[]]);
  await settle(funded);
  equal((await funded.read(id)).chain.hash, hash);
  equal(await paidOut(funded), ETHER);
  const gas = toUnits(fees, 18) - toUnits((await funded.books()).fees, 18);
  ok(gas > 0n && gas < ETHER / 100n, `its gas and no more: ${gas}`);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("a call of ours that took the place of what was sent for a withdrawal, and paid it inside, ends it", async (funded) => {
  const { realm, anvil } = funded;
  const contract = await anvil.deploy("Batcher");
  const { body: { id } } = await funded.withdraw("1");
  const sent = "select from order_attempts where outcome is not null";
  await until(async () => {
    if ((await rowsOf(realm, sent)).length > 0) return true;
    await funded.advance();
    return false;
  }, 0);
  await anvil.rpc("anvil_dropAllTransactions");
  const hash = await payInside(funded, [OUTSIDE], { value: ETHER, contract });
  await funded.advance();
  const detail =
    "select from ramps where quarantined ->> 'detail' like '%took the place of order%'";
  equal((await rowsOf(realm, detail)).length, 1);
  const { report, asked } = await answered(realm);
  deepEqual([report.lifted, report.obstacles, asked], [true, [], []]);
  const row = await funded.finish(id);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await settle(funded);
  equal(await paidOut(funded), ETHER);
  await agree(funded);
});

test("a call of ours that pays an address of ours inside brings a deposit, which the house bears", async (funded) => {
  const { realm, anvil, account } = funded;
  using poller = openTestPoller(realm);
  await poller.follow();
  const given = await realm.admin.send("POST", `/v1/account/${account}/address`, {});
  await realm.drain();
  const { address } = given.body.address;
  const contract = await anvil.deploy("Batcher");
  await poller.follow();
  await payInside(funded, [address], { value: 2n * ETHER, contract });
  await poller.follow();
  await haltRealm(realm);
  const { report } = await answered(realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  await settle(funded);
  await poller.follow(2);
  const deposits = "select status, trim_scale(credited)::text as credited from deposits";
  deepEqual([...await rowsOf(realm, deposits)], [
    { status: "CONFIRMED", credited: "10" },
    { status: "CONFIRMED", credited: "1" },
  ]);
  await agree(funded);
});

Deno.test("a call of ours keeps the quarantine while too few nodes tell what it moved, or one of them lies", async () => {
  const nodes: FaultyNode[] = [];
  const front = (url: string) => {
    nodes.push(startFaultyNode(url), startFaultyNode(url));
    return nodes.map((one) => one.url).join();
  };
  try {
    await using funded = await openFundedRamp({ front });
    const { realm, anvil } = funded;
    const contract = await anvil.deploy("Batcher");
    await anvil.send({ to: contract, value: 3n * ETHER });
    const { body: { id } } = await funded.withdraw("1");
    const hash = await payInside(funded, [OUTSIDE], { value: 0n, contract });
    await haltRealm(realm);
    const fees = "select from accounts where system = 'fees' and total <> 0";
    const kept = async () => {
      const { report, asked } = await answered(realm);
      deepEqual([report.lifted, report.taken, asked, report.open], [false, [], [], []]);
      deepEqual([...await rowsOf(realm, fees)], []);
      return report.obstacles.join();
    };
    nodes[1].trick = ({ method }) => {
      if (method === TRACE) throw new NodeError(-32601, "the method is not available");
      return undefined;
    };
    match(await kept(), /does not tell the calls inside it \(debug_traceTransaction\): add nodes/);
    nodes[1].trick = () => undefined;
    nodes[1].retell = (said) =>
      JSON.parse(JSON.stringify(said).replaceAll(OUTSIDE.toLowerCase(), contract.toLowerCase()));
    match(await kept(), new RegExp(`1 of 2 nodes confirm what ${hash} moved, 2 must`));
    nodes[1].retell = (said) => said;
    const [found] = await reconcile(realm);
    deepEqual(found.open.map(({ withdrawal, like }) => [withdrawal, like]), [[id, hash]]);
  } finally {
    for (const one of nodes) await one.abort();
  }
});
