/**
 * Context in which a worker advances an order: its chain, the handlers of the purposes, and the
 * schedule version under which it may write.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import { lockOrder } from "../../db/sending/chain_orders.ts";
import type { CoinRow } from "../../db/sending/utxos.ts";
import type { LedgerTx, OptionsFor, TransactionOptions, TxFor } from "../../db/transaction.ts";
import type { Actor } from "../../domain/actor.ts";
import type { DropProof, OrderRow } from "../../domain/sending/chain_orders.ts";
import { isOpen } from "../../domain/sending/order_states.ts";
import type { Chain } from "../chains/chain.ts";
import type { Plan } from "../chains/outgoing.ts";
import type { ConfiguredNetwork } from "../chains/registry.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Points between two steps of an order, in the order in which a run passes them. */
export const CHECKPOINTS = [
  "drafted",
  "planned",
  "signed",
  "stored",
  "sending",
  "broadcast",
  "seen",
  "ending",
  "settled",
] as const;
/** A point between two steps of an order. */
export type Checkpoint = typeof CHECKPOINTS[number];

/** Called at each checkpoint; tests interrupt the run there. */
export type OnCheckpoint = (checkpoint: Checkpoint) => void | Promise<void>;

/** Coins from which the inputs of a plan are taken; `perInput` is the cost of spending one. */
export interface InputScope {
  readonly chain: string;
  readonly network: string;
  readonly address: string;
  /** The newest block. */
  readonly head: number;
  /** Coins of blocks up to this height are deep enough. */
  readonly settled: number;
  /** Base units as text. */
  readonly perInput: string;
}

/**
 * Hooks of the orders of one purpose. A hook that is left out does nothing. The hooks are properties, not
 * methods, whose parameters TypeScript would compare both ways: one that needs the ledger lock compiles in `settle` alone.
 */
export interface OrderHandler {
  /** Plans one transaction for it and others that wait beside it; null where it goes alone. */
  readonly planBatch?: (
    work: OrderWork,
    order: OrderRow,
  ) => Promise<{ readonly order: OrderRow } | null>;
  /** Locks the coins that its plan may spend; left out, the largest free ones of its sender. */
  readonly selectInputs?: (tx: Tx, order: OrderRow, scope: InputScope) => Promise<CoinRow[]>;
  /**
   * Checks a plan and records its figures, in the transaction that stores it.
   *
   * @throws {ChainError} `refused`
   */
  readonly admitPlan?: (tx: Tx, actor: Actor, order: OrderRow, plan: Plan) => Promise<void>;
  /** Whether it fails where it cannot be planned now; others wait, for funds for example. */
  readonly failsUnplanned?: boolean;
  /** Whether it fails where it was signed before and its sender holds too little now: the next one takes what there is. */
  readonly failsEmptied?: boolean;
  /** Whether users ask for its speed-up; others are replaced automatically when they are stuck. */
  readonly spedUpByUser?: boolean;
  /** Whether its payment goes to the ramp's own address, so that a child can pay for it. */
  readonly paysRamp?: boolean;
  /** Whether it ends when it is dropped; others restart where the reason may pass. */
  readonly endsDropped?: boolean;
  /**
   * Gives it up where it is dropped, so that it neither ends by itself nor restarts. Gives the reason why its
   * ramp is in quarantine for that; null where it is not.
   */
  readonly giveUp?: (
    tx: Tx,
    actor: Actor,
    order: OrderRow,
    proof: DropProof,
  ) => Promise<string | null>;
  /** Records that its transaction or its block changed. */
  readonly progress?: (tx: Tx, actor: Actor, order: OrderRow) => Promise<void>;
  /** Books its end, in the transaction that records the end and holds the ledger lock. */
  readonly settle: (tx: LedgerTx, actor: Actor, order: OrderRow) => Promise<void>;
}

/** The handler of each purpose. */
export type OrderHandlers = Readonly<Record<OrderRow["purpose"], OrderHandler>>;

/** The parameters of advancing an order. */
export interface OrderWork {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly place: ConfiguredNetwork;
  readonly handlers: OrderHandlers;
  readonly onCheckpoint: OnCheckpoint;
  /** The run: once another version is scheduled, it may write nothing. */
  readonly turn: Turn;
}

/** An order, and the version of its schedule that a run belongs to. */
export interface Turn {
  readonly order: string;
  readonly version: number;
}

/** Another run was scheduled, or the order has ended: this run may write nothing more. */
export class Outdated extends Error {
  override readonly name = "Outdated";
}

/**
 * Runs one step of a run under the order's row lock.
 *
 * @throws {Outdated} if another run was scheduled; nothing is written then
 */
export async function stepInTurn<T, Locked extends boolean = false>(
  { context, turn }: Pick<OrderWork, "context" | "turn">,
  work: (tx: TxFor<Locked>, order: OrderRow) => Promise<T>,
  ...options: OptionsFor<Locked, TransactionOptions<Locked>>
): Promise<T> {
  return await context.step<T, Locked>(
    async (tx) => await work(tx, await lockInTurn(tx, turn)),
    ...options,
  );
}

/**
 * Locks the order of a run.
 *
 * @throws {Outdated} if another run was scheduled
 */
export async function lockInTurn(tx: Tx, turn: Turn): Promise<OrderRow> {
  const current = await lockOrder(tx, turn.order);
  if (current === null || current.schedule_version !== turn.version || !isOpen(current)) {
    throw new Outdated(`run ${turn.version} of order ${turn.order} is outdated`);
  }
  return current;
}
