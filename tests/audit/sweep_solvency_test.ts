/** Chain and ledger are compared at every step of deposits and sweeps. */
import { deepEqual, equal } from "node:assert/strict";
import { newId } from "../../domain/ids.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;
const ROUNDS = 20;

for (const kind of ["coins", "an honest token", "a token that keeps a part"]) {
  Deno.test(`from the deposit to the end of its sweep nothing drifts at any step: ${kind}`, async () => {
    await using fixture = await openRampFixture({ testnet: false });
    const code = kind === "coins" ? "ETH" : "USDC";
    const token = await installToken(fixture.anvil, "USDC");
    const ramp = await fixture.ramp(code);
    const virtual = await made(fixture, { type: "virtual", asset: code, ramp: ramp.id });
    const deposit = await fixture.address(virtual);
    if (kind.startsWith("a token")) await token.become("Taxed");
    if (code !== "ETH") {
      await fixture.anvil.pool({ to: ramp.address, value: ETHER });
      await token.pay(deposit.address, 100n * USDC);
    } else await fixture.anvil.pool({ to: deposit.address, value: 2n * ETHER });
    const context = await workerContextOf(fixture.realm);
    const agree = (step: string) => assertLevel(fixture, context, step);
    const swept = async () =>
      (await rowsOf(fixture.realm, "select 1 from sweeps where state = 'done'")).length > 0;
    for (let round = 0; !await swept() && round < ROUNDS; round++) {
      await fixture.anvil.mine();
      await agree(`block ${round}`);
      await fixture.poller.advance();
      await agree(`scanned ${round}`);
      await refreshFees(context);
      await advance(fixture, context, agree);
      await agree(`looked ${round}`);
      await fixture.realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
      await fixture.realm.drain();
      await agree(`done ${round}`);
    }
    equal(await swept(), true);
    context.chains.close();
  });
}

async function made(fixture: RampFixture, body: Record<string, unknown>): Promise<string> {
  const answer = await fixture.realm.admin.send("POST", "/v1/accounts", body);
  equal(answer.status, 201, answer.text);
  await fixture.realm.drain();
  return answer.body.id;
}

async function assertLevel(
  fixture: RampFixture,
  context: WorkerContext,
  step: string,
): Promise<void> {
  await checkSolvency(now(context));
  const { body } = await fixture.realm.admin.send("GET", "/v1/solvency");
  const drifts = body.map(({ asset, drift }: Record<string, string>) => [asset, drift]);
  deepEqual([step, drifts], [step, drifts.map(([asset]: [string]) => [asset, "0"])]);
}

async function advance(
  fixture: RampFixture,
  context: WorkerContext,
  onCheckpoint: (step: string) => Promise<void>,
): Promise<void> {
  const orders = await rowsOf<{ order: string; version: number }>(
    fixture.realm,
    `select id as order, schedule_version as version from chain_orders
      where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
  );
  for (const seen of orders) await advanceOrder(now(context), seen, onCheckpoint);
}

function now(context: WorkerContext): WorkerContext {
  const at = Date.now();
  return { ...context, actor: { ...context.actor, at, requestId: newId(at) } };
}
