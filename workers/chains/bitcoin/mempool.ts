/**
 * Mempool transactions that pay watched addresses. Each is read once and kept in a bounded cache until it
 * is mined, replaced or dropped. They are shown and never counted.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import type { Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import type { Transfer, WatchList } from "../observations.ts";
import { readRaw } from "./block.ts";
import type { CoinChain } from "./context.ts";
import { type CoinTransaction, hash } from "./node_answers.ts";
import { transfersOf } from "./scan.ts";

/** Transactions that are kept; those beyond are seen when they are mined. */
const KEPT_MAX = 50_000;
/** Outputs that are kept in all: several times the number that honest transactions have. */
const OUTPUTS_MAX = 500_000;
/** Transactions that one poll reads; the next poll reads the rest. */
const READ_MAX = 5_000;
/** Longest script of an address in hexadecimal digits, with a margin. */
const SCRIPT_MAX = 100;
/** Payments that one poll shows. */
const SHOWN_MAX = 1_000;
/** Transactions that are read in one exchange. */
const READ_AT_ONCE = 50;

/**
 * Lists the mempool's payments to a watch list. Each transaction is read from its own bytes, so that no
 * node misstates it; where several nodes must agree, as many must have it.
 */
export async function readPool(chain: CoinChain, watch: WatchList): Promise<Transfer[]> {
  const index = await chain.scripts.index(watch);
  await chain.nodes.ask((peer) => refreshPool(chain, peer));
  const found = [...chain.pool.values()]
    .flatMap((transaction) => transfersOf(chain, transaction, null, index)).slice(0, SHOWN_MAX);
  if (found.length === 0 || chain.nodes.quorum === 1) return found;
  const hashes = [...new Set(found.map(({ hash }) => hash))];
  const { heard } = await chain.nodes.hear((peer) => arePooled(peer, hashes));
  const shared = hashes.filter((_, at) =>
    heard.filter(({ answer }) => answer[at]).length >= chain.nodes.quorum
  );
  return found.filter(({ hash }) => shared.includes(hash));
}

async function refreshPool(chain: CoinChain, peer: Peer): Promise<void> {
  const { pool } = chain;
  const waiting = new Set(readList(await peer.call("getrawmempool", [])).map(hash));
  for (const known of pool.keys()) if (!waiting.has(known)) pool.delete(known);
  let outputs = 0;
  for (const known of pool.values()) outputs += known.outputs.length;
  const room = Math.min(READ_MAX, KEPT_MAX - pool.size);
  const fresh = [...waiting].filter((one) => !pool.has(one)).slice(0, room);
  for (let at = 0; at < fresh.length && outputs < OUTPUTS_MAX; at += READ_AT_ONCE) {
    for (const one of await readSome(chain, peer, fresh.slice(at, at + READ_AT_ONCE))) {
      outputs += one.outputs.length;
      pool.set(one.hash, one);
    }
  }
}

/** Tells which of some transactions wait in a node's mempool. */
export async function arePooled(peer: Peer, hashes: readonly string[]): Promise<boolean[]> {
  const calls = hashes.map((one) => ({ method: "getmempoolentry", params: [one] }));
  return (await peer.batch(calls)).map((answer) => {
    if (!(answer instanceof RpcError)) {
      return readRecord(answer, "an entry of the mempool") !== null;
    }
    if (isAbsent(answer)) return false;
    throw answer;
  });
}

/** Tells whether an error means only that the transaction is unknown. */
function isAbsent({ code, message }: RpcError): boolean {
  return code === -5 || /not (in|found)|no such|unknown/i.test(message);
}

/**
 * Reads some transactions. Their inputs, and outputs without an address, are not kept, to save
 * memory.
 */
async function readSome(
  chain: CoinChain,
  peer: Peer,
  hashes: readonly string[],
): Promise<CoinTransaction[]> {
  const calls = hashes.map((one) => ({ method: "getrawtransaction", params: [one] }));
  const answers = await peer.batch(calls);
  return hashes.map((hash, at): CoinTransaction => {
    const answer = answers[at];
    // Mined or replaced since the list was made.
    if (answer instanceof RpcError && !isAbsent(answer)) throw answer;
    const read = readRaw(chain, answer, hash);
    const outputs = read?.outputs.filter(({ script }) => script.length <= SCRIPT_MAX) ?? [];
    return { hash, coinbase: false, pegout: false, spends: [], outputs };
  });
}
