/** Statements on orders, what was signed for them, and what they use up. @module */
import type { Db, Tx } from "../database.ts";

/** How far an order may be. The database holds which changes there are (order_transitions). */
export const ORDER_STATES = [
  "new",
  "joined",
  "planned",
  "signed",
  "sent",
  "mined",
  "done",
  "failed",
  "dead",
  "canceled",
] as const;
/** How far an order is. */
export type OrderState = typeof ORDER_STATES[number];

/** An order as stored. Amounts are base units as text. */
export interface OrderRow {
  id: string;
  chain: string;
  network: string;
  ramp: string;
  purpose:
    | "withdrawal"
    | "payout"
    | "sweep"
    | "child"
    | "gas"
    | "deploy"
    | "fill"
    | "consolidation"
    | "recovered";
  /** What it is for. */
  subject: string | null;
  sender: string;
  wish: Record<string, unknown>;
  /** '' is the chain's own coin. */
  contract: string;
  /** What leaves; null until planned where everything is to leave. */
  amount: string | null;
  speed: "slow" | "medium" | "fast";
  state: OrderState;
  /** The payout in whose transaction it is paid. */
  carrier: string | null;
  looks: number;
  replace: boolean;
  nonce: number | null;
  since: number | null;
  hash: string | null;
  height: number | null;
  confirmations: number;
  /** Whether the transaction did what was asked for; null while no block has it. */
  succeeded: boolean | null;
  /** The most it may cost until it is mined, then what it cost. */
  fee: string | null;
  /** What the fee is paid in; null is the chain's own coin. */
  fee_contract: string | null;
  /** What users were charged for it, in base units of `budget_contract`. */
  charged: string;
  /** The most it may cost, in base units of `budget_contract`; null: bounded by the market only. */
  budget: string | null;
  budget_contract: string | null;
  /** What it may cost, blocked on the account of its ramp, where that pays for it. */
  gas_block: string | null;
  /** The newest block seen when a user last asked for more speed. */
  hastened_at: number | null;
  /** Why it failed, where callers are told a code of its own. */
  fault: "fee_exceeded" | null;
  /** Where a deployed contract lives. */
  creates: string | null;
  error: string | null;
  created_at: number;
}

/** One transaction made for an order; without bytes while it is only planned. */
export interface CandidateRow {
  order_id: string;
  attempt: number;
  plan: string;
  claims: string[];
  hash: string | null;
  raw: string | null;
  expires: Record<string, unknown> | null;
  fee: string | null;
  sent_at: number | null;
  outcome: string | null;
  /** It moves nothing: once it is mined, nothing else of the order can be. */
  cancels: boolean;
  /** Who bears its cost where it moves nothing. */
  borne_by: "sender" | "house";
  dead: boolean;
}

/** Why nothing that was signed for an order can be mined any more. */
export interface DeathProof {
  proof: "consumed" | "expired" | "orphaned" | "unsigned";
  /** The transaction that took a claim, where the chain tells. */
  by: string | null;
  /** The height of its block. */
  height: number | null;
}

/** What a new order consists of. */
export type NewOrderRow = Pick<
  OrderRow,
  | "id"
  | "chain"
  | "network"
  | "ramp"
  | "purpose"
  | "subject"
  | "sender"
  | "wish"
  | "contract"
  | "amount"
  | "speed"
  | "nonce"
  | "charged"
  | "budget"
  | "budget_contract"
  | "gas_block"
  | "created_at"
>;

/** A sender on a chain. */
export interface SenderName {
  chain: string;
  network: string;
  sender: string;
}

/** The columns of an order. */
export const ORDER_COLUMNS = [
  "id",
  "chain",
  "network",
  "ramp",
  "purpose",
  "subject",
  "sender",
  "wish",
  "contract",
  "amount",
  "speed",
  "state",
  "carrier",
  "looks",
  "replace",
  "nonce",
  "since",
  "hash",
  "height",
  "confirmations",
  "succeeded",
  "fee",
  "fee_contract",
  "charged",
  "budget",
  "budget_contract",
  "gas_block",
  "hastened_at",
  "fault",
  "creates",
  "error",
  "created_at",
] as const;
const MADE = "order_id attempt plan claims hash expires fee sent_at outcome cancels borne_by dead"
  .split(" ");
const SIGNED = [...MADE, "raw"];

/** Adds an order. */
export async function insertOrder(tx: Tx, order: NewOrderRow): Promise<void> {
  await tx`insert into orders ${tx({ ...order, wish: tx.json(order.wish as never) })}`;
}

/** Reads an order. */
export async function selectOrder(db: Db, id: string): Promise<OrderRow | null> {
  const [row] = await db<OrderRow[]>`select ${db(ORDER_COLUMNS)} from orders where id = ${id}`;
  return row ?? null;
}

/** Reads an order and keeps others from changing it until the transaction ends. */
export async function lockOrder(tx: Tx, id: string): Promise<OrderRow | null> {
  const [row] = await tx<OrderRow[]>`
    select ${tx(ORDER_COLUMNS)} from orders where id = ${id} for update`;
  return row ?? null;
}

/** What may change of an order. */
export type OrderChange = Partial<
  Pick<
    OrderRow,
    | "state"
    | "amount"
    | "speed"
    | "replace"
    | "nonce"
    | "since"
    | "hash"
    | "height"
    | "confirmations"
    | "succeeded"
    | "fee"
    | "fee_contract"
    | "charged"
    | "budget"
    | "gas_block"
    | "hastened_at"
    | "fault"
    | "creates"
    | "error"
  >
>;

/** Changes an order. */
export async function updateOrder(tx: Tx, id: string, change: OrderChange): Promise<OrderRow> {
  const [row] = await tx<OrderRow[]>`
    update orders set ${tx(change)}, updated_at = now() where id = ${id}
    returning ${tx(ORDER_COLUMNS)}`;
  return row;
}

/** Finds the order that pays for another's transaction, unless it was canceled. */
export async function selectChild(db: Db, parent: string): Promise<string | null> {
  const [row] = await db<{ id: string }[]>`
    select id from orders where subject = ${parent} and purpose = 'child' and state <> 'canceled'`;
  return row?.id ?? null;
}

/** Makes all looks that were planned void and gives the number of the next; null when it is over. */
export async function nextLook(tx: Tx, id: string): Promise<number | null> {
  const [row] = await tx<{ looks: number }[]>`
    update orders set looks = looks + 1, looked_at = now()
    where id = ${id} and state in ('new', 'planned', 'signed', 'sent', 'mined')
    returning looks`;
  return row?.looks ?? null;
}

/** Reads the open orders that nobody has looked at for a while, at most 500. */
export async function selectForgottenOrders(tx: Tx, seconds: number): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from orders
    where state in ('new', 'planned', 'signed', 'sent', 'mined')
      and coalesce(looked_at, created_at) < now() - make_interval(secs => ${seconds})
    order by id limit 500`;
  return rows.map((row) => row.id);
}

/** Reads all that was made for an order with its bytes, oldest first; for workers. */
export async function selectCandidates(db: Db, order: string): Promise<CandidateRow[]> {
  return await db<CandidateRow[]>`
    select ${db(SIGNED)} from order_candidates where order_id = ${order} order by attempt`;
}

/**
 * Reads all that was made for an order, oldest first, without its bytes: whoever serves requests may not
 * read them, for they pay whoever sends them.
 */
export async function selectMade(db: Db, order: string): Promise<Omit<CandidateRow, "raw">[]> {
  return await db<Omit<CandidateRow, "raw">[]>`
    select ${db(MADE)} from order_candidates where order_id = ${order} order by attempt`;
}

/** Adds a plan. */
export async function insertCandidate(
  tx: Tx,
  candidate: Pick<CandidateRow, "order_id" | "attempt" | "plan" | "claims"> & {
    cancels?: boolean;
    borne_by?: CandidateRow["borne_by"];
    created_at: number;
  },
): Promise<void> {
  const { order_id, attempt, plan, claims, created_at } = candidate;
  const { cancels = false, borne_by = "sender" } = candidate;
  await tx`
    insert into order_candidates (order_id, attempt, plan, claims, cancels, borne_by, created_at)
    values (${order_id}, ${attempt}, ${plan}, ${claims}, ${cancels}, ${borne_by}, ${created_at})`;
}

/** Keeps the bytes of a plan that still stands; tells whether they are the first. */
export async function markSigned(
  tx: Tx,
  name: { order: string; attempt: number },
  signed: { hash: string; raw: string; expires: unknown; fee: string | null },
): Promise<boolean> {
  const rows = await tx`
    update order_candidates set hash = ${signed.hash}, raw = ${signed.raw}, fee = ${signed.fee},
      expires = ${signed.expires === null ? null : tx.json(signed.expires as never)}
    where order_id = ${name.order} and attempt = ${name.attempt} and raw is null and not dead
    returning attempt`;
  return rows.length > 0;
}

/** Notes that bytes are about to leave. */
export async function markSent(
  tx: Tx,
  name: { order: string; attempt: number },
  at: number,
): Promise<void> {
  await tx`
    update order_candidates set sent_at = coalesce(sent_at, ${at})
    where order_id = ${name.order} and attempt = ${name.attempt}`;
}

/** Notes what the nodes said to a broadcast. */
export async function markOutcome(
  tx: Tx,
  name: { order: string; attempt: number },
  outcome: string,
): Promise<void> {
  await tx`
    update order_candidates set outcome = ${outcome}
    where order_id = ${name.order} and attempt = ${name.attempt}`;
}

/** Notes that nothing made for an order so far can ever be mined, and what proves it. */
export async function markCandidatesDead(
  tx: Tx,
  order: string,
  { proof, by, height }: DeathProof,
): Promise<void> {
  await tx`
    update order_candidates set dead = true, proof = ${proof}, proof_by = ${by},
      proof_height = ${height}
    where order_id = ${order} and not dead`;
}

/** Reserves what a plan uses up; false where a living order has claimed some of it. */
export async function insertClaims(
  tx: Tx,
  order: Pick<OrderRow, "id" | "chain" | "network">,
  claims: readonly string[],
  at: number,
): Promise<boolean> {
  await tx`
    insert into claims (chain, network, claim, order_id, created_at)
    select ${order.chain}, ${order.network}, claim, ${order.id}, ${at}
    from unnest(${claims as string[]}::text[]) claim
    on conflict (chain, network, claim) do nothing`;
  const held = await selectClaims(tx, order.id);
  return claims.every((claim) => held.includes(claim));
}

/** Tells which of some claims are an order's. */
export async function selectClaims(db: Db, order: string): Promise<string[]> {
  const rows = await db<{ claim: string }[]>`
    select claim from claims where order_id = ${order} order by claim`;
  return rows.map((row) => row.claim);
}

/** Gives up all that an order has reserved. */
export async function deleteClaims(tx: Tx, order: string): Promise<void> {
  await tx`delete from claims where order_id = ${order}`;
}

/** Adds up what orders on their way will take of a sender, and what blocks above a height took, in base units. */
export async function sumInFlight(
  db: Db,
  of: SenderName & { contract: string },
  since: { height: number | null; waiting: boolean },
): Promise<string> {
  const [row] = await db<{ units: string }[]>`
    select (coalesce(sum(amount) filter (where contract = ${of.contract}), 0)
      + coalesce(sum(fee) filter (where coalesce(fee_contract, '') = ${of.contract}), 0)
      )::text as units
    from (
      select amount, contract, fee, fee_contract from orders
      where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
        and (state in ('planned', 'signed', 'sent') or (state = 'new' and ${since.waiting})
          or (state = 'mined' and height > ${since.height}::integer))
      union all
      select case when state = 'done' then amount end, contract, fee, fee_contract from orders
      where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
        and height > ${since.height}::integer and state in ('done', 'failed')) o`;
  return row.units;
}

/** Where in the tree of keys an address is. */
export interface LeafRow {
  number: number;
  index: number;
  address: string;
}

/** Finds the keys' places of some addresses of ours. */
export async function selectLeaves(
  db: Db,
  place: { chain: string; network: string },
  addresses: readonly string[],
): Promise<LeafRow[]> {
  return await db<LeafRow[]>`
    select r.number, a.derivation_key as index, a.address
    from addresses a join ramps r on r.account = a.ramp
    where a.chain = ${place.chain} and a.network = ${place.network}
      and a.address = any (${addresses as string[]}::text[])`;
}
