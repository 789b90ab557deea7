/**
 * Merges scans of the same blocks by as many nodes as the quorum. The quorum decides which blocks exist.
 * Transfers that all of them report are kept; transfers that only some report are asked of all nodes
 * again, so no single node hides or invents one.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Nodes, Peer } from "./node_pool.ts";
import { agreedGroupOf, groupsOf, type Heard, unconfirmed, type Witness } from "./quorum.ts";
import type { Checked, Consumed, Scanned, Transfer, WatchList } from "./observations.ts";

/** One node's report on a block. */
export interface Told extends Scanned {
  /** Inputs whose use is proven: the consumer bears the signature of the input's own address. */
  readonly proven: ReadonlySet<string>;
  /**
   * True if its bloom filter permits a log that concerns us, and the node reported none; false on chains
   * without such filters.
   */
  readonly doubtful: boolean;
}

/** Functions that read blocks from one node, and a transfer from all. */
export interface Readers {
  /** Reads all blocks of a short range. */
  part(peer: Peer): Promise<Told[]>;
  /** Reads some of these blocks by their logs alone. */
  logs(peer: Peer, blocks: readonly Told[]): Promise<Transfer[]>;
  /** Asks the quorum for a transfer; null if it says that there is none. */
  recheck(transfer: Transfer): Promise<Checked | null>;
}

/** One node's report on the transfers of a part. */
interface Teller {
  readonly peer: Witness;
  /** By their keys. */
  readonly transfers: ReadonlyMap<string, Transfer>;
}

/** Disputed transfers of a part that are asked for at once; a node may invent any number. */
const ASKED_AT_ONCE = 64;
/** Disputed transfers of a part that may stay open; with more of them the part is read again later. */
const OPEN_MAX = 64;

/** Reads the blocks of a part. */
export async function mergedPart(
  nodes: Nodes,
  watch: WatchList,
  readers: Readers,
  what: string,
): Promise<Scanned[]> {
  const { quorum } = nodes;
  const { heard, failures } = await nodes.few(readers.part, isClear);
  const groups = groupsOf(heard, idsOf);
  const group = agreedGroupOf(groups, quorum);
  if (group === null) {
    const count = { confirm: groups[0].length, nodes: nodes.peers.length, quorum };
    throw unconfirmed(count, what, failures);
  }
  nodes.trail(groups.filter((one) => one !== group).flat().map(({ peer }) => peer));
  const late = watch.addresses.size === 0 ? [] : await fromOthers(nodes, heard, group, readers);
  const disputed = disputesOf(group.map(tellerOf), late);
  const borne = await judged(nodes, disputed, readers, what);
  if (disputed.transfers.length > 0) {
    const names = group.map(({ peer }) => peer.name).join(", ");
    nodes.report(`nodes contradict each other on the transfers in ${what} (asked: ${names})`);
  }
  return group[0].answer.map((first, at) => {
    const versions = group.map(({ answer }) => answer[at]);
    const keys = versions.map(({ transfers }) => new Set(transfers.map(keyOf)));
    const agreed = first.transfers.filter((one) => keys.every((known) => known.has(keyOf(one))));
    const more = borne.filter(({ block }) => block?.hash === first.block.hash);
    return {
      block: first.block,
      transfers: distinct([...agreed, ...more]),
      consumed: consumedOf(nodes, versions),
    };
  });
}

function tellerOf({ peer, answer }: Heard<readonly Told[]>): Teller {
  return tellerWith(peer, answer.flatMap(({ transfers }) => transfers));
}

function tellerWith(peer: Witness, transfers: readonly Transfer[]): Teller {
  return { peer, transfers: new Map(transfers.map((one) => [keyOf(one), one])) };
}

/** Tells whether all reports agree, so that no further node need be asked. */
function isClear(heard: readonly Heard<Told[]>[]): boolean {
  return groupsOf(heard, (blocks) => JSON.stringify(blocks, plainly)).length === 1;
}

function plainly(name: string, value: unknown): unknown {
  if (name === "proven" || name === "doubtful" || name === "time") return undefined;
  return typeof value === "bigint" ? `${value}` : value;
}

function idsOf(blocks: readonly Told[]): string {
  return blocks.map(({ block: { hash, parentHash } }) => `${hash} ${parentHash}`).join();
}

/**
 * Where a bloom filter permits logs that no node reported, asks the nodes not yet asked for them: a
 * lagging index of logs answers "none", as a lying node would. One filter suffices, because another node
 * may hide its own.
 */
async function fromOthers(
  nodes: Nodes,
  heard: readonly Heard<Told[]>[],
  group: readonly Heard<Told[]>[],
  readers: Readers,
): Promise<Teller[]> {
  const doubtful = group[0].answer.filter((_, at) =>
    group.some(({ answer }) => answer[at].doubtful)
  );
  if (doubtful.length === 0) return [];
  const asked = heard.map(({ peer }) => peer);
  // A node that cannot answer counts as one that was not asked.
  const found = await nodes.others(asked, (peer) => readers.logs(peer, doubtful));
  return found.heard.map(({ peer, answer }) => tellerWith(peer, answer));
}

/** Transfers that some nodes report and others do not, and the nodes that report them. */
interface Disputed {
  /** Once each. */
  readonly transfers: readonly Transfer[];
  readonly tellers: readonly Teller[];
}

function disputesOf(group: readonly Teller[], late: readonly Teller[]): Disputed {
  const found = new Map<string, Transfer>();
  for (const { transfers } of group) {
    for (const [key, one] of transfers) {
      if (group.some((other) => !other.transfers.has(key))) found.set(key, one);
    }
  }
  for (const { transfers } of late) {
    for (const [key, one] of transfers) {
      if (!group.some((other) => other.transfers.has(key))) found.set(key, one);
    }
  }
  return { transfers: [...found.values()], tellers: [...group, ...late] };
}

/**
 * Settles disputed transfers. A transfer that the quorum denies is left out; a confirmed one is taken
 * as the quorum reports it. A transfer without agreement is recorded and not counted, and its sender
 * is dropped, because a node that invents a payment may name us as its sender. A transfer that as many
 * nodes as the quorum report is not asked for again. Once the quorum denies a transfer of a node, no
 * other transfer that this node alone reports is asked for.
 *
 * @throws {ChainError} `unavailable` where more stay open than can be kept
 */
async function judged(
  nodes: Nodes,
  { transfers, tellers }: Disputed,
  readers: Readers,
  what: string,
): Promise<Transfer[]> {
  const { quorum } = nodes;
  const tellersOf = (one: Transfer) => tellers.filter((by) => by.transfers.has(keyOf(one)));
  const isSure = (one: Transfer) => quorum > 1 && tellersOf(one).length >= quorum;
  const kept = transfers.filter(isSure);
  const deniedNodes = new Set<Witness>();
  const open: Transfer[] = [];
  let unsure = inTurns(transfers.filter((one) => !isSure(one)), tellers);
  while (unsure.length > 0) {
    const some = unsure.slice(0, ASKED_AT_ONCE);
    for (const [at, found] of (await Promise.all(some.map(asked))).entries()) {
      if (found === undefined) open.push({ ...some[at], from: null });
      else if (found !== null) kept.push(found);
      else for (const { peer } of tellersOf(some[at])) deniedNodes.add(peer);
    }
    unsure = unsure.slice(ASKED_AT_ONCE)
      .filter((one) => tellersOf(one).some(({ peer }) => !deniedNodes.has(peer)));
    if (open.length > OPEN_MAX || (open.length > 0 && unsure.length > OPEN_MAX)) {
      throw new ChainError("unavailable", `nodes contradict each other on too much in ${what}`);
    }
  }
  nodes.trail([...deniedNodes]);
  for (const { name } of deniedNodes) {
    nodes.report(`${name} reports payments in ${what} that do not exist`);
  }
  return [...kept, ...open];
  /** Undefined where the nodes do not agree, null where they agree that there is none. */
  async function asked(one: Transfer): Promise<Transfer | null | undefined> {
    try {
      return (await readers.recheck(one))?.transfer ?? null;
    } catch (error) {
      if (error instanceof ChainError) return undefined;
      throw error;
    }
  }
}

/** Takes one transfer of each reporting node after the other. */
function inTurns(transfers: readonly Transfer[], tellers: readonly Teller[]): Transfer[] {
  const counts = new Map<number, number>();
  const ranked = transfers.map((one) => {
    const teller = tellers.findIndex((by) => by.transfers.has(keyOf(one)));
    const rank = counts.get(teller) ?? 0;
    counts.set(teller, rank + 1);
    return { one, rank };
  });
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ one }) => one);
}

function keyOf({ hash, index, from, to, contract, amount }: Transfer): string {
  return `${hash} ${index} ${from} ${to} ${contract} ${amount}`;
}

/** Keeps the first of several versions of a transfer; the quorum's versions stand before others. */
function distinct(transfers: readonly Transfer[]): Transfer[] {
  const found = new Map<string, Transfer>();
  for (const one of transfers) {
    const key = `${one.hash} ${one.index} ${one.to} ${one.contract}`;
    if (!found.has(key)) found.set(key, one);
  }
  return [...found.values()];
}

/** Lists the nonces of ours that are used up, by the proof of a signature or by the quorum. */
function consumedOf(
  nodes: Nodes,
  versions: readonly Told[],
): Consumed[] {
  const all = new Map<string, { one: Consumed; tellers: number; proven: boolean }>();
  for (const { consumed, proven } of versions) {
    for (const one of consumed) {
      const key = `${one.input} ${one.hash}`;
      const known = all.get(key) ?? { one, tellers: 0, proven: false };
      known.tellers += 1;
      known.proven ||= proven.has(key);
      all.set(key, known);
    }
  }
  return [...all.values()].flatMap(({ one, tellers, proven }) => {
    if (tellers >= nodes.quorum) return [one];
    if (proven) return [{ ...one, few: true as const }];
    nodes.report(`too few nodes say that ${one.hash} used up ${one.input}, and nothing proves it`);
    return [];
  });
}
