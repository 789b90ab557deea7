/** Checks of external ramps: whether the exchange accepts the key, and which assets it moves. @module */
import {
  type CheckOutcome,
  type ExternalRampRow,
  selectDueRamps,
  selectExternalRamps,
  updateChecked,
} from "../../db/exchanges/external_ramps.ts";
import { selectDueTransfers } from "../../db/exchanges/ramp_transfers.ts";
import { reading } from "../../db/transaction.ts";
import { errorField } from "../../domain/errors.ts";
import { offersOf } from "../../domain/exchanges/exchange_assets.ts";
import { shareOf } from "../../domain/exchanges/external_ramps.ts";
import { findExchange } from "../../domain/exchanges/exchange_list.ts";
import { enqueueAll } from "../../domain/jobs.ts";
import { type ExchangeAccount, ExchangeError, type Exchanges } from "../exchange_gateway.ts";
import { UnreadableCredentials } from "../keys/exchange_keys.ts";
import type { WorkerContext } from "../worker_context.ts";

const READY_MS = 3_600_000;
/** Pauses after the first check in a row that the exchange refused, or that failed; each next is twice as long. */
const REFUSED_MS = 600_000;
const FAILED_MS = 60_000;
const PAUSE_MAX_MS = 3_600_000;
const DUE_MAX = 200;

/** Gives the exchanges of a context. @throws {TypeError} in a process without them */
export function exchangesOf(context: WorkerContext): Exchanges {
  if (context.exchanges !== undefined) return context.exchanges;
  throw new TypeError("this process reaches no exchange");
}

/**
 * Decrypts the credentials of an external ramp for calls to its exchange.
 *
 * @throws {UnreadableCredentials} if they cannot be decrypted
 */
export async function accountAt(
  context: WorkerContext,
  ramp: { id: string; exchange: string; owner: string },
): Promise<ExchangeAccount> {
  const store = { realm: context.realm.id, pool: context.pool };
  const credentials = await exchangesOf(context).keys.open(store, ramp.id);
  return { ...ramp, owner: `${context.realm.id}/${ramp.owner}`, credentials };
}

/** Asks the exchange of an external ramp whether it accepts the key, and stores what it moves. */
export async function checkExternalRamp(
  context: WorkerContext,
  { ramp }: { ramp: string },
): Promise<void> {
  const [row] = await reading(context.pool, (db) => selectExternalRamps(db, [ramp]));
  if (row === undefined || row.deleted_at !== null) return;
  const outcome = await outcomeOf(context, row);
  await context.step((tx) => updateChecked(tx, row, outcome, context.actor.at));
}

async function outcomeOf(context: WorkerContext, row: ExternalRampRow): Promise<CheckOutcome> {
  const { at } = context.actor;
  const name = findExchange(row.ramp)?.name ?? row.ramp;
  const failures = row.failures + 1;
  const refused = (detail: string): CheckOutcome => ({
    ...{ status: "REFUSED", assets: row.assets, error: errorField("upstream.failed", detail) },
    ...{ answered: true, failures, check_at: at + pauseOf(REFUSED_MS, failures) },
  });
  try {
    const { id, ramp: exchange, owner } = row;
    const account = await accountAt(context, { id, exchange, owner });
    const assets = offersOf(await exchangesOf(context).gateway.currencies(account));
    const check_at = at + pauseOf(READY_MS, 1);
    return { status: "READY", assets, error: null, answered: true, failures: 0, check_at };
  } catch (error) {
    if (error instanceof UnreadableCredentials) return refused(error.message);
    if (!(error instanceof ExchangeError)) throw error;
    if (error.fault === "key") return refused(`${name} refuses the key: ${error.message}`);
    const code = error.fault === "timeout" ? "upstream.timeout" : "upstream.failed";
    const failure = errorField(code, `${name}: ${error.message}`);
    // What was known goes on to hold: an exchange may be away for a while.
    const { status, assets } = row;
    const check_at = at + pauseOf(FAILED_MS, failures);
    return { status, assets, error: failure, answered: false, failures, check_at };
  }
}

/** Gives a pause of at most an hour that doubles with each failure in a row, up to a tenth shorter at random. */
function pauseOf(firstMs: number, failures: number): number {
  const pause = Math.min(PAUSE_MAX_MS, firstMs * 2 ** Math.min(failures - 1, 10));
  return Math.round(pause * (1 - Math.random() / 10));
}

/** Makes the realm's key, and schedules what is due at exchanges. */
export async function followExchanges(context: WorkerContext): Promise<void> {
  const { actor, pool, realm } = context;
  await exchangesOf(context).keys.ensureKey({ realm: realm.id, pool });
  const due = await reading(pool, async (db) => ({
    ramps: await selectDueRamps(db, actor.at, DUE_MAX),
    transfers: await selectDueTransfers(db, actor.at, DUE_MAX),
  }));
  if (due.ramps.length + due.transfers.length === 0) return;
  await context.step(async (tx) => {
    const checks = due.ramps.map((ramp) => {
      return { payload: { ramp: ramp.id }, dedupe: ramp.id, share: shareOf(ramp.owner, ramp.id) };
    });
    await enqueueAll(tx, actor, "exchange.check", checks);
    const jobs = due.transfers.map(({ id, owner, external_ramp }) => {
      return { payload: { transfer: id }, dedupe: id, share: shareOf(owner, external_ramp) };
    });
    await enqueueAll(tx, actor, "exchange.advance", jobs);
  });
}
