/** What the sender works with, and how what is planned gets its signature. @module */
import { insertChange } from "../db/coins.ts";
import {
  lockOrder,
  markSigned,
  selectCandidates,
  selectLeaves,
  selectOrder,
  updateOrder,
} from "../db/orders.ts";
import { reading } from "../db/transaction.ts";
import type { Network } from "../domain/addresses.ts";
import { type CandidateRow, isOpen, type OrderRow } from "../domain/orders.ts";
import type { Bench } from "./bench.ts";
import type { Chain } from "./chains/chain.ts";
import { type Plan, readPlan, type Signed } from "./chains/order.ts";
import type { ChainPlace } from "./chains/registry.ts";

/** The places between two steps of an order, in their order. */
export const STEPS = [
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
/** A place between two steps. */
export type Step = typeof STEPS[number];

/** Told of each place that is passed; tests end the work there. */
export type Crossing = (step: Step) => void | Promise<void>;

/** What carrying an order on takes. */
export interface OrderWork {
  readonly bench: Bench;
  readonly chain: Chain;
  readonly place: ChainPlace;
  readonly crossing: Crossing;
}

/**
 * Signs what is planned and stores the bytes. Of two who sign at once the first to store wins.
 *
 * @returns the order as it is then; null if it has ended meanwhile
 */
export async function signPending(work: OrderWork, order: OrderRow): Promise<OrderRow | null> {
  const { bench, crossing } = work;
  const all = await reading(bench.pool, (db) => selectCandidates(db, order.id));
  const pending = all.find((one) => one.raw === null && !one.dead);
  if (pending === undefined) return order;
  const plan = readPlan(pending.plan);
  const signed = await sign(work, order, plan);
  await crossing("signed");
  const stored = await bench.step(async (tx) => {
    const current = await lockOrder(tx, order.id);
    if (current === null || !isOpen(current)) return null;
    const first = await markSigned(tx, { order: order.id, attempt: pending.attempt }, {
      hash: signed.hash,
      raw: signed.raw,
      expires: signed.expires,
      fee: signed.fee === undefined ? null : `${signed.fee}`,
    });
    if (first && plan.change !== null) {
      await insertChange(tx, {
        chain: order.chain,
        network: order.network,
        hash: signed.hash,
        index: plan.change.index,
        address: plan.change.to,
        ramp: order.ramp,
        amount: `${plan.change.amount}`,
        parent_fee: `${plan.fee}`,
        parent_vsize: plan.vsize ?? null,
        created_at: bench.actor.at,
      });
    }
    if (current.state !== "planned") return current;
    return await updateOrder(tx, order.id, { state: "signed", hash: signed.hash });
  });
  await crossing("stored");
  return stored ?? await reading(bench.pool, (db) => selectOrder(db, order.id));
}

async function sign({ bench, chain }: OrderWork, order: OrderRow, plan: Plan): Promise<Signed> {
  const rows = await reading(bench.pool, (db) => selectLeaves(db, order, plan.signers));
  const network = order.network as Network;
  const leaves = rows.map((row) => ({ chain: chain.id, network, ...row }));
  const vault = { realm: bench.realm.id, pool: bench.pool };
  return await bench.signer.lend(vault, leaves, (keys) => chain.sign(plan, keys));
}

/** Reads stored bytes as the chain takes them. */
export function signedOf(candidate: CandidateRow): Signed {
  return {
    hash: candidate.hash!,
    raw: candidate.raw!,
    claims: candidate.claims,
    expires: candidate.expires as Signed["expires"],
    ...(candidate.fee === null ? {} : { fee: BigInt(candidate.fee) }),
  };
}
