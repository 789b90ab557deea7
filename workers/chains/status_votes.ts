/**
 * Status of an order's transactions from the reports of several nodes. A status that ends the order
 * (mined deep enough, or dropped) needs the quorum; any other status only delays the order.
 * @module
 */
import type { Nodes, Peer } from "./node_pool.ts";
import type { DropStatus, StatusQuery, TransactionStatus } from "./outgoing.ts";
import { agreedGroupOf, groupsOf, type Heard, reachedBy } from "./quorum.ts";

/** Status of an order of which an attempt was mined. */
export type Mined = TransactionStatus & { readonly state: "mined" };
/** Status of an order of which no attempt can be mined any more. */
export type Dropped = DropStatus;

/** One node's report on an order's attempts. */
export interface NodeReport {
  /** Height of its newest block. */
  readonly height: number;
  /** Height of the newest block that it accepts as proof of a drop. */
  readonly settled: number;
  /** The attempt that the node has in a block. */
  readonly mined: Mined | null;
  /** The attempt that the node has in its mempool. */
  readonly pending: string | null;
  /** Its proof that no attempt can be mined any more. */
  readonly dropped: Dropped | null;
}

/**
 * Asks nodes for the status of an order's transactions, and combines their reports. It waits for all of
 * them, or until as many as the quorum report the same; for all where the query demands it.
 *
 * @param report asks one node
 * @returns the status, with the reports behind it
 */
export async function voteOnStatus<Report extends NodeReport>(
  nodes: Nodes,
  query: StatusQuery,
  report: (peer: Peer) => Promise<Report>,
): Promise<{ readonly status: TransactionStatus; readonly heard: readonly Heard<Report>[] }> {
  if (query.attempts.length === 0) return { status: { state: "unseen" }, heard: [] };
  const quorum = query.all === true ? nodes.peers.length : nodes.quorum;
  const { heard } = await nodes.hear(report, (some) => isSettled(some, quorum));
  const voters = { quorum, report: (what: string) => nodes.report(what) };
  return { status: combine(voters, heard, query.depth), heard };
}

/** Tells whether as many nodes as the quorum report the same; then slower nodes are not waited for. */
function isSettled(heard: readonly Heard<NodeReport>[], quorum: number): boolean {
  return agreedGroupOf(groupsOf(heard, keyOf), quorum) !== null;
}

/**
 * Key of a report. A transaction that a node has or lacks in its mempool settles nothing, so it is
 * left out.
 */
function keyOf({ mined, dropped }: NodeReport): string {
  if (mined !== null) return minedKey(mined);
  return dropped === null ? "open" : droppedKey(dropped);
}

function minedKey({ hash, block, success, fee, refund = 0n }: Mined): string {
  return `${hash} ${block.hash} ${success} ${fee} ${refund}`;
}

/** An expiry has no block of its own: each node proves it by its newest blocks, which differ. */
function droppedKey(dropped: Dropped): string {
  if (dropped.proof === "consumed") return `${dropped.by} ${dropped.height}`;
  const { expiry } = dropped;
  return "height" in expiry ? `expired at height ${expiry.height}` : `expired at ${expiry.time}`;
}

/** The drop that a group of nodes proves: an expiry at the point that the quorum has reached. */
function provenBy(group: readonly Heard<Dropped>[], quorum: number): Dropped {
  const [{ answer }] = group;
  if (answer.proof === "consumed") return answer;
  const points = group.flatMap(({ answer: one }) => one.proof === "expired" ? one.reached : []);
  return {
    ...answer,
    height: reachedBy(group.map((one) => one.answer.height), quorum),
    reached: reachedBy(points, quorum),
  };
}

/**
 * Tells whether a drop is contradicted by a node that shows the transaction in a block. An expiry proves
 * that nothing is in the chain, and nothing but the word of nodes proves that: one node that shows the
 * opposite keeps the order waiting. The spender of an input is proven by its signature, and the chain
 * keeps only one of two.
 */
function isDenied(proven: readonly Heard<Dropped>[], mined: readonly Heard<Mined>[]): boolean {
  return proven[0].answer.proof === "expired" && mined.length > 0;
}

/** Combines the reports of nodes. */
function combine(
  nodes: Pick<Nodes, "quorum" | "report">,
  heard: readonly Heard<NodeReport>[],
  depth: number,
): TransactionStatus {
  const { quorum } = nodes;
  const mined = heard.flatMap(({ peer, answer }) =>
    answer.mined ? [{ peer, answer: answer.mined }] : []
  );
  const group = agreedGroupOf(groupsOf(mined, minedKey), quorum);
  if (group !== null) {
    // The depth that the quorum confirms, not the largest that one node reports.
    const confirmations = reachedBy(group.map(({ answer }) => answer.confirmations), quorum);
    const final = group.filter(({ answer }) => answer.final).length >= quorum;
    return { ...group[0].answer, confirmations, final };
  }
  const dropped = heard.flatMap(({ peer, answer }) =>
    answer.dropped ? [{ peer, answer: answer.dropped }] : []
  );
  const proven = agreedGroupOf(groupsOf(dropped, droppedKey), quorum);
  const pending = heard.find(({ answer }) => answer.pending !== null)?.answer.pending ?? null;
  const inBlock = proven !== null && isDenied(proven, mined);
  if (proven !== null && !inBlock) return provenBy(proven, quorum);
  if (inBlock) {
    const names = mined.map(({ peer }) => peer.name).join(", ");
    nodes.report(`${names} show a transaction in a block that the others call expired`);
  }
  const denied = dropped.length > 0 &&
    heard.some(({ answer }) =>
      answer.dropped === null && answer.settled >= dropped[0].answer.height
    );
  if (denied && !inBlock && heard.length >= quorum) {
    const names = dropped.map(({ peer }) => peer.name).join(", ");
    const [{ answer: { proof, by } }] = dropped;
    nodes.report(
      proof === "expired"
        ? `only ${names} say that a transaction has expired`
        : `only ${names} say that ${by} took the place of a transaction`,
    );
  }
  const unseen = heard.filter(({ answer }) => isUnseen(answer));
  const told = mined.find(({ answer }) =>
    unseen.filter((other) => other.answer.height >= answer.block.height).length < quorum
  );
  const lacking = unseen.length > 0;
  const few = heard.filter(({ answer }) => answer.mined ?? answer.pending).length < quorum;
  // Too few nodes to settle it: it is shown and asked for again. Depth 0 would count it as settled.
  if (told !== undefined && depth > 0) return { ...told.answer, confirmations: 0, lacking };
  if (told !== undefined) return { state: "pending", hash: told.answer.hash, lacking, few };
  if (pending !== null && unseen.length < quorum) {
    return { state: "pending", hash: pending, lacking, few };
  }
  return { state: "unseen" };
}

function isUnseen({ mined, pending, dropped }: NodeReport): boolean {
  return mined === null && pending === null && dropped === null;
}
