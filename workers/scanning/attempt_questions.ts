/**
 * Questions to nodes about single attempts: whether a block has one, or whether all nodes deny what some of them, or a scan,
 * have told.
 * @module
 */
import { selectOrder } from "../../db/sending/chain_orders.ts";
import type { SeenAttempt } from "../../db/sending/late_attempts.ts";
import { selectAttempts } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { StatusQuery, TransactionStatus } from "../chains/outgoing.ts";
import { signedOf } from "../sending/signing.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Where nodes are asked. */
export interface AttemptSearch {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly place: ChainNetwork;
}

/** Heights around one without a block whose blocks prove by their links that it has none. */
const AROUND = 64;

/** An order, and the question to nodes about one of its attempts. */
export interface Asked {
  readonly order: OrderRow;
  readonly query: StatusQuery;
}

/** Makes the question to nodes about an attempt, by its order. */
export async function questionOf(
  { context, chain, place }: AttemptSearch,
  { hash, height, order: id }: SeenAttempt,
): Promise<Asked> {
  const { order, attempts } = await reading(context.pool, async (db) => ({
    order: (await selectOrder(db, id))!,
    attempts: await selectAttempts(db, id),
  }));
  const signed = signedOf(attempts.find((one) => one.hash === hash)!);
  const depth = context.chains.depth({ chain: chain.id, testnet: place.network !== "main" });
  // What was found on the chain was not planned here: its block is not searched below the one that had it.
  const since = Math.min(order.since ?? height, height);
  return { order, query: { attempts: [signed], since, depth } };
}

/** Whether no node has an attempt in a block: all deny it, and the block that a scan saw is read without it. */
export async function isGone(
  work: AttemptSearch,
  seen: SeenAttempt,
  { order, query }: Asked,
  isDenied: (status: TransactionStatus) => boolean,
): Promise<boolean> {
  const status = await work.chain.status({ ...query, all: true });
  if (!isDenied(status)) return false;
  return await isReadWithout(work, seen, {
    signer: order.sender,
    inputs: query.attempts[0].inputs,
  });
}

/**
 * Reads a block whole, and tells whether a transaction is not in it. Where the height has no block now, those around it
 * prove that by their links, and are read too.
 *
 * @param of.agreed whether it is in it by the word of as many nodes as the quorum alone
 * @throws {ChainError} `unavailable` where nodes do not show it any more
 */
export async function isReadWithout(
  { chain }: AttemptSearch,
  { hash, height }: Pick<SeenAttempt, "hash" | "height">,
  of: { signer: string; inputs: readonly string[]; agreed?: boolean },
): Promise<boolean> {
  const contracts = new Set<string>();
  const watch = { addresses: new Set([of.signer]), inputs: new Set(of.inputs), contracts };
  const head = await chain.head();
  for (const around of [0, AROUND]) {
    const to = Math.min(head.height, height + around);
    let below = false;
    let above = false;
    const by = around === 0 ? "blocks" : undefined;
    const blocks = chain.scan(Math.max(0, height - around), to, watch, by);
    for await (const { block, consumed } of blocks) {
      const shown = consumed.filter(({ few }) => !few || !of.agreed);
      if (shown.some((one) => one.hash === hash)) return false;
      below ||= block.height <= height;
      above ||= block.height >= height;
    }
    if (below && above) return true;
  }
  throw new ChainError("unavailable", `nodes do not show block ${height}: add one that keeps it`);
}

/** Whether as many nodes as the quorum show it in a block that is as deep as a payment must be, and final. */
export function isFinal(
  { traits }: Chain,
  status: TransactionStatus,
  { depth }: StatusQuery,
): status is TransactionStatus & { state: "mined" } {
  return status.state === "mined" && status.final &&
    status.confirmations >= (traits.finalOnly ? 1 : depth);
}

/** Whether nodes prove that it can never be mined. */
export function isDropped({ state }: TransactionStatus): boolean {
  return state === "dropped";
}

/** Whether no node has it in a block: what does not expire may be mined later, and is found anew then. */
export function isUnmined({ state }: TransactionStatus): boolean {
  return state !== "mined";
}
