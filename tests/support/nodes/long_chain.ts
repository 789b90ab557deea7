/**
 * A chain that is long without having been mined: in front of anvil, which takes minutes for ten
 * thousand blocks, stands a node that shows empty blocks of its own between the real ones. It can
 * also show another course of the chain above a height: the same payments in other blocks.
 * @module
 */
import { id } from "ethers";
import { NodeError, passOn, type Question, startFaultyNode } from "./faulty_node.ts";

/** A running node. */
export interface LongChain extends AsyncDisposable {
  readonly url: string;
  /** The highest block that was asked for since the last check. */
  askedUpTo: number;
  /** Puts empty blocks on top; gives the height of the newest. */
  extend(count: number): Promise<number>;
  /** Gives all blocks above a height other hashes. */
  fork(above: number): void;
  /** Has questions for blocks above a height wait until it is released. */
  hold(above: number): { readonly reached: Promise<void>; release(): void };
}

interface State {
  /** Address of anvil, which must not take another course itself. */
  behind: string;
  /** Empty blocks above real ones, ascending. */
  gaps: { after: number; count: number }[];
  forks: number[];
  /** Real block hashes by what is shown, and the other way round. */
  realOf: Map<string, string>;
  /** Real blocks by height, with their transactions and without. */
  blocks: Map<string, Fields>;
  /** Anvil's head when the head was last asked for: blocks up to it are there. */
  known: number;
  /** Hashes of empty blocks by height, before a fork. */
  empty: Map<number, string>;
  /** Hashes of other courses by course and hash. */
  salted: Map<string, string>;
  held: Held | null;
}

/** Questions for blocks above a height, which wait. */
interface Held {
  readonly above: number;
  reached(): void;
  readonly released: Promise<void>;
}

type Fields = Record<string, unknown>;

/** Starts a node that shows what the anvil at an address has, to begin with. */
export function startLongChain(behind: string): LongChain {
  const state: State = {
    behind,
    gaps: [],
    forks: [],
    realOf: new Map(),
    blocks: new Map(),
    known: -1,
    empty: new Map(),
    salted: new Map(),
    held: null,
  };
  const faulty = startFaultyNode(behind, async (question) => {
    const [tag] = question.params;
    if (question.method === "eth_getBlockByNumber" && `${tag}`.startsWith("0x")) {
      chain.askedUpTo = Math.max(chain.askedUpTo, Number(tag));
      await heldBack(state, Number(tag));
    }
    return await answer(state, question);
  });
  const chain: LongChain = {
    url: faulty.url,
    askedUpTo: 0,
    async extend(count) {
      state.gaps.push({ after: await realHead(state), count });
      return await head(state);
    },
    fork: (above) => void state.forks.push(above),
    hold(above) {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      state.held = { above, reached: reached.resolve, released: released.promise };
      return { reached: reached.promise, release: released.resolve };
    },
    [Symbol.asyncDispose]: () => faulty.abort(),
  };
  return chain;
}

async function heldBack({ held }: State, height: number): Promise<void> {
  if (held === null || height <= held.above) return;
  held.reached();
  await held.released;
}

async function answer(state: State, question: Question): Promise<unknown> {
  const { method, params } = question;
  if (method === "eth_blockNumber") return hex(await head(state));
  if (method === "eth_getBlockByNumber") return await block(state, params);
  if (method === "eth_getLogs") return await logs(state, question);
  const asked = await Promise.all(params.map((one) => inner(state, one)));
  return shown(state, await ask(state, { ...question, params: asked }));
}

/** Anvil's answer, or its refusal. */
async function ask({ behind }: State, question: Question): Promise<unknown> {
  const told = await passOn(behind, question) as {
    result?: unknown;
    error?: { code: number; message: string };
  };
  if (told.error) throw new NodeError(told.error.code, told.error.message);
  return told.result;
}

async function realHead(state: State): Promise<number> {
  state.known = Number(await ask(state, question("eth_blockNumber", [])));
  return state.known;
}

async function realBlock(state: State, height: number, full: unknown): Promise<Fields> {
  const name = `${height} ${full}`;
  const known = state.blocks.get(name) ??
    await ask(state, question("eth_getBlockByNumber", [hex(height), full])) as Fields;
  state.blocks.set(name, known);
  return known;
}

async function head(state: State): Promise<number> {
  return topAbove(state, await realHead(state));
}

/** The newest height that is shown above anvil's head. */
function topAbove(state: State, real: number): number {
  const last = state.gaps.at(-1);
  return last?.after === real ? heightOf(state, real) + last.count : heightOf(state, real);
}

/** The height at which a real block is shown. */
function heightOf({ gaps }: State, real: number): number {
  return gaps.reduce((height, gap) => gap.after < real ? height + gap.count : height, real);
}

/** The real block at or below a height that is shown, and how far below. */
function realAt(state: State, height: number): { real: number; above: number } {
  let offset = 0;
  for (const { after, count } of state.gaps) {
    const start = after + offset;
    if (height <= start) break;
    if (height <= start + count) return { real: after, above: height - start };
    offset += count;
  }
  return { real: height - offset, above: 0 };
}

async function block(state: State, [tag, full]: unknown[]): Promise<unknown> {
  const height = tag === "latest" ? await head(state) : Number(tag);
  if (Number.isNaN(height)) {
    const found = await ask(state, question("eth_getBlockByNumber", [tag, full]));
    return found === null ? null : await block(state, [
      hex(heightOf(state, Number((found as Fields).number))),
      full,
    ]);
  }
  // Anvil takes no block away, so only what is not known to be there has its head asked for.
  if (height > topAbove(state, state.known) && height > await head(state)) return null;
  const { real, above } = realAt(state, height);
  const base = await realBlock(state, real, full);
  const parent = height === 0 ? base.parentHash : await hashAt(state, height - 1);
  const fields = { ...(shown(state, base) as Fields), number: hex(height), parentHash: parent };
  if (above === 0) return fields;
  return { ...fields, hash: await hashAt(state, height), transactions: [] };
}

/** The hash shown for the block at a height. */
async function hashAt(state: State, height: number): Promise<string> {
  const { real, above } = realAt(state, height);
  if (above > 0) return salted(state, height, emptyHash(state, height));
  return salted(state, height, `${(await realBlock(state, real, false)).hash}`);
}

/** The hash of an empty block before a fork; each is asked for twice, by itself and as a parent. */
function emptyHash({ empty }: State, height: number): string {
  const hash = empty.get(height) ?? id(`empty ${height}`);
  empty.set(height, hash);
  return hash;
}

function salted(state: State, height: number, hash: string): string {
  const course = state.forks.findLastIndex((above) => height > above);
  const says = course < 0 ? hash : courseHash(state, course, hash);
  state.realOf.set(says, hash);
  return says;
}

function courseHash({ salted: known }: State, course: number, hash: string): string {
  const name = `course ${course} ${hash}`;
  const says = known.get(name) ?? id(name);
  known.set(name, says);
  return says;
}

async function logs(state: State, { params: [filter] }: Question): Promise<unknown> {
  const { fromBlock, toBlock, blockHash, ...rest } = filter as Fields;
  if (blockHash !== undefined) {
    const hash = state.realOf.get(`${blockHash}`) ?? blockHash;
    return shown(state, await ask(state, question("eth_getLogs", [{ ...rest, blockHash: hash }])));
  }
  const first = realAt(state, Number(fromBlock));
  const from = first.above > 0 ? first.real + 1 : first.real;
  const to = realAt(state, Number(toBlock)).real;
  if (from > to) return [];
  const range = { ...rest, fromBlock: hex(from), toBlock: hex(to) };
  return shown(state, await ask(state, question("eth_getLogs", [range])));
}

/** A parameter as anvil understands it: heights and block hashes are its own there. */
function inner(state: State, parameter: unknown): unknown {
  if (typeof parameter !== "string") return parameter;
  if (/^0x[0-9a-f]{1,8}$/.test(parameter)) return hex(realAt(state, Number(parameter)).real);
  return state.realOf.get(parameter) ?? parameter;
}

/** An answer of anvil's with the heights and hashes that are shown. */
function shown(state: State, told: unknown): unknown {
  if (Array.isArray(told)) return told.map((one) => shown(state, one));
  if (typeof told !== "object" || told === null) return told;
  const fields: Fields = Object.fromEntries(
    Object.entries(told).map(([name, value]) => [name, shown(state, value)]),
  );
  if (typeof fields.blockNumber === "string") {
    const height = heightOf(state, Number(fields.blockNumber));
    fields.blockNumber = hex(height);
    fields.blockHash = salted(state, height, `${fields.blockHash}`);
  }
  if (typeof fields.number === "string" && typeof fields.hash === "string") {
    const height = heightOf(state, Number(fields.number));
    fields.number = hex(height);
    fields.hash = salted(state, height, fields.hash);
  }
  return fields;
}

function question(method: string, params: unknown[]): Question {
  return { id: 1, method, params };
}

function hex(height: number): string {
  return `0x${height.toString(16)}`;
}
