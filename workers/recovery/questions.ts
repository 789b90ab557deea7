/** The questions of a reconciliation: whether withdrawals were paid that no chain shows. @module */
import { selectUnmatchedLike } from "../../db/recovery/found_payments.ts";
import { type QuarantinedRamp, selectUnsigned } from "../../db/recovery/recoveries.ts";
import { selectGivenUpHashes } from "../../db/sending/unsent_bytes.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import {
  type Overtaken,
  settlePaid,
  type Unsettled,
  viewOvertaken,
} from "../../domain/withdrawals/withdrawal_settlement.ts";
import type { Chain } from "../chains/chain.ts";
import type { WorkerContext } from "../worker_context.ts";

/** A withdrawal that may have been paid. */
export interface Question {
  withdrawal: string;
  chain: string;
  destination: string;
  amount: string;
  created_at: number;
  /**
   * A transaction that was found and pays the same, but is not known to be this one's; or one of its own that was
   * given up, and is in a block all the same.
   */
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
  chain: Pick<Chain, "locate">;
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
  /** Whether orders may have lost the transaction whose change they spend. */
  orphaned: boolean;
}

/**
 * Asks about every withdrawal that this database did not broadcast, members of an unsigned batch
 * included: a newer database may have dissolved the batch and paid each alone.
 */
export async function ask(
  asking: Asking,
  obstacles: string[],
): Promise<Asked> {
  const { context, place, ramps, options } = asking;
  const ids = ramps.map(({ account }) => account);
  const orders = (await reading(context.pool, (db) => selectUnsigned(db, place, ids)))
    .filter((one) => one.purpose === "withdrawal");
  const asked: Asked = {
    ...{ open: [], late: [], orphaned: false },
    asked: new Set(orders.map(({ id }) => id)),
  };
  const depended: [OrderRow, Question][] = [];
  const unpaid = new Set<string>();
  for (const order of orders) {
    const [like] = await reading(context.pool, (db) => selectUnmatchedLike(db, order.id));
    const question = { ...questionOf(order), like: like?.hash ?? await minedOf(asking, order) };
    const paid = await options.answer(question);
    if (paid === null) asked.open.push(question);
    else if (!paid) {
      unpaid.add(order.id);
      const now = await reading(context.pool, (db) => viewOvertaken(db, order));
      if (now !== null && now.status !== "PROCESSING") note(asked, question, "unpaid", now);
    } else {
      asked.orphaned = true;
      const unsettled = await settle(context, order);
      if (unsettled?.depended) depended.push([order, question]);
      else noteUnsettled(asked, obstacles, question, unsettled);
    }
  }
  // Those that spend its change have an answer by now: called paid as well, they are not sent; else they are made anew.
  for (const [order, question] of depended.reverse()) {
    noteUnsettled(asked, obstacles, question, await settle(context, order, unpaid));
  }
  return asked;
}

/** A transaction of an order's own that was given up, and is in a block by a node's word. */
async function minedOf({ context, chain }: Asking, order: OrderRow): Promise<string | null> {
  const hashes = await reading(context.pool, (db) => selectGivenUpHashes(db, order.id));
  for (const hash of hashes) if ((await chain.locate(hash)).state === "mined") return hash;
  return null;
}

async function settle(
  context: WorkerContext,
  order: OrderRow,
  unpaid?: ReadonlySet<string>,
): Promise<Unsettled | null> {
  return await context.step((tx) => settlePaid(tx, context.actor, order, unpaid), {
    lockLedger: true,
  });
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
        " that other withdrawals are to spend: say of these too whether they were paid",
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
