/**
 * Tries lies on an adapter: every question that the service has for a chain, with one node that lies
 * alone, and with one that lies beside an honest one.
 * @module
 */
import { type Chain, ChainError } from "../../workers/chains/chain.ts";
import type { Broadcast, Fee, TransactionStatus } from "../../workers/chains/outgoing.ts";
import type { Block, Checked, Head, Scanned, Transfer } from "../../workers/chains/observations.ts";
import { fieldsOf, type Lie, liesAbout, type LyingNode, nameOf } from "./lies.ts";

/** One question to a chain, and what may come of it. */
export interface Probe<T = unknown> {
  readonly name: string;
  /** Asks; each time the same of a chain without new blocks. */
  readonly ask: (chain: Chain) => Promise<T>;
  /** Says what is wrong with an answer although one node is honest and two must agree; null if nothing. */
  readonly between: (answer: T, truth: T) => string | null;
  /** Says what is wrong with the answer of a node alone. */
  readonly alone?: (answer: T, truth: T) => string | null;
}

/** The objects that lies are tried on. */
export interface WorkerContext {
  readonly node: LyingNode;
  readonly probes: readonly Probe[];
  /** Opens the chain behind nodes, anew. */
  open(urls: readonly string[]): Promise<Chain>;
}

/** The result of a lie. */
export interface Outcome {
  readonly lies: number;
  readonly answers: number;
  /** The forbidden results, in words. */
  readonly faults: readonly string[];
}

/** Values of other fields that are told in the place of a field. */
const OTHERS = 3;
/**
 * So many lies there are about any field, so many that might be true about most, and how far the next
 * field's lie stands from the last one's.
 */
const LIES_LEAST = 13;
const LIKELY_LEAST = 9;
const STRIDE = 5;
/** Lies that are told beside each other. */
const AT_ONCE = 6;

/**
 * Tells lies, one at a time, about every field of every answer.
 *
 * @param picked which lies are told, and to whom: numbers of the ways in which nodes are asked
 */
export async function tryLies(
  context: WorkerContext,
  picked: (lie: Lie, at: number) => readonly number[] = () => [0, 1, 2],
): Promise<Outcome> {
  const { node } = context;
  const truths = await truthsOf(context);
  const kinds = [...node.answers].map(([kind, samples]) => [kind, [...samples]] as const);
  const told = kinds.flatMap(([kind, samples]) =>
    fieldsOf(samples).flatMap((field) => liesAbout(kind, field, othersOf(kinds, field.samples)))
  ).map((lie, at) => ({ lie, ways: picked(lie, at) })).filter(({ ways }) => ways.length > 0);
  const faults: string[] = [];
  let answers = 0;
  async function tell(): Promise<void> {
    for (let next = told.shift(); next !== undefined; next = told.shift()) {
      const { lie, ways } = next;
      for (const truth of truths.filter(({ asked }) => asked.has(lie.kind))) {
        answers += ways.length;
        faults.push(...await faultsOf(context, lie, truth, ways));
      }
    }
  }
  const lies = told.length;
  await Promise.all(Array.from({ length: AT_ONCE }, tell));
  return { lies, answers, faults };
}

/**
 * Picks one lie about each field, told to one of those who ask: another one for each field. LIES_ALL=1 picks all, and
 * LIES_ALL=3/8 every eighth of them, from the third.
 */
export function oneInTurn(): (lie: Lie) => readonly number[] {
  const wanted = Deno.env.get("LIES_ALL");
  if (wanted) {
    const [part, of = 1] = wanted.split("/").map((text) => parseInt(text, 10));
    let told = 0;
    return () => told++ % of === part - 1 ? [...STAGES.keys()] : [];
  }
  let [field, number, count] = ["", -1, 0];
  return ({ kind, path }) => {
    const next = `${kind} ${path.join(".")}`;
    [number, count] = next === field ? [number, count + 1] : [number + 1, 0];
    field = next;
    const likely = number % 2 === 0 ? 0 : LIES_LEAST;
    const wanted = likely + (number * STRIDE) % (likely > 0 ? LIKELY_LEAST : LIES_LEAST);
    return count === wanted ? [number % STAGES.length] : [];
  };
}

interface Truth {
  readonly probe: Probe;
  readonly truth: unknown;
  readonly asked: ReadonlySet<string>;
}

async function truthsOf({ node, probes, open }: WorkerContext): Promise<Truth[]> {
  const truths: Truth[] = [];
  for (const probe of probes) {
    node.asked.clear();
    const chain = await open([node.honest]);
    const truth = await probe.ask(chain);
    chain.close();
    const together = await open([node.honest, `${node.honest}/too`]);
    const again = await probe.ask(together);
    together.close();
    const fault = probe.between(again, truth);
    if (fault !== null) throw new Error(`${probe.name}, without a lie: ${fault}`);
    truths.push({ probe, truth, asked: new Set(node.asked) });
  }
  return truths;
}

/** Values of the same kind as a field's that stand elsewhere. */
function othersOf(
  kinds: readonly (readonly [string, readonly unknown[]])[],
  truths: readonly unknown[],
): unknown[] {
  const like = truths.find((one) => one !== null);
  if (typeof like !== "string" || like.length < 20) return [];
  const found = new Set<unknown>();
  for (const [, samples] of kinds) {
    for (const field of fieldsOf(samples)) {
      for (const one of field.samples) {
        const fits = typeof one === "string" && one.length === like.length && !truths.includes(one);
        if (fits) found.add(one);
      }
    }
  }
  return [...found].slice(0, OTHERS);
}

/** The nodes that are asked: the lying one, and the honest one. */
const STAGES: readonly (readonly [string, string])[] = [
  ["alone", "l"],
  ["first of two", "lh"],
  ["second of two", "hl"],
];

async function faultsOf(
  { node, open }: WorkerContext,
  lie: Lie,
  { probe, truth }: Truth,
  ways: readonly number[],
): Promise<string[]> {
  const faults: string[] = [];
  const lying = node.lying(lie);
  for (const [fixture, names] of ways.map((way) => STAGES[way])) {
    const chain = await open([...names].map((name) => name === "l" ? lying : node.honest));
    const fault = await faultOf(chain, probe, truth, names === "l" ? probe.alone : probe.between);
    chain.close();
    if (fault !== null) faults.push(`${probe.name}, ${fixture}, ${nameOf(lie)}: ${fault}`);
  }
  return faults;
}

async function faultOf(
  chain: Chain,
  probe: Probe,
  truth: unknown,
  judge: Probe["alone"],
): Promise<string | null> {
  let answer: unknown;
  try {
    answer = await probe.ask(chain);
  } catch (error) {
    if (!(error instanceof ChainError)) return `threw ${error}`;
    const long = error.message.length > 2_000;
    return long ? `says ${error.message.length} characters` : null;
  }
  return judge?.(answer, truth) ?? null;
}

/** Writes an answer, to be compared. */
function written(answer: unknown): string {
  return JSON.stringify(answer, (_, part) => {
    if (typeof part === "bigint") return `${part}n`;
    if (part instanceof Map) return [...part];
    return part;
  });
}

/** A newest block that there is, though perhaps a lower one; nothing more is called final. */
export function headBetween(answer: Head, truth: Head): string | null {
  if (answer.height < truth.height) return null;
  if (answer.finalized !== null && answer.finalized > truth.finalized!) return written(answer);
  return same({ ...answer, finalized: null }, { ...truth, finalized: null });
}

/** The block that the chain has; of its time no id needs to tell. */
export function blockBetween(answer: Block | null, truth: Block | null): string | null {
  const named = (block: Block | null) => block && { ...block, time: 0 };
  return same(named(answer), named(truth));
}

/** A transfer as the chain has it; of its block only the id counts. */
export function checkedBetween(answer: Checked | null, truth: Checked | null): string | null {
  const known = (one: Checked | null) =>
    one && { ...one, transfer: { ...one.transfer, block: one.transfer.block?.hash } };
  return same(known(answer), known(truth));
}

/** Nothing but the truth. */
export function same(answer: unknown, truth: unknown): string | null {
  const [told, known] = [written(answer), written(truth)];
  return told === known ? null : `${told.slice(0, 300)} in place of ${known.slice(0, 300)}`;
}

/** Anything: nobody relies on it. */
export function anything(): null {
  return null;
}

/** A scan beside an honest node reports every transfer, and others only as unproven. */
export function scannedBetween(answer: Scanned[], truth: Scanned[]): string | null {
  const blocks = (of: Scanned[]) =>
    written(of.map(({ block: { height, hash, parentHash } }) => [height, hash, parentHash]));
  if (blocks(answer) !== blocks(truth)) return `other blocks: ${blocks(answer)}`;
  const keys = (of: Scanned[]) => of.flatMap(({ transfers }) => transfers).map(keyOf);
  const lacking = keys(truth).filter((key) => !keys(answer).includes(key));
  if (lacking.length > 0) return `lacks ${lacking}`;
  const added = answer.flatMap(({ transfers }) => transfers)
    .filter((one) => one.from !== null && !keys(truth).includes(keyOf(one)));
  const consumed = (of: Scanned[]) =>
    written(of.map((one) => one.consumed.map(({ input, hash }) => [input, hash])));
  if (consumed(answer) !== consumed(truth)) return `consumed ${consumed(answer)}`;
  return added.length === 0 ? null : `added ${written(added)}`;
}

function keyOf({ hash, index, to, contract, amount }: Transfer): string {
  return `${hash} ${index} ${to} ${contract} ${amount}`;
}

/** A waiting transaction is reported as its bytes have it, or not at all. */
export function pooledOnly(answer: Transfer[], truth: Transfer[]): string | null {
  const added = answer.filter((one) => !truth.map(keyOf).includes(keyOf(one)));
  return added.length === 0 ? null : `told ${written(added)}`;
}

/** A price of one node alone is capped; beside an honest one no price is above that of both. */
export function pricesBetween(answer: unknown, truth: unknown): string | null {
  const [told, known] = [answer, truth] as Record<string, Fee>[];
  const dear = Object.keys(known).filter((speed) => told[speed].base > known[speed].base);
  return dear.length === 0 ? null : `${dear} costs ${told[dear[0]].base}`;
}

/** A price of one node alone is no more than is ever bid. */
export function pricesAlone(most: bigint): (answer: unknown) => string | null {
  return (answer) => {
    const dear = Object.values(answer as Record<string, Fee>).find(({ base }) => base > most);
    return dear === undefined ? null : `costs ${dear.base}`;
  };
}

/** A lone node's report must still be fit to be stored. */
export function scannedAlone(answer: Scanned[], truth: Scanned[]): string | null {
  const heights = (of: Scanned[]) => of.map(({ block }) => block.height).join();
  if (heights(answer) !== heights(truth)) return `blocks ${heights(answer)}`;
  return transfersAlone(answer.flatMap(({ transfers }) => transfers));
}

/** Transfers must be fit to be written down. */
export function transfersAlone(answer: readonly Transfer[]): string | null {
  const wrong = answer.find(({ amount, index, block, maturesAt }) =>
    amount <= 0n || amount >= 1n << 256n || !Number.isInteger(index) || index < -2 ||
    index >= 2 ** 31 || !Number.isSafeInteger(block?.height ?? 0) ||
    !Number.isSafeInteger(maturesAt ?? 0)
  );
  const twice = new Set(answer.map((one) => `${one.hash} ${one.index} ${one.to}`));
  if (twice.size !== answer.length) return "the same transfer twice";
  return wrong === undefined ? null : `told ${written(wrong)}`;
}

/** Nothing ends, and nothing is given back, by what one of two nodes says. */
export function statusBetween(answer: TransactionStatus, truth: TransactionStatus): string | null {
  if (answer.state === "unseen" || answer.state === "pending") return null;
  if (answer.state === "dropped" && truth.state === "dropped" && truth.proof === "expired") {
    // The block from which it was expired is the lower one of two proofs, and both are needed.
    const { height, reached } = truth;
    return answer.height > height
      ? `dropped at ${answer.height}`
      : same({ ...answer, height, reached }, truth);
  }
  if (answer.state !== "mined" || truth.state !== "mined") return same(answer, truth);
  if (answer.confirmations === 0) return null;
  if (answer.confirmations > truth.confirmations) return `${answer.confirmations} confirmations`;
  if (answer.final && !truth.final) return "final";
  const known = ({ hash, success, fee, block }: typeof answer) => [hash, success, fee, block.hash];
  return same(known(answer), known(truth));
}

/** A lone node's report of a status: its own signature proves a drop, and bytes limit a fee. */
export function statusAlone(
  most: bigint,
): (answer: TransactionStatus, truth: TransactionStatus) => string | null {
  return (answer, truth) => {
    if (answer.state === "dropped") {
      if (truth.state !== "dropped" || answer.by !== truth.by) return `dead by ${answer.by}`;
    }
    if (answer.state === "mined" && (answer.fee < 0n || answer.fee > 2n * most)) {
      return `cost ${answer.fee}, at most ${most}`;
    }
    return null;
  };
}

/** Bytes are sent whatever a node says. */
export function sent(answer: Broadcast): string | null {
  return ["accepted", "known", "unknown"].includes(answer.outcome) ? null : written(answer);
}
