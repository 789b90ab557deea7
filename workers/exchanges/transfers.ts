/**
 * Carries transfers between exchanges and accounts on. The mark that an exchange is asked is stored
 * before it is asked, and it is asked once: after a crash, or an answer that is lost, what became of
 * it is looked up at the exchange.
 * @module
 */
import {
  lockRampTransfer,
  type RampTransferRow,
  selectRampTransfer,
} from "../../db/exchanges/ramp_transfers.ts";
import { selectWithdrawal } from "../../db/withdrawals/withdrawals.ts";
import { reading } from "../../db/transaction.ts";
import { DomainError, type ErrorCode } from "../../domain/errors.ts";
import {
  followDeposit,
  markAsking,
  noteAsking,
  noteEnd,
} from "../../domain/exchanges/deposit_progress.ts";
import {
  DOUBTFUL,
  failTransfer,
  followWithdraw,
  putOffTransfer,
  type TransferFailure,
  waitFor,
} from "../../domain/exchanges/transfer_progress.ts";
import { matchEnd } from "../../domain/exchanges/transfer_ends.ts";
import { payExchange } from "../../domain/exchanges/transfer_payment.ts";
import { trim } from "../../domain/money.ts";
import { type ExchangeAccount, ExchangeError, type ExchangeFault } from "../exchange_gateway.ts";
import { UnreadableCredentials } from "../keys/exchange_keys.ts";
import type { WorkerContext } from "../worker_context.ts";
import { accountAt, exchangesOf } from "./checks.ts";

/** Places at which a worker may end, for tests. */
export type TransferCheckpoint = "looked up" | "asking" | "asked" | "noted";
/** Told of each checkpoint. */
export type OnTransferCheckpoint = (at: TransferCheckpoint) => void | Promise<void>;

/** How long the exchange is looked up after it was asked, before a person is waited for. */
const FIND_MS = 15 * 60_000;
/** How long a transfer may wait before anything is done for it. */
const BEGIN_MS = 24 * 3_600_000;
/** How far back an exchange is looked up before the transfer was made: its clock may differ. */
const MARGIN_MS = 120_000;
/** Failures of a call by which an exchange did nothing. */
const UNDONE: ReadonlySet<ExchangeFault> = new Set<ExchangeFault>(["key", "refused", "unasked"]);
const UNASKED = "the exchange was asked for nothing";
/** Refusals of a withdrawal that pass by themselves. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "chain.stale",
  "chain.quarantined",
  "rate.limited",
  "stop.active",
  "service.overloaded",
  "account.frozen",
  "asset.suspended",
]);

/** Carries a transfer on by what can be done now; the rest is scheduled. */
export async function advanceTransfer(
  context: WorkerContext,
  { transfer }: { transfer: string },
  onCheckpoint: OnTransferCheckpoint = () => {},
): Promise<void> {
  const row = await reading(context.pool, (db) => selectRampTransfer(db, transfer));
  if (row === null || row.state === "done" || row.state === "failed") return;
  await context.step((tx) => putOffTransfer(tx, context.actor, row.id));
  if (row.kind === "withdraw" && row.doubtful && row.withdrawal === null) {
    await context.step(async (tx) => {
      const now = await lockRampTransfer(tx, row.id);
      if (now?.state === "new") await waitFor(tx, context.actor, now, DOUBTFUL);
    });
    return;
  }
  const work = { context, row, onCheckpoint };
  try {
    const { external_ramp: id, exchange, owner } = row;
    const account = await accountAt(context, { id, exchange, owner });
    if (row.kind === "deposit") await advanceDeposit({ ...work, account });
    else await advanceWithdraw({ ...work, account });
  } catch (error) {
    if (error instanceof ExchangeError) await noteFailure(work, error);
    else if (error instanceof UnreadableCredentials) {
      await noteFailure(work, new ExchangeError("key", error.message));
    } else if (!(error instanceof DomainError)) throw error;
    else if (!PASSING.has(error.code)) {
      await fail(work, { code: error.code, detail: error.message });
    }
  }
}

/**
 * Logs a failed call. A transfer that nothing was done for yet fails where the exchange refuses to
 * name an address, and after a day: value is not blocked for an exchange that is away. Any other is carried on by what
 * is known here: the exchange may be away for ever.
 */
async function noteFailure(work: CarriedTransfer, error: ExchangeError): Promise<void> {
  const { context, row } = work;
  const { message, fault } = error;
  context.log("warn", "exchange", {
    ...{ transfer: row.id, ramp: row.external_ramp, fault, reason: message },
  });
  if (row.state !== "new") return await followAlone(work);
  const refuses = row.kind === "withdraw" && UNDONE.has(fault);
  if (!(refuses || isLate(work))) return;
  if (row.doubtful) return await leaveUnclear(work, DOUBTFUL); // a newer database may have asked
  const code = fault === "timeout" ? "upstream.timeout" : "upstream.failed";
  await fail(work, { code, detail: `${UNASKED}: ${message}` });
}

/** Carries on what was asked for, or paid, where the exchange cannot be asked. */
async function followAlone(work: CarriedTransfer): Promise<void> {
  const { context, row } = work;
  const { actor } = context;
  if (row.state === "asking") {
    if (actor.at - row.asked_at! <= BEGIN_MS) return;
    return await leaveUnclear(
      work,
      "the exchange was asked, its answer is lost, and it could not be asked since",
    );
  }
  await context.step(
    (tx) =>
      row.kind === "deposit"
        ? followDeposit(tx, actor, row.id)
        : followWithdraw(tx, actor, row.id, []),
    { lockLedger: true },
  );
}

function isLate({ context, row }: CarriedTransfer): boolean {
  return context.actor.at - row.created_at > BEGIN_MS;
}

/** One transfer that is carried on. */
interface CarriedTransfer {
  context: WorkerContext;
  row: RampTransferRow;
  onCheckpoint: OnTransferCheckpoint;
}

/** One transfer, and the account at its exchange. */
interface TransferWork extends CarriedTransfer {
  account: ExchangeAccount;
}

async function advanceDeposit(work: TransferWork): Promise<void> {
  const { context, row, onCheckpoint } = work;
  const { actor } = context;
  const { gateway } = exchangesOf(context);
  const ends = await gateway.withdrawals(work.account, historyOf(row));
  await onCheckpoint("looked up");
  const known = row.reference ?? row.claimed;
  if (known !== null) {
    const end = ends.find(({ marked }) => marked && row.reference === null) ??
      ends.find(({ reference }) => reference === known);
    if (end !== undefined) {
      await context.step((tx) => noteEnd(tx, actor, row.id, end));
    }
    await context.step((tx) => followDeposit(tx, actor, row.id), { lockLedger: true });
    return;
  }
  const found = await context.step((tx) => matchEnd(tx, row, ends));
  if (found === "later") return;
  if (found === "several") {
    await leaveUnclear(
      work,
      "the exchange shows payments of which it cannot be told whether they are it",
    );
  } else if (found !== null) {
    await context.step(async (tx) => {
      await noteAsking(tx, actor, row.id);
      await noteEnd(tx, actor, row.id, found);
    });
  } else if (row.state === "new" && row.doubtful) {
    await leaveUnclear(work, DOUBTFUL);
  } else if (row.state === "new" && isLate(work)) {
    const detail = "the exchange was not asked within a day";
    await fail(work, { code: "upstream.timeout", detail });
  } else if (row.state === "new") {
    await askToPay(work);
  } else if (row.state === "asking" && actor.at - row.asked_at! > FIND_MS) {
    await leaveUnclear(
      work,
      "the exchange was asked, its answer is lost, and it does not show the payment",
    );
  }
}

/** Lets a deposit wait for a person, unless it does already; it is not asked for any more. */
async function leaveUnclear({ context, row }: CarriedTransfer, why: string): Promise<void> {
  await context.step(async (tx) => {
    const now = await noteAsking(tx, context.actor, row.id);
    if (now?.state === "asking") await waitFor(tx, context.actor, now, why);
  });
}

/** Asks the exchange to pay, once. */
async function askToPay(work: TransferWork): Promise<void> {
  const { context, row, onCheckpoint } = work;
  const { actor } = context;
  const asked = await context.step((tx) => markAsking(tx, actor, row.id));
  if (asked === null) return;
  await onCheckpoint("asking");
  const payment = {
    currency: row.currency,
    network: row.exchange_network,
    address: row.address!,
    amount: trim(row.value),
    mark: markOf(row),
  };
  try {
    const end = await exchangesOf(context).gateway.withdraw(work.account, payment);
    await onCheckpoint("asked");
    await context.step((tx) => noteEnd(tx, actor, row.id, end));
    await onCheckpoint("noted");
  } catch (error) {
    if (!(error instanceof ExchangeError && UNDONE.has(error.fault))) throw error;
    const why = error.fault === "unasked" ? UNASKED : "the exchange refuses it";
    await fail(work, { code: "upstream.failed", detail: `${why}: ${error.message}` });
  }
}

async function advanceWithdraw({ context, row, account }: TransferWork): Promise<void> {
  const { actor, pool } = context;
  const { gateway, settings } = exchangesOf(context);
  if (row.withdrawal === null) {
    const of = { currency: row.currency, network: row.exchange_network };
    const named = await gateway.depositAddress(account, of);
    await context.step(
      (tx) => payExchange(tx, actor, { id: row.id, named, settings }),
      { lockLedger: true },
    );
    return;
  }
  const made = await reading(pool, (db) => selectWithdrawal(db, row.withdrawal!));
  const isSent = made?.status === "DONE";
  const ends = isSent ? await gateway.deposits(account, historyOf(row)) : [];
  await context.step((tx) => followWithdraw(tx, actor, row.id, ends), { lockLedger: true });
}

async function fail(
  { context, row }: Pick<TransferWork, "context" | "row">,
  failure: TransferFailure,
): Promise<void> {
  await context.step(async (tx) => {
    const now = await lockRampTransfer(tx, row.id);
    if (now === null || (now.state !== "new" && now.state !== "asking")) return;
    await failTransfer(tx, context.actor, now, failure);
  }, { lockLedger: true });
}

function historyOf(row: RampTransferRow) {
  return { currency: row.currency, since: row.created_at - MARGIN_MS, mark: markOf(row) };
}

/** Our id of a payment in the letters and digits that every exchange takes. */
function markOf({ id }: RampTransferRow): string {
  return id.replaceAll("-", "");
}
