/**
 * What several nodes together say of the fate of an order. What ends it, a mined transaction deep
 * enough or a death, needs the quorum; all else only delays.
 * @module
 */
import type { Nodes, Peer } from "./node_pool.ts";
import type { Fate, FateQuery } from "./outgoing.ts";
import { campOf, campsOf, type Heard, reachedBy } from "./quorum.ts";

/** What one node knows of an order's transactions. */
export interface Testimony {
  /** Of its newest block. */
  readonly height: number;
  /** Up to where it would tell of a proof of death. */
  readonly settled: number;
  /** The one that it has in a block. */
  readonly mined: (Fate & { readonly state: "mined" }) | null;
  /** The one that it has in its mempool. */
  readonly pending: string | null;
  /** Its proof that none can be mined any more. */
  readonly dead: (Fate & { readonly state: "dead" }) | null;
}

/**
 * Asks nodes what became of an order's transactions, and combines their reports. It waits for all of
 * them, or until as many as the quorum say the same.
 *
 * @param report asks one node
 * @returns the status, with the reports that it rests on
 */
export async function voteOnStatus<Report extends Testimony>(
  nodes: Nodes,
  query: FateQuery,
  report: (peer: Peer) => Promise<Report>,
): Promise<{ readonly status: Fate; readonly heard: readonly Heard<Report>[] }> {
  if (query.candidates.length === 0) return { status: { state: "unseen" }, heard: [] };
  const { heard } = await nodes.hear(report, (some) => isSettled(some, nodes.quorum));
  return { status: judge(nodes, heard, query.depth), heard };
}

/** Tells whether as many nodes as the quorum say the same, so that slower ones need not be waited for. */
function isSettled(heard: readonly Heard<Testimony>[], quorum: number): boolean {
  return campOf(campsOf(heard, keyOf), quorum) !== null;
}

/** What waits in a pool, or does not, settles nothing either way. */
function keyOf({ mined, dead }: Testimony): string {
  if (mined !== null) return minedKey(mined);
  return dead === null ? "open" : deadKey(dead);
}

function minedKey({ hash, block, success, fee }: Fate & { readonly state: "mined" }): string {
  return `${hash} ${block.hash} ${success} ${fee}`;
}

function deadKey({ by, height }: Fate & { readonly state: "dead" }): string {
  return `${by} ${height}`;
}

/** Combines the reports of nodes. */
function judge(
  nodes: Pick<Nodes, "quorum" | "report">,
  heard: readonly Heard<Testimony>[],
  depth: number,
): Fate {
  const { quorum } = nodes;
  const mined = heard.flatMap(({ peer, answer }) =>
    answer.mined ? [{ peer, answer: answer.mined }] : []
  );
  const camp = campOf(campsOf(mined, minedKey), quorum);
  if (camp !== null) {
    // As deep as the quorum says, not as deep as the one that says most.
    const confirmations = reachedBy(camp.map(({ answer }) => answer.confirmations), quorum);
    const final = camp.filter(({ answer }) => answer.final).length >= quorum;
    return { ...camp[0].answer, confirmations, final };
  }
  const dead = heard.flatMap(({ peer, answer }) =>
    answer.dead ? [{ peer, answer: answer.dead }] : []
  );
  const death = campOf(campsOf(dead, deadKey), quorum);
  const pending = heard.find(({ answer }) => answer.pending !== null)?.answer.pending ?? null;
  if (death !== null) return death[0].answer;
  const deny = dead.length > 0 &&
    heard.some(({ answer }) => answer.dead === null && answer.settled >= dead[0].answer.height);
  if (deny && heard.length >= quorum) {
    const names = dead.map(({ peer }) => peer.name).join(", ");
    nodes.report(`only ${names} say that ${dead[0].answer.by} took the place of a transaction`);
  }
  const unseen = heard.filter(({ answer }) => isUnseen(answer));
  const told = mined.find(({ answer }) =>
    unseen.filter((other) => other.answer.height >= answer.block.height).length < quorum
  );
  const lacking = unseen.length > 0;
  const few = heard.filter(({ answer }) => answer.mined ?? answer.pending).length < quorum;
  // Too few to settle it: shown, and looked at again. Depth 0 would take it for settled.
  if (told !== undefined && depth > 0) return { ...told.answer, confirmations: 0, lacking };
  if (told !== undefined) return { state: "pending", hash: told.answer.hash, lacking, few };
  if (pending !== null && unseen.length < quorum) {
    return { state: "pending", hash: pending, lacking, few };
  }
  return { state: "unseen" };
}

function isUnseen({ mined, pending, dead }: Testimony): boolean {
  return mined === null && pending === null && dead === null;
}
