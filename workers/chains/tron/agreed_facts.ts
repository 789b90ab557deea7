/**
 * What decides a payment on Tron, as as many nodes as the quorum tell it. One node alone must not decide it: a
 * transaction fails, and burns TRX all the same, that it counted too little energy for; one to a receiver that it calls
 * activated costs several times its plan; and what it hides of a receiver would be lost.
 * @module
 */
import { ChainError } from "../chain.ts";
import { DISAGREED } from "../dry_run.ts";
import type { Nodes, Peer } from "../node_pool.ts";
import type { Draft, SendRequest } from "../outgoing.ts";
import { type Heard, reachedBy } from "../quorum.ts";
import type { TriedCall } from "./calls.ts";

/** What a node tells of an order that it would take. */
export interface Facts {
  /** Base units that leave, all that is held where everything does; null where none do. */
  readonly amount: bigint | null;
  /** Sun that the sender holds. */
  readonly held: bigint;
  /** Whether the payment makes its receiver's account. */
  readonly isNew: boolean;
  /** The run of its contract; null for a payment of TRX. */
  readonly tried: TriedCall | null;
}

/** How an order is examined through a node, and priced by what was told. */
export interface Drafting {
  examine(peer: Peer): Promise<Facts>;
  draft(facts: Facts): Draft;
}

/**
 * Drafts an order by what as many nodes as the quorum tell of it. Where that would not do, as many of them must say so
 * each by itself: of two nodes that differ the dearer one counts, and would alone have the order fail.
 *
 * @throws {ChainError} the quorum's verdict, and `held` where nodes disagree
 */
export async function draftTogether(
  nodes: Nodes,
  order: SendRequest,
  { examine, draft }: Drafting,
): Promise<Draft> {
  const told = await willing(nodes, order, examine);
  const disagreed = () => {
    const names = told.map(({ peer }) => peer.name).join(", ");
    nodes.report(`${names} contradict each other on a transaction of ${order.from}`);
    return new ChainError("held", DISAGREED);
  };
  const facts = told.map(({ answer }) => answer);
  const agreed = agreedOf(facts, nodes.quorum);
  // Dust of a stranger makes nodes differ for a moment: it does not double what is there.
  const { amount } = agreed;
  const near = facts.filter((one) => amount === null || one.amount! <= 2n * amount);
  if (near.length < nodes.quorum) throw disagreed();
  try {
    return draft(agreed);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    const alike = facts.filter((one) => faultOf(draft, one) === error.fault);
    throw alike.length >= nodes.quorum ? error : disagreed();
  }
}

/** Gives what nodes tell that would take an order: as many as the quorum. */
async function willing(
  nodes: Nodes,
  order: SendRequest,
  examine: Drafting["examine"],
): Promise<Heard<Facts>[]> {
  const { heard } = await nodes.hear(
    (peer) => examine(peer).catch(verdictIn),
    (some) => {
      const against = some.filter(({ answer }) => answer instanceof ChainError).length;
      return Math.max(against, some.length - against) >= nodes.quorum;
    },
  );
  const told = heard.flatMap(({ peer, answer }) =>
    answer instanceof ChainError ? [] : [{ peer, answer }]
  );
  const against = heard.flatMap(({ answer }) => answer instanceof ChainError ? answer : []);
  if (told.length > 0 && against.length > 0) {
    const names = heard.flatMap(({ peer, answer }) =>
      answer instanceof ChainError ? peer.name : []
    );
    nodes.report(`${names.join(", ")} would not take a transaction of ${order.from}, others would`);
  }
  const verdicts = against.filter(({ fault }) => fault !== "held");
  if (verdicts.length >= nodes.quorum) throw verdicts[0];
  if (against.length >= nodes.quorum) throw against.find(({ fault }) => fault === "held");
  if (told.length < nodes.quorum && against.length > 0) throw new ChainError("held", DISAGREED);
  if (told.length < nodes.quorum) {
    throw new ChainError("unavailable", `only ${told.length} nodes tell whether it would work`);
  }
  return told;
}

/** Combines what nodes tell. Of two counts of energy the higher one holds, of three the middle. */
function agreedOf(facts: readonly Facts[], quorum: number): Facts {
  const triedBy = facts.flatMap(({ tried }) => tried ?? [])
    .toSorted((one, other) => one.energy < other.energy ? 1 : -1);
  const amounts = facts.flatMap(({ amount }) => amount ?? []);
  return {
    amount: amounts.length === 0 ? null : reachedBy(amounts, quorum),
    held: reachedBy(facts.map(({ held }) => held), quorum),
    isNew: facts.filter(({ isNew }) => !isNew).length < quorum,
    tried: triedBy[Math.floor((triedBy.length - 1) / 2)] ?? null,
  };
}

function faultOf(draft: Drafting["draft"], facts: Facts): ChainError["fault"] | null {
  try {
    draft(facts);
    return null;
  } catch (error) {
    if (error instanceof ChainError) return error.fault;
    throw error;
  }
}

function verdictIn(error: unknown): ChainError {
  const isVerdict = error instanceof ChainError &&
    (error.fault === "refused" || error.fault === "insufficient" || error.fault === "held");
  if (isVerdict) return error;
  throw error;
}
