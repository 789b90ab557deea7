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
import { BLOCKS_AT_ONCE, indexOf, loggedIn, scanPart } from "./scan.ts";
import { findTransaction, inside, traced, TRACER } from "./search.ts";
import { recheck } from "./transfer_proof.ts";

/** Most transactions that one node is asked for because it alone reports logs of them. */
const LOGGED_MAX = 256;

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
    const sum = coins.reduce((all, { amount }) => all + amount, 0n);
    const traces = enough !== undefined && sum >= enough ? [] : await tracesOf(evm, block);
    for (const one of traces) {
      const { txHash, result } = readRecord(one, "a trace");
      if (!result) continue;
      found.push(...inside(evm, block, { hash: hash(txHash), trace: result, index }));
    }
  }
  return found;
}

/** Asks one node after another for the calls of a block; none where no node offers them. */
async function tracesOf(evm: Evm, block: Block): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const peer of evm.nodes.peers) {
    try {
      const trace = await traced(peer, "debug_traceBlockByHash", [block.hash, TRACER]);
      if (trace !== null) return readList(trace);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return [];
}
