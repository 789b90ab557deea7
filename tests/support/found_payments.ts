/**
 * Payments of an EVM ramp that a lost database has sent: the restored one finds them on the chain, which may lose
 * their blocks.
 * @module
 */
import { deepEqual } from "node:assert/strict";
import { type PlaceReport, type Question } from "../../workers/recovery/reconcile.ts";
import { type FundedRamp, OUTSIDE } from "./evm_fixture.ts";
import { haltRealm, reconcile, restoreRealm } from "./installation.ts";
import { rowsOf, type TestRealm } from "./realm.ts";

/** Reconciles, and says of every withdrawal that it was not paid; gives the questions too. */
export async function answered(
  realm: TestRealm,
): Promise<{ report: PlaceReport; asked: Question[] }> {
  const asked: Question[] = [];
  const [report] = await reconcile(realm, (question) => {
    asked.push(question);
    return Promise.resolve(false);
  });
  return { report, asked };
}

/** What the sender's next transaction is signed as, which nothing here knows after that: the database is put back. */
export async function signElsewhere(
  funded: FundedRamp,
  ask: () => Promise<unknown> = () => Promise.resolve(),
): Promise<string> {
  const { realm, anvil } = funded;
  await ask();
  await funded.advance();
  const sent = "select raw from order_attempts where sent_at is not null order by attempt desc";
  const [{ raw }] = await rowsOf<{ raw: string }>(realm, sent);
  await anvil.rpc("anvil_dropAllTransactions");
  await restoreRealm(realm);
  return raw;
}

/** Puts the chain back, and mines something else in longer a branch. */
export async function reorganise(
  { anvil }: Pick<FundedRamp, "anvil">,
  to: string,
  raws: readonly string[],
): Promise<void> {
  const reached = Number(await anvil.rpc<string>("eth_blockNumber"));
  await anvil.rpc("evm_revert", to);
  await anvil.rpc("anvil_dropAllTransactions");
  for (const raw of raws) await anvil.rpc("eth_sendRawTransaction", raw);
  while (Number(await anvil.rpc<string>("eth_blockNumber")) <= reached) await anvil.mine();
}

/** What the receiver of the withdrawals holds. */
export async function paidOut({ anvil }: FundedRamp): Promise<bigint> {
  return BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
}

/**
 * Has a payment be found in the newest block, whose bytes the database has not, and then the chain lose that block.
 *
 * @returns the report that found it
 */
export async function foundAndLost(
  funded: Pick<FundedRamp, "realm" | "anvil">,
  raw: string,
): Promise<PlaceReport> {
  const { realm, anvil } = funded;
  const before = await anvil.rpc<string>("evm_snapshot");
  await anvil.rpc("eth_sendRawTransaction", raw);
  await anvil.mine();
  await haltRealm(realm);
  const { report } = await answered(realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  await reorganise(funded, before, []);
  return report;
}
