/**
 * Dry runs of orders: one node tries an order, and as many nodes as the quorum must agree where it would
 * not work.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Nodes, Peer } from "./node_pool.ts";
import type { Draft, SendRequest } from "./outgoing.ts";
import { type Heard, unconfirmed } from "./quorum.ts";

/** Message of an order that waits because nodes disagree. */
export const DISAGREED: string =
  "nodes do not agree on whether it would work: it continues once they do, or is canceled";

/**
 * Tries an order through one node. A refusal ends an order, and a lack of funds makes it wait, so as many
 * nodes as the quorum must answer so; a disagreement is reported.
 *
 * @throws {ChainError} the quorum's verdict, `held` where nodes disagree, `unavailable` where too few answer
 */
export async function agreedDryRun(
  nodes: Nodes,
  order: SendRequest,
  work: (peer: Peer) => Promise<Draft>,
): Promise<Draft> {
  const { quorum } = nodes;
  try {
    const draft = await nodes.ask(work);
    if (quorum === 1 || draft.lacking === 0n) return draft;
  } catch (error) {
    // Also for a refusal that the node invents: the quorum's verdict counts.
    if (quorum === 1 || !(error instanceof ChainError)) throw error;
  }
  const { heard, failures } = await nodes.hear(
    (peer) => work(peer).then((done) => ({ done, verdict: null }), verdictIn),
    (some) => VERDICTS.some((verdict) => group(some, verdict).length >= quorum),
  );
  const [works, lacks, fails] = VERDICTS.map((verdict) => group(heard, verdict));
  const names = (of: readonly Heard<Tried>[]) => of.map(({ peer }) => peer.name).join(", ");
  const what = `a transaction of ${order.from}${receiverOf(order)}`;
  const against = [...lacks, ...fails];
  if (works.length > 0 && against.length > 0) {
    nodes.report(`${names(against)} would not take ${what}, ${names(works)} would`);
  }
  if (works.length >= quorum) {
    nodes.trail(against.map(({ peer }) => peer));
    return works[0].answer.done!;
  }
  const agreed = [fails, lacks].find(({ length }) => length >= quorum)?.[0].answer;
  if (agreed?.done) return agreed.done;
  if (agreed) throw agreed.verdict;
  // The user learns of the disagreement, without a node's own words.
  if (works.length > 0 && against.length > 0) throw new ChainError("held", DISAGREED);
  const count = { confirm: against.length, nodes: nodes.peers.length, quorum };
  const said = against.flatMap(({ answer }) => answer.verdict ?? []);
  throw unconfirmed(count, "that it would fail", [...said.slice(0, 1), ...failures]);
}

/** One node's verdict on an order. */
interface Tried {
  readonly done: Draft | null;
  readonly verdict: ChainError | null;
}

const VERDICTS = ["works", "lacks", "fails"] as const;

function group(
  heard: readonly Heard<Tried>[],
  verdict: typeof VERDICTS[number],
): readonly Heard<Tried>[] {
  return heard.filter(({ answer: { done, verdict: against } }) => {
    if (done !== null) return verdict === (done.lacking > 0n ? "lacks" : "works");
    return verdict === (against!.fault === "insufficient" ? "lacks" : "fails");
  });
}

function verdictIn(error: unknown): Tried {
  if (isVerdict(error)) return { done: null, verdict: error };
  throw error;
}

function isVerdict(error: unknown): error is ChainError {
  return error instanceof ChainError &&
    (error.fault === "refused" || error.fault === "exceeded" || error.fault === "insufficient");
}

function receiverOf(order: SendRequest): string {
  return order.kind === "pay" ? ` to ${order.payments.map(({ to }) => to).join(", ")}` : "";
}
