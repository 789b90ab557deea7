/**
 * Status of transactions that share a nonce. They count as dropped only by proof: the block in which
 * another transaction took the nonce, and the signature on that transaction.
 * @module
 */
import { ChainError } from "../chain.ts";
import { type Dropped, type Mined, type NodeReport, voteOnStatus } from "../status_votes.ts";
import { allOf, type Peer } from "../node_pool.ts";
import type { Inspection, Signed, StatusQuery, TransactionStatus } from "../outgoing.ts";
import { RpcError } from "../rpc.ts";
import type { Evm } from "./context.ts";
import { readTransferLog } from "./erc20.ts";
import { type Standing, standingOf } from "./finality.ts";
import { type EvmReceipt, isMissingState, number, readReceipt, toHex } from "./node_answers.ts";
import { inspectRaw } from "./payment.ts";
import { bare, blockAt, BLOCKS_AT_ONCE, blocksOf } from "./scan.ts";
import { assertTook } from "./nonce_proof.ts";
import { readCip64 } from "./cip64.ts";

/** Report of one node, with the block that it calls final. */
type Told = NodeReport & Pick<Standing, "finalized">;

/** A nonce of an address. */
interface NonceKey {
  readonly address: string;
  readonly nonce: number;
}

/** Most blocks that are searched for the transaction that used a nonce, where old states are gone. */
const SEARCH_MAX = 20_000;
/** Most that a transaction costs, as a multiple of its bid: a second layer adds the fee of the first. */
const LAYERS = 2n;

/**
 * Reads the status of an order by all its attempts. It is final (mined, failed or dropped) only if as
 * many nodes as the quorum report it.
 */
export async function statusOf(evm: Evm, query: StatusQuery): Promise<TransactionStatus> {
  const { status, heard } = await voteOnStatus(
    evm.nodes,
    query,
    (peer) => reportOf(evm, peer, query),
  );
  const ended = status.state === "dropped" || (status.state === "mined" && !status.success);
  for (const { peer, answer } of heard) {
    if (!ended || evm.network !== "main" || answer.finalized !== null) continue;
    const { hash } = query.attempts[0];
    evm.nodes.report(
      `${peer.name} knows no final block: on ${hash} it is believed by the depth alone`,
    );
  }
  return status;
}

async function reportOf(evm: Evm, peer: Peer, query: StatusQuery): Promise<Told> {
  const { attempts } = query;
  const standing = await standingOf(evm, peer);
  const settled = settledOf(standing, query);
  const none = { ...standing, settled, mined: null, pending: null, dropped: null };
  const receipts = allOf(
    await peer.batch(attempts.map(({ hash }) => ({
      method: "eth_getTransactionReceipt",
      params: [hash],
    }))),
  ).map(readReceipt);
  const at = receipts.findIndex((receipt) => receipt !== null);
  const receipt = receipts[at];
  if (receipt) {
    return {
      ...none,
      mined: await minedStatus(evm, peer, { signed: attempts[at], receipt, standing }),
    };
  }
  const dropped = await dropOf(evm, peer, query, { ...standing, settled });
  if (dropped) return { ...none, dropped };
  const known = allOf(
    await peer.batch(attempts.map(({ hash }) => ({
      method: "eth_getTransactionByHash",
      params: [hash],
    }))),
  );
  // The pool prefers the newest attempt.
  const pooled = known.findLastIndex((answer) => answer !== null);
  return { ...none, pending: pooled < 0 ? null : attempts[pooled].hash };
}

/**
 * Height up to which a proof of a drop counts: deep enough, and final if the node reports final
 * blocks.
 */
function settledOf({ height, finalized }: Standing, { depth, final = true }: StatusQuery): number {
  const deep = height - depth + 1;
  return final && finalized !== null ? Math.min(deep, finalized) : deep;
}

async function minedStatus(
  evm: Evm,
  peer: Peer,
  { signed, receipt, standing }: { signed: Signed; receipt: EvmReceipt; standing: Standing },
): Promise<Mined> {
  const { height, finalized } = standing;
  const block = await blockAt(peer, receipt.height, false);
  if (
    block.hash !== receipt.blockHash || height < receipt.height || receipt.hash !== signed.hash
  ) throw new ChainError("unavailable", `the chain is changing around ${signed.hash}`);
  const feeContract = feeTokenOf(evm, signed);
  const effects = inspectRaw(evm, signed.raw);
  const most = feeContract === null ? effects.fee : null;
  // The signed bytes bound the fee; on a second layer the fee of the first comes on top.
  if (most !== null && (receipt.gasFee > most || receipt.fee > LAYERS * most)) {
    throw new ChainError(
      "unavailable",
      `${peer.name} reports a higher fee than ${signed.hash} can cost`,
    );
  }
  return {
    state: "mined",
    hash: signed.hash,
    block: bare(block),
    confirmations: height - receipt.height + 1,
    final: finalized === null || receipt.height <= finalized,
    success: receipt.success && moved(evm, effects, receipt),
    fee: receipt.fee,
    feeContract,
  };
}

/** Tells whether the payment left a log: a token that refuses without reverting leaves none. */
function moved(
  evm: Evm,
  { payments, from: [from] }: Inspection,
  receipt: EvmReceipt,
): boolean {
  return payments.every(({ to, contract }) => {
    if (contract === null || contract.toLowerCase() === evm.table.nativeToken) return true;
    return receipt.logs.some((log) => {
      const said = readTransferLog(log.topics, log.data);
      return log.address === contract.toLowerCase() && said?.to === to.toLowerCase() &&
        said.from === from.toLowerCase();
    });
  });
}

function feeTokenOf(evm: Evm, signed: Signed): string | null {
  return signed.raw.startsWith("0x7b") ? readCip64(evm.ethers, signed.raw).feeToken : null;
}

/** Proves that another transaction, deep enough, took the nonce; null while nothing is proven. */
async function dropOf(
  evm: Evm,
  peer: Peer,
  query: StatusQuery,
  { height, settled }: { height: number; settled: number },
): Promise<Dropped | null> {
  const key = nonceOf(query.attempts[0].inputs[0]);
  if (settled < query.since) return null;
  const latest = await countAt(peer, key, height);
  if (latest === null || latest <= key.nonce) return null;
  const taker = await takerOf(peer, key, query.since, settled);
  if (taker === null) return null;
  if (query.attempts.some(({ hash }) => hash === taker.hash)) {
    throw new ChainError("unavailable", `${peer.name} lists ${taker.hash} but has no receipt`);
  }
  await assertTook(evm, peer, key, taker.hash);
  return { state: "dropped", proof: "consumed", by: taker.hash, height: taker.height };
}

/** Finds the transaction that took a nonce: by bisection, or block by block where old states are gone. */
async function takerOf(peer: Peer, key: NonceKey, since: number, settled: number) {
  let [low, high] = [Math.max(0, since - 1), settled];
  const atEnd = await countAt(peer, key, high);
  if (atEnd !== null && atEnd <= key.nonce) return null;
  const atStart = await countAt(peer, key, low);
  // Used before the first attempt was signed: somebody else has the key.
  if (atStart !== null && atStart > key.nonce) [low, high] = [0, low];
  while (atEnd !== null && high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const count = await countAt(peer, key, middle);
    if (count === null) break;
    if (count > key.nonce) high = middle;
    else low = middle;
  }
  if (high - low > SEARCH_MAX) return null;
  for (let from = low; from <= high; from += BLOCKS_AT_ONCE) {
    const blocks = await blocksOf(peer, from, Math.min(high, from + BLOCKS_AT_ONCE - 1));
    for (const { height, transactions } of blocks) {
      const taker = transactions.find((one) => one.from === key.address && one.nonce === key.nonce);
      if (taker) return { hash: taker.hash, height };
    }
  }
  return null;
}

/** Null if the node no longer knows. */
async function countAt(peer: Peer, { address }: NonceKey, height: number): Promise<number | null> {
  try {
    const answer = await peer.call("eth_getTransactionCount", [address, toHex(height)]);
    return number(answer, "a nonce");
  } catch (error) {
    if (error instanceof RpcError && isMissingState(error)) return null;
    throw error;
  }
}

function nonceOf(input: string): NonceKey {
  const [address, nonce] = input.split(":");
  return { address: address.toLowerCase(), nonce: Number(nonce) };
}
