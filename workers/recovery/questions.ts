/** The questions of a reconciliation: whether withdrawals were paid that no chain shows. @module */
import { selectUnmatchedLike } from "../../db/recovery/found_payments.ts";
import { type QuarantinedRamp, selectUnsigned } from "../../db/recovery/recoveries.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import {
  type Overtaken,
  settlePaid,
  type Unsettled,
  viewOvertaken,
} from "../../domain/withdrawals/withdrawal_settlement.ts";
import type { WorkerContext } from "../worker_context.ts";

/** A withdrawal that may have been paid. */
export interface Question {
  withdrawal: string;
  chain: string;
  destination: string;
  amount: string;
  created_at: number;
  /** A transaction that was found and pays the same, but is not known to be this one's. */
  like: string | null;
}

/** An answer that came too late, and what its withdrawal is now. */
export interface LateAnswer extends Overtaken {
  withdrawal: string;
  answer: "paid" | "unpaid";
}

/** What the questions are about, and who answers them. */
export interface Asking {
  context: WorkerContext;
  place: ChainNetwork;
  ramps: readonly QuarantinedRamp[];
  options: { answer: (question: Question) => Promise<boolean | null> };
}

/** What became of the questions. */
export interface Asked {
  /** Questions without an answer, or with one that has no effect yet. */
  open: Question[];
  late: LateAnswer[];
  /** The orders that were asked about. */
  asked: Set<string>;
}

/**
 * Asks about every withdrawal that this database did not broadcast, members of an unsigned batch
 * included: a newer database may have dissolved the batch and paid each alone.
 */
export async function ask(
  { context, place, ramps, options }: Asking,
  obstacles: string[],
): Promise<Asked> {
  const ids = ramps.map(({ account }) => account);
  const orders = (await reading(context.pool, (db) => selectUnsigned(db, place, ids)))
    .filter((one) => one.purpose === "withdrawal");
  const asked: Asked = { open: [], late: [], asked: new Set(orders.map(({ id }) => id)) };
  const depended: [OrderRow, Question][] = [];
  for (const order of orders) {
    const [like] = await reading(context.pool, (db) => selectUnmatchedLike(db, order.id));
    const question = { ...questionOf(order), like: like?.hash ?? null };
    const paid = await options.answer(question);
    if (paid === null) asked.open.push(question);
    else if (!paid) {
      const now = await reading(context.pool, (db) => viewOvertaken(db, order));
      if (now !== null && now.status !== "PROCESSING") note(asked, question, "unpaid", now);
    } else {
      const unsettled = await settle(context, order);
      if (unsettled?.depended) depended.push([order, question]);
      else noteUnsettled(asked, obstacles, question, unsettled);
    }
  }
  // Those that spend its change may have been called paid as well.
  for (const [order, question] of depended.reverse()) {
    noteUnsettled(asked, obstacles, question, await settle(context, order));
  }
  return asked;
}

async function settle(context: WorkerContext, order: OrderRow): Promise<Unsettled | null> {
  return await context.step((tx) => settlePaid(tx, context.actor, order), { lockLedger: true });
}

/** Notes why a withdrawal that was called paid is not settled. Another run may have had other answers meanwhile. */
function noteUnsettled(
  asked: Asked,
  obstacles: string[],
  question: Question,
  unsettled: Unsettled | null,
): void {
  if (unsettled === null || unsettled.late === null) return;
  if (unsettled.late !== undefined) return note(asked, question, "paid", unsettled.late);
  const { withdrawal } = question;
  asked.open.push(question);
  obstacles.push(
    unsettled.early
      ? `${unsettled.early.hash}, which paid the same as withdrawal ${withdrawal}, is not final: say` +
        " that it was paid when it is"
      : `withdrawal ${withdrawal} was called paid, and its own transaction, which was never sent, has change` +
        " that other withdrawals are to spend: say of these first whether they were paid",
  );
}

function note(
  { late }: Asked,
  { withdrawal }: Question,
  answer: LateAnswer["answer"],
  now: Overtaken,
): void {
  late.push({ withdrawal, answer, ...now });
}

function questionOf(order: OrderRow): Omit<Question, "like"> {
  const [payment] = (order.request as { payments: { to: string; amount: string }[] }).payments;
  return {
    withdrawal: order.reference_id!,
    chain: order.chain,
    destination: payment.to,
    amount: payment.amount,
    created_at: order.created_at,
  };
}
