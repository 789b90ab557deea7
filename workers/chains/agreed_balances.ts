/**
 * Balances that a quorum of nodes agrees on, for chains whose nodes tell the balance of an address.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Nodes, Peer } from "./node_pool.ts";
import { agreedGroupOf, groupsOf, type Heard, heldAtLeast, unconfirmed } from "./quorum.ts";
import type { Balances, Holding } from "./observations.ts";

/** Reads balances through one node, at a height or at the head. */
export type BalancesOf = (
  peer: Peer,
  holdings: readonly Holding[],
  height: number | null,
) => Promise<Balances>;

/**
 * Reads the amounts that as many nodes as the quorum confirm at least, and their block.
 *
 * @throws {ChainError} `refused` if the quorum answers that a contract reports no balance
 */
export async function agreedFunds(
  nodes: Nodes,
  holdings: readonly Holding[],
  balancesOf: BalancesOf,
): Promise<Balances> {
  const { heard } = await nodes.hear((peer) => orRefusal(balancesOf(peer, holdings, null)));
  const refusals = refusalsIn(heard);
  const told = toldIn(heard).map(({ answer }) => answer);
  if (refusals.length >= nodes.quorum) throw refusals[0];
  if (told.length === 0) throw new ChainError("unavailable", refusals[0].message);
  return heldAtLeast(told, nodes.quorum);
}

/** What one node tells, or that a contract reports no balance. */
interface Answer<T> {
  readonly told: T | null;
  readonly refusal: ChainError | null;
}

/** Makes a refusal an answer: that of one node alone decides nothing. */
async function orRefusal<T>(asked: Promise<T>): Promise<Answer<T>> {
  try {
    return { told: await asked, refusal: null };
  } catch (error) {
    if (!(error instanceof ChainError) || error.fault !== "refused") throw error;
    return { told: null, refusal: error };
  }
}

function toldIn<T>(heard: readonly Heard<Answer<T>>[]): Heard<T>[] {
  return heard.flatMap(({ peer, answer: { told } }) =>
    told === null ? [] : [{ peer, answer: told }]
  );
}

function refusalsIn(heard: readonly Heard<Answer<unknown>>[]): ChainError[] {
  return heard.flatMap(({ answer: { refusal } }) => refusal ?? []);
}

/**
 * Reads a balance that as many nodes as the quorum agree on.
 *
 * @throws {ChainError} as {@link agreedBalances}
 */
export async function agreedBalance(
  nodes: Nodes,
  holding: Holding,
  height: number,
  balancesOf: BalancesOf,
): Promise<bigint> {
  return (await agreedBalances(nodes, [holding], height, balancesOf))[0];
}

/**
 * Reads balances, on each of which as many nodes as the quorum agree.
 *
 * @throws {ChainError} `refused` if the nodes contradict each other, or the quorum answers that a contract reports no
 *   balance; `unavailable` if too few answer
 */
export async function agreedBalances(
  nodes: Nodes,
  holdings: readonly Holding[],
  height: number,
  balancesOf: BalancesOf,
): Promise<bigint[]> {
  const { quorum } = nodes;
  const ask = async (peer: Peer) => {
    const told = await balancesOf(peer, holdings, height);
    if (told.height === height) return told.amounts;
    throw new ChainError("unavailable", `${peer.name} has no balances at block ${height} any more`);
  };
  const { heard: answers, failures } = await nodes.hear(
    (peer) => orRefusal(ask(peer)),
    (some) => Math.max(toldIn(some).length, refusalsIn(some).length) >= quorum,
  );
  const heard = toldIn(answers);
  const refusals = refusalsIn(answers);
  if (heard.length < quorum && refusals.length >= quorum) throw refusals[0];
  const names = heard.map(({ peer }) => peer.name).join(", ");
  return holdings.map(({ address }, at) => {
    const what = `the balance of ${address} at block ${height}`;
    const groups = groupsOf(heard, (amounts) => `${amounts[at]}`);
    const group = agreedGroupOf(groups, quorum);
    if (groups.length > 1) nodes.report(`${names} contradict each other on ${what}`);
    if (group !== null) return group[0].answer[at];
    if (groups.length > 1) throw new ChainError("refused", `${names} contradict each other`);
    const count = { confirm: heard.length, nodes: nodes.peers.length, quorum };
    throw unconfirmed(count, what, [...refusals, ...failures]);
  });
}
