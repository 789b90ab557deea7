/**
 * Reads blocks through as many nodes as the quorum, and puts together what they tell. Which blocks
 * there are is what the quorum says. What concerns us in them is kept if all say so; what only some
 * say is asked of all nodes again, so that none of them hides or invents anything alone.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node.ts";
import { campOf, campsOf, type Heard, unconfirmed } from "../quorum.ts";
import type { Checked, Consumed, Scanned, Transfer, Watch } from "../sight.ts";
import type { Evm } from "./context.ts";

/** What one node tells of a block. */
export interface Told extends Scanned {
  /** Claims whose consumer bears the signature of the claim's own address. */
  readonly proven: ReadonlySet<string>;
  /** True if its bloom filter permits a log that concerns us, and the node told of none. */
  readonly doubtful: boolean;
}

/** How blocks are read from one node, and how a transfer is read again. */
export interface Readers {
  /** Reads all blocks of a short range. */
  part(peer: Peer): Promise<Told[]>;
  /** Reads some of these blocks by their logs alone. */
  logs(peer: Peer, blocks: readonly Told[]): Promise<Transfer[]>;
  /** Asks the quorum for a transfer; null if it says that there is none. */
  recheck(transfer: Transfer): Promise<Checked | null>;
}

/** Disputed transfers of a part that are asked for again; a node may make up any number. */
const DISPUTED_MAX = 64;

/** Reads the blocks of a part. */
export async function mergedPart(
  { nodes }: Pick<Evm, "nodes">,
  watch: Watch,
  readers: Readers,
  what: string,
): Promise<Scanned[]> {
  const { heard, failures } = await nodes.few(readers.part, isClear);
  const need = Math.min(nodes.quorum, heard.length);
  const camp = campOf(campsOf(heard, idsOf), need);
  if (camp === null) {
    const confirm = campsOf(heard, idsOf)[0].length;
    throw unconfirmed({ confirm, nodes: nodes.peers.length, quorum: need }, what, failures);
  }
  const answers = camp.map(({ answer }) => answer);
  const late = watch.addresses.size === 0
    ? []
    : await fromOthers(nodes.peers, heard, camp, readers);
  const disputed = disputesOf(answers, late);
  const borne = await judged(disputed, { answers, need, readers });
  if (disputed.length > 0) {
    const names = camp.map(({ peer }) => peer.name).join(", ");
    nodes.report(`nodes contradict each other on what arrived in ${what} (asked: ${names})`);
  }
  return answers[0].map((first, at) => {
    const versions = answers.map((blocks) => blocks[at]);
    const agreed = first.transfers.filter((one) =>
      versions.every(({ transfers }) => transfers.some((other) => keyOf(other) === keyOf(one)))
    );
    const more = borne.filter(({ block }) => block?.hash === first.block.hash);
    return {
      block: first.block,
      transfers: distinct([...agreed, ...more]),
      consumed: consumedOf(nodes, versions, need),
    };
  });
}

/** Tells that all say the same, so that nobody else need be asked. */
function isClear(heard: readonly Heard<Told[]>[]): boolean {
  return campsOf(heard, (blocks) => JSON.stringify(blocks, plainly)).length === 1;
}

function plainly(name: string, value: unknown): unknown {
  if (name === "proven" || name === "doubtful" || name === "time") return undefined;
  return typeof value === "bigint" ? `${value}` : value;
}

function idsOf(blocks: readonly Told[]): string {
  return blocks.map(({ block: { hash, parentHash } }) => `${hash} ${parentHash}`).join();
}

/**
 * Where a bloom filter permits logs that nobody told of, those who were not asked yet are asked for
 * them: an index of logs that lags says "none", as a liar would.
 */
async function fromOthers(
  peers: readonly Peer[],
  heard: readonly Heard<Told[]>[],
  camp: readonly Heard<Told[]>[],
  readers: Readers,
): Promise<Transfer[]> {
  const doubtful = camp[0].answer.filter((_, at) =>
    camp.every(({ answer }) => answer[at].doubtful)
  );
  const others = peers.filter((peer) => !heard.some((one) => one.peer === peer));
  if (doubtful.length === 0) return [];
  const found = await Promise.allSettled(others.map((peer) => readers.logs(peer, doubtful)));
  // Whoever cannot tell is no worse than if it had not been asked.
  return found.flatMap((one) => one.status === "fulfilled" ? one.value : []);
}

/** Lists what some tell and others do not, once each. */
function disputesOf(answers: readonly (readonly Told[])[], late: readonly Transfer[]): Transfer[] {
  const told = answers.map((blocks) => blocks.flatMap(({ transfers }) => transfers));
  const keys = told.map((transfers) => new Set(transfers.map(keyOf)));
  const disputed = told.flat().filter((one) => keys.some((known) => !known.has(keyOf(one))));
  const seen = new Set(disputed.map(keyOf));
  const news = late.filter((one) => !keys.some((known) => known.has(keyOf(one))));
  return [...disputed.filter((one) => seen.delete(keyOf(one))), ...news];
}

/**
 * Leaves out what the quorum denies, and takes what it confirms as the quorum tells it. What it cannot
 * agree on is seen, and does not count. What as many tell as the quorum is not asked for again, so that
 * a node which makes up any number of others crowds none of it out.
 */
async function judged(
  disputed: readonly Transfer[],
  of: { answers: readonly (readonly Told[])[]; need: number; readers: Readers },
): Promise<Transfer[]> {
  const { answers, need, readers } = of;
  const told = answers.map((blocks) =>
    new Set(blocks.flatMap(({ transfers }) => transfers.map(keyOf)))
  );
  const tellers = (one: Transfer) => told.filter((keys) => keys.has(keyOf(one))).length;
  const sure = need > 1 ? disputed.filter((one) => tellers(one) >= need) : [];
  const unsure = inTurns(disputed.filter((one) => !sure.includes(one)), told);
  const kept = await Promise.all(
    unsure.slice(0, DISPUTED_MAX).map(async (one) => {
      try {
        const checked = await readers.recheck(one);
        return checked === null ? [] : [checked.transfer];
      } catch (error) {
        if (error instanceof ChainError) return [one];
        throw error;
      }
    }),
  );
  return [...sure, ...kept.flat()];
}

/** Takes one of each teller's after the other. */
function inTurns(
  transfers: readonly Transfer[],
  told: readonly ReadonlySet<string>[],
): Transfer[] {
  const counts = new Map<number, number>();
  const ranked = transfers.map((one) => {
    const teller = told.findIndex((keys) => keys.has(keyOf(one)));
    const rank = counts.get(teller) ?? 0;
    counts.set(teller, rank + 1);
    return { one, rank };
  });
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ one }) => one);
}

function keyOf({ hash, index, from, to, contract, amount }: Transfer): string {
  return `${hash} ${index} ${from} ${to} ${contract} ${amount}`;
}

/** Of several versions of a transfer the first is kept, those of the quorum before others. */
function distinct(transfers: readonly Transfer[]): Transfer[] {
  const found = new Map<string, Transfer>();
  for (const one of transfers) {
    const key = `${one.hash} ${one.index} ${one.to}`;
    if (!found.has(key)) found.set(key, one);
  }
  return [...found.values()];
}

/** A nonce of ours is used up where the signature proves it, or where enough nodes say so. */
function consumedOf(
  nodes: Evm["nodes"],
  versions: readonly Told[],
  need: number,
): Consumed[] {
  const all = new Map<string, { one: Consumed; tellers: number; proven: boolean }>();
  for (const { consumed, proven } of versions) {
    for (const one of consumed) {
      const key = `${one.claim} ${one.hash}`;
      const known = all.get(key) ?? { one, tellers: 0, proven: false };
      known.tellers += 1;
      known.proven ||= proven.has(key);
      all.set(key, known);
    }
  }
  return [...all.values()].flatMap(({ one, tellers, proven }) => {
    if (proven || tellers >= need) return [one];
    nodes.report(`too few nodes say that ${one.hash} used up ${one.claim}, and nothing proves it`);
    return [];
  });
}
