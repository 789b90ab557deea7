/**
 * What waits in the mempool for watched addresses. Each transaction is read once and kept, in a
 * bounded memory, until it is mined, replaced or dropped: it is to be shown, and never to be counted.
 * @module
 */
import type { Peer } from "../node.ts";
import { RpcError } from "../rpc.ts";
import type { Transfer, Watch } from "../sight.ts";
import type { CoinChain } from "./context.ts";
import { type CoinTransaction, hash, list, readTransaction } from "./node.ts";
import { transfersOf } from "./scan.ts";

/** Transactions that are kept; what a fuller mempool holds beyond is seen when it is mined. */
const KEPT_MAX = 50_000;
/** Transactions that one look reads; the rest is read by the next. */
const READ_MAX = 5_000;

/** Lists what the mempool holds for a watch. */
export async function readPool(chain: CoinChain, watch: Watch): Promise<Transfer[]> {
  const index = await chain.scripts.index(watch);
  return await chain.nodes.ask(async (peer) => {
    const waiting = new Set(list(await peer.call("getrawmempool", [])).map(hash));
    for (const known of chain.pool.keys()) if (!waiting.has(known)) chain.pool.delete(known);
    const room = Math.min(READ_MAX, KEPT_MAX - chain.pool.size);
    const fresh = [...waiting].filter((one) => !chain.pool.has(one)).slice(0, room);
    for (const transaction of await readAll(peer, fresh)) {
      // What it spends is of no use here, and the memory is for many.
      chain.pool.set(transaction.hash, { ...transaction, spends: [] });
    }
    return [...chain.pool.values()]
      .flatMap((transaction) => transfersOf(chain, transaction, null, index));
  });
}

/** Tells which of some transactions wait in a node's mempool. */
export async function arePooled(peer: Peer, hashes: readonly string[]): Promise<boolean[]> {
  const calls = hashes.map((one) => ({ method: "getmempoolentry", params: [one] }));
  return (await peer.batch(calls)).map((answer) => {
    if (!(answer instanceof RpcError)) return true;
    if (isAbsent(answer)) return false;
    throw answer;
  });
}

/** Tells that a transaction is unknown, which is no fault of the node. */
function isAbsent({ code, message }: RpcError): boolean {
  return code === -5 || /not (in|found)|no such|unknown/i.test(message);
}

async function readAll(peer: Peer, hashes: readonly string[]): Promise<CoinTransaction[]> {
  const calls = hashes.map((one) => ({ method: "getrawtransaction", params: [one, true] }));
  return (await peer.batch(calls)).flatMap((answer) => {
    if (!(answer instanceof RpcError)) return [readTransaction(answer)];
    // Mined or replaced since the list was made.
    if (isAbsent(answer)) return [];
    throw answer;
  });
}
