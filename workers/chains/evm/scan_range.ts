/**
 * Reads ranges of blocks through as many nodes as the quorum, and single blocks as deep as nodes
 * permit.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Block, Scanned, Transfer, WatchList } from "../observations.ts";
import type { Evm } from "./context.ts";
import { mergedPart, type Told } from "../scan_quorum.ts";
import { hash } from "./node_answers.ts";
import { BLOCKS_AT_ONCE, indexOf, loggedIn, scanPart, type WatchIndex } from "./scan.ts";
import { findTransaction, inside, traced, TRACER } from "./search.ts";
import { recheck } from "./transfer_proof.ts";

/** Most transactions that one node is asked for because it alone reports logs of them. */
const LOGGED_MAX = 256;
/** Most payments by calls in one block that one node is believed to tell. */
const CALLED_MAX = 256;

/** Reads the blocks of a range, each with the transfers and inputs of the watch list. */
export async function* scanRange(
  evm: Evm,
  from: number,
  to: number,
  watch: WatchList,
): AsyncGenerator<Scanned> {
  let last: Block | null = null;
  for (let at = from; at <= to; at += BLOCKS_AT_ONCE) {
    const end = Math.min(to, at + BLOCKS_AT_ONCE - 1);
    const part: Scanned[] = await readPart(evm, at, end, watch);
    for (const scanned of part) {
      if (last !== null && scanned.block.parentHash !== last.hash) {
        throw new ChainError("unavailable", `the chain changed below ${scanned.block.height}`);
      }
      last = scanned.block;
      yield scanned;
    }
  }
}

async function readPart(evm: Evm, from: number, to: number, watch: WatchList): Promise<Scanned[]> {
  const readers = {
    part: (peer: Peer) => scanPart(evm, peer, from, to, watch),
    logs: (peer: Peer, blocks: readonly Told[]) => readLogs(evm, peer, blocks, watch),
    recheck: (transfer: Transfer) => recheck(evm, transfer),
  };
  return await mergedPart(evm.nodes, watch, readers, `the blocks ${from} to ${to}`);
}

/** Reads the transfers to watched addresses in the logs of some blocks. */
async function readLogs(
  evm: Evm,
  peer: Peer,
  blocks: readonly Told[],
  watch: WatchList,
): Promise<Transfer[]> {
  const places = blocks.map(({ block }) => block);
  const logged = await loggedIn(evm, peer, places, indexOf(watch));
  const many = logged.reduce((sum, hashes) => sum + hashes.size, 0);
  if (many > LOGGED_MAX) {
    throw new ChainError("unavailable", `${peer.name} reports logs of ${many} transactions`);
  }
  const found: Transfer[] = [];
  for (const [at, hashes] of logged.entries()) {
    for (const id of hashes) {
      const one = await findTransaction(evm, peer, { hash: id, watch, calls: false });
      if (one?.block.hash === places[at].hash) found.push(...one.transfers);
    }
  }
  return found;
}

/** Finds the transfers of a block to watched addresses, by values, logs and calls. */
export async function searchBlock(
  evm: Evm,
  height: number,
  watch: WatchList,
  enough?: bigint,
): Promise<Transfer[]> {
  const found: Transfer[] = [];
  const index = indexOf(watch);
  for await (const { block, transfers } of scanRange(evm, height, height, watch)) {
    found.push(...transfers);
    const coins = transfers.filter(({ contract }) => contract === null);
    const lacking = enough === undefined ? null : enough - sumOf(coins);
    if (lacking !== null && lacking <= 0n) continue;
    found.push(...await calledIn(evm, block, { index, lacking }));
  }
  return found;
}

/**
 * Finds what calls inside the transactions of a block paid, by the traces of one node after another, as far as nodes
 * offer them: one that leaves calls out hides none that others tell, and what it invents explains nothing. Of an amount
 * that is looked for, no further node is asked once those transfers explain it that the quorum confirms; else as many as
 * the quorum are.
 */
async function calledIn(
  evm: Evm,
  block: Block,
  { index, lacking }: { index: WatchIndex; lacking: bigint | null },
): Promise<Transfer[]> {
  const { quorum, peers } = evm.nodes;
  const found = new Map<string, Transfer>();
  const failures: unknown[] = [];
  let [tellers, explained] = [0, 0n];
  for (const peer of peers) {
    if (lacking === null ? tellers >= quorum : explained >= lacking) break;
    try {
      const told = await toldCalls(evm, peer, block, index);
      if (told === null) continue;
      tellers++;
      for (const one of told) {
        const key = `${one.hash} ${one.to}`;
        if (found.has(key)) continue;
        const { transfer, sure } = await judgedCall(evm, one);
        if (transfer === null) {
          evm.nodes.report(`${peer.name} reports calls in block ${block.height} that do not exist`);
          evm.nodes.trail([peer]);
          break; // it may have invented any number of them
        }
        found.set(key, transfer);
        if (sure) explained += transfer.amount;
      }
    } catch (error) {
      failures.push(error);
    }
  }
  if (tellers === 0 && failures.length > 0) throw failures[0];
  return [...found.values()];
}

/** Asks one node for what the calls in a block paid; null where it offers no traces. */
async function toldCalls(
  evm: Evm,
  peer: Peer,
  block: Block,
  index: WatchIndex,
): Promise<Transfer[] | null> {
  const trace = await traced(peer, "debug_traceBlockByHash", [block.hash, TRACER]);
  if (trace === null) return null;
  const told = readList(trace).flatMap((one) => {
    const { txHash, result } = readRecord(one, "a trace");
    return result ? inside(evm, block, { hash: hash(txHash), trace: result, index }) : [];
  });
  if (evm.nodes.quorum === 1 || told.length <= CALLED_MAX) return told;
  throw new ChainError("unavailable", `${peer.name} reports ${told.length} payments by calls`);
}

/** Asks the quorum for what calls paid; one on which nodes do not agree comes without its sender, and is not sure. */
async function judgedCall(
  evm: Evm,
  one: Transfer,
): Promise<{ transfer: Transfer | null; sure: boolean }> {
  if (evm.nodes.quorum === 1) return { transfer: one, sure: true };
  try {
    return { transfer: (await recheck(evm, one))?.transfer ?? null, sure: true };
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    return { transfer: { ...one, from: null }, sure: false };
  }
}

function sumOf(transfers: readonly Transfer[]): bigint {
  return transfers.reduce((sum, { amount }) => sum + amount, 0n);
}
