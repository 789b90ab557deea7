/**
 * Searches single transactions deeper than a scan: calls inside contracts, where a node offers
 * traces, and balances.
 * @module
 */
import { readRecord } from "../answers.ts";
import { ChainError, SilentTokenError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { type Call, RpcError } from "../rpc.ts";
import type {
  Balances,
  Block,
  Checked,
  Holding,
  Location,
  Transfer,
  WatchList,
} from "../observations.ts";
import type { Evm } from "./context.ts";
import { balanceCall, readNumber } from "./erc20.ts";
import {
  big,
  bytes,
  isAddress,
  isRefusal,
  number,
  readReceipt,
  readTransaction,
  toHex,
} from "./node_answers.ts";
import { bare, blockAt, indexOf, transfersOf, unlisted, type WatchIndex } from "./scan.ts";

/** Index of the transfer that sums the calls inside a transaction to one address. */
export const INSIDE: number = -2;

/** Asks for all calls of a transaction. */
export const TRACER: Readonly<Record<string, string>> = { tracer: "callTracer" };

/** One node's report on a transaction. */
export interface Found {
  /** The block it is in. */
  readonly block: Block;
  /** Its transfers to watched addresses. */
  readonly transfers: readonly Transfer[];
  /** Whether its inner calls were read. */
  readonly traced: boolean;
}

/** Most reported transfers of one searched transaction; more are a node's invention. */
const TOLD_MAX = 256;

/**
 * Finds the transfers of a transaction to watched addresses, by its value, its logs and its calls. A
 * transfer that the quorum denies is left out; one without agreement is reported without its sender.
 *
 * @param recheck asks the quorum for a transfer
 */
export async function searchTransaction(
  evm: Evm,
  hash: string,
  watch: WatchList,
  recheck: (transfer: Transfer) => Promise<Checked | null>,
): Promise<Transfer[]> {
  const find = (peer: Peer) => findTransaction(evm, peer, { hash, watch });
  const { nodes } = evm;
  if (nodes.quorum === 1) return [...(await nodes.ask(find))?.transfers ?? []];
  const { heard } = await nodes.hear(find);
  const told = new Map<string, Transfer>();
  for (const { answer } of heard) {
    for (const one of answer?.transfers ?? []) {
      const key = `${one.index} ${one.to}`;
      if (told.size < TOLD_MAX && !told.has(key)) told.set(key, one);
    }
  }
  const found: Transfer[] = [];
  for (const one of told.values()) {
    try {
      const checked = await recheck(one);
      if (checked !== null) found.push(checked.transfer);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      found.push({ ...one, from: null });
    }
  }
  return found;
}

/** Reads a transaction through one node; null where it is in no block, or failed. */
export async function findTransaction(
  evm: Evm,
  peer: Peer,
  { hash, watch, calls = true }: { hash: string; watch: WatchList; calls?: boolean },
): Promise<Found | null> {
  const receipt = readReceipt(await peer.call("eth_getTransactionReceipt", [hash]));
  if (receipt === null || !receipt.success) return null;
  const given = await peer.call("eth_getTransactionByHash", [hash]);
  const transaction = given === null ? unlisted(hash) : readTransaction(given);
  const block = await blockAt(peer, receipt.height, false);
  if (block.hash !== receipt.blockHash || transaction.hash !== receipt.hash) {
    throw new ChainError("unavailable", `the chain is changing around ${hash}`);
  }
  const index = indexOf(watch);
  const direct = transfersOf(evm, block, transaction, receipt, index);
  const trace = calls ? await traced(peer, "debug_traceTransaction", [hash, TRACER]) : null;
  const within = trace === null ? [] : inside(evm, block, { hash, trace, index });
  return { block: bare(block), transfers: [...direct, ...within], traced: trace !== null };
}

/** Tells what a node knows of a transaction. */
export async function locateTransaction(evm: Evm, hash: string): Promise<Location> {
  return await evm.nodes.ask(async (peer) => {
    const receipt = readReceipt(await peer.call("eth_getTransactionReceipt", [hash]));
    if (receipt !== null) {
      return { state: receipt.success ? "mined" : "failed", height: receipt.height };
    }
    const given = await peer.call("eth_getTransactionByHash", [hash]);
    return { state: given === null ? "unknown" : "pending" };
  });
}

/** Reads balances, all of one block. */
export async function balancesAt(
  evm: Evm,
  holdings: readonly Holding[],
  height: number | null,
): Promise<Balances> {
  return await evm.nodes.ask((peer) => balancesOf(peer, holdings, height));
}

/** Reads balances through one node. */
export async function balancesOf(
  peer: Peer,
  holdings: readonly Holding[],
  height: number | null,
): Promise<Balances> {
  const at = height ?? number(await peer.call("eth_blockNumber", []), "a height");
  const answers = await peer.batch(holdings.map((one) => balanceQuestion(one, toHex(at))));
  const amounts = answers.map((answer, place) => {
    const { contract } = holdings[place];
    if (answer instanceof RpcError) {
      throw contract !== null && isRefusal(answer) ? new SilentTokenError(contract) : answer;
    }
    return contract === null ? big(answer, "a balance") : readNumber(bytes(answer)) ?? 0n;
  });
  return { height: at, amounts };
}

/** Gas that a contract may use to tell something, many times what any needs: one that loops takes no node's time. */
const VIEW_GAS = "0x4c4b40";

/** Asks for a balance at a block, by height or by hash. */
export function balanceQuestion({ address, contract }: Holding, at: unknown): Call {
  if (contract === null) return { method: "eth_getBalance", params: [address, at] };
  return viewQuestion(contract, balanceCall(address), at);
}

/** Asks a contract for what it tells at a block, by height or by hash. */
export function viewQuestion(to: string, data: string, at: unknown): Call {
  return { method: "eth_call", params: [{ to, data, gas: VIEW_GAS }, at] };
}

/** Asks for a trace; null where the node offers none. */
export async function traced(
  peer: Peer,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  try {
    return await peer.call(method, params);
  } catch (error) {
    // Few nodes offer traces, fewer of old blocks; inner calls then stay unseen until balances differ.
    if (error instanceof RpcError) return null;
    throw error;
  }
}

/**
 * Adds up the coins that calls inside a transaction moved to and from watched addresses: one transfer
 * for each address, because clients differ in the calls that they list.
 */
export function inside(
  evm: Evm,
  block: Block,
  { hash, trace, index }: { hash: string; trace: unknown; index: WatchIndex },
): Transfer[] {
  const gains = new Map<string, { amount: bigint; payers: Set<string> }>();
  function add(owner: string | null, amount: bigint, payer: string | null): void {
    if (owner === null || !index.addresses.has(owner)) return;
    const gain = gains.get(owner) ?? { amount: 0n, payers: new Set() };
    gain.amount += amount;
    if (payer !== null) gain.payers.add(payer);
    gains.set(owner, gain);
  }
  for (const { from, to, amount } of movesInside(trace)) {
    add(to, amount, from);
    add(from, -amount, null);
  }
  return [...gains].filter(([, { amount }]) => amount > 0n).map(([owner, gain]) => ({
    hash,
    index: INSIDE,
    from: gain.payers.size === 1 ? evm.ethers.getAddress([...gain.payers][0]) : null,
    to: index.addresses.get(owner)!,
    contract: null,
    amount: gain.amount,
    block: bare(block),
    maturesAt: null,
  }));
}

/** Coins that a call inside a transaction moved; addresses in lower case, null for what is none. */
export interface InnerMove {
  /** Who paid. */
  readonly from: string | null;
  /** Who got it. */
  readonly to: string | null;
  /** Wei. */
  readonly amount: bigint;
}

/** Lists the coins that calls inside a transaction moved, its own value not counted. */
export function movesInside(trace: unknown): InnerMove[] {
  const moves: InnerMove[] = [];
  // Without recursion: however deep a node nests its answer, the stack suffices.
  const left: { readonly given: unknown; readonly outermost: boolean }[] = [
    { given: trace, outermost: true },
  ];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const frame = readRecord(next.given, "a call");
    // A failed call was undone, with all its inner calls.
    if (frame.error !== undefined) continue;
    const amount = frame.value === undefined ? 0n : big(frame.value, "a value");
    if (!next.outermost && amount > 0n && MOVES.has(frame.type)) {
      const [from, to] = [frame.from, frame.to].map((one) =>
        isAddress(one) ? one.toLowerCase() : null
      );
      moves.push({ from, to, amount });
    }
    const calls = Array.isArray(frame.calls) ? frame.calls : [];
    for (const given of calls) left.push({ given, outermost: false });
  }
  return moves;
}

/** Calls that move coins; a delegate call only repeats the value of its caller. */
const MOVES: ReadonlySet<unknown> = new Set(["CALL", "CREATE", "CREATE2", "SELFDESTRUCT"]);
