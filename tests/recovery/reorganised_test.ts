/** Chains that are reorganised after a backup, or while it is reconciled: what lost its block counts nowhere, and nothing is paid twice. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { reconcileRealm } from "../../workers/recovery/reconcile.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { openPaying } from "../support/paying_ramp.ts";
import { driftsOf, mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { COIN, follow, hurry, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";

const ETHER = 10n ** 18n;
const ignore = !hasLitecoind();

/** The same context, whose chain is reorganised once a scan has shown a payment to an address. */
function reorganisedAfter(
  context: WorkerContext,
  address: string,
  reorganise: () => Promise<void>,
): WorkerContext {
  let done = false;
  const open: typeof context.chains.open = async (place) => {
    const chain = await context.chains.open(place);
    async function* scan(...of: Parameters<typeof chain.scan>) {
      let seen = false;
      for await (const scanned of chain.scan(...of)) {
        seen ||= scanned.transfers.some(({ to }) => to === address);
        yield scanned;
      }
      if (!seen || done) return;
      done = true;
      await reorganise();
    }
    return { ...chain, scan };
  };
  const actor = { ...context.actor, at: Date.now() };
  return { ...context, actor, chains: { ...context.chains, open } };
}

Deno.test({
  name:
    "LTC: a coin at an address of the lost database whose block is lost during the reconciliation counts once it is in a block again",
  ignore,
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    const { realm, node } = funded;
    await funded.fund(5n * COIN);
    await keepRealm(realm);
    const made = await realm.admin.send("POST", `/v1/account/${funded.virtual}/address`, {});
    equal(made.status, 201, made.text);
    await realm.drain();
    const { address } = made.body.address;
    await restoreRealm(realm);
    await haltRealm(realm);
    const script = (await scriptOf("LITECOIN", "regtest", address)).toHex();
    const hash = await node.pay([{ script, amount: 2n * COIN }]);
    await node.mine();
    const context = await workerContextOf(realm);
    let lost = 0;
    const shaken = reorganisedAfter(context, address, async () => {
      await node.reorganise(1);
      lost++;
    });
    const options = { gap: 50, back: 100, answer: () => Promise.resolve(null) };
    try {
      const [report] = await reconcileRealm(shaken, options);
      deepEqual([report.obstacles, report.addresses.map((one) => one.address)], [[], [address]]);
    } finally {
      context.chains.close();
    }
    equal(lost, 1);
    await funded.follow();
    const mined = "select height from coins where hash = $1 and height is not null";
    deepEqual([...await rowsOf(realm, mined, [hash])], [], "it is in no block");
    await funded.until(async () =>
      (await rowsOf(realm, "select id from sweeps where state = 'done'")).length > 0
    );
    await hurry(realm);
    await funded.agree();
  },
});

Deno.test("a deposit that was credited and swept since the backup, and that the chain lost with its sweep, leaves nothing behind", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { id: ramp } = await fixture.ramp();
  const deposit = await fixture.address(ramp);
  await fixture.mine(3);
  await keepRealm(realm);
  const before = await anvil.rpc<string>("evm_snapshot");
  await anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp)).balance.total !== "0");
  const reached = Number(await anvil.rpc<string>("eth_blockNumber"));
  await anvil.rpc("evm_revert", before);
  await restoreRealm(realm);
  await haltRealm(realm);
  // The other branch becomes longer, with other times.
  while (Number(await anvil.rpc<string>("eth_blockNumber")) <= reached) await anvil.mine();
  await fixture.mine();
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.obstacles, report.taken], [true, [], []]);
  deepEqual(await fixture.deposits(), []);
  equal((await fixture.account(ramp)).balance.total, "0");
  await anvil.pool({ to: deposit.address, value: 2n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp)).balance.total !== "0");
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test({
  name:
    "LTC: a payment that was found and loses its block, before or after the reconciliation, is mined again and paid once",
  ignore,
  fn: async () => {
    await using funded = await openPaying();
    const { realm, node, id, to: address } = funded;
    await keepRealm(realm);
    await funded.advance();
    await node.mine(2);
    await funded.ended([id]);
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.reorganise(3);
    const waits = async () => (await node.rpc<string[]>("getrawmempool")).length > 0;
    ok(await waits(), "the payment has lost its block");
    await node.mine();
    const [report] = await reconcile(realm, () => Promise.resolve(false));
    deepEqual([report.lifted, report.obstacles, report.taken.length], [true, [], 1]);
    await node.reorganise(1);
    ok(await waits(), "and again");
    await funded.follow();
    await funded.advance();
    await follow(funded, 4);
    const [row] = await funded.ended([id]);
    deepEqual([row.status, row.chain.hash], ["DONE", report.taken[0].hash]);
    deepEqual(await funded.held(address), [COIN]);
    await funded.agree();
  },
});
