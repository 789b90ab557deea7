/** Answers of an operator that another run of `reconcile` has overtaken. */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { paidOut } from "../support/found_payments.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;

/** A withdrawal that is asked about. */
async function asked(funded: FundedRamp): Promise<string> {
  await funded.anvil.mine(3);
  const { body: { id } } = await funded.withdraw("1");
  await haltRealm(funded.realm);
  await funded.anvil.mine(3);
  return id;
}

Deno.test("a withdrawal that was sent while an operator thought is told, and not settled, by the answer that it was paid", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  const id = await asked(funded);
  const [report] = await reconcile(realm, async () => {
    const [other] = await reconcile(realm, () => Promise.resolve(false));
    deepEqual([other.lifted, other.late], [true, []]);
    await funded.advance();
    return true;
  });
  const { chain } = await funded.read(id);
  deepEqual(report.late, [
    { withdrawal: id, answer: "paid", status: "PROCESSING", order: "sent", hash: chain.hash },
  ]);
  equal((await funded.finish(id)).status, "DONE");
  equal(await paidOut(funded), ETHER);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a withdrawal that was settled while an operator thought is told by either answer, and stays as it is", async () => {
  for (const answer of ["paid", "unpaid"] as const) {
    await using funded = await openFundedRamp();
    const { realm } = funded;
    const id = await asked(funded);
    let before = "";
    const books = async () =>
      JSON.stringify([await funded.books(), await rowsOf(realm, "select status from withdrawals")]);
    const [report] = await reconcile(realm, async () => {
      await reconcile(realm, () => Promise.resolve(true));
      before = await books();
      return answer === "paid";
    });
    deepEqual(report.late, [
      { withdrawal: id, answer, status: "DONE", order: "canceled", hash: null },
    ]);
    equal(await books(), before);
    for (let round = 0; round < 3; round++) await funded.advance();
    equal(await paidOut(funded), 0n);
  }
});
