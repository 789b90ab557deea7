/**
 * Status of an order's transactions on Tron. A payment is settled by a final ("solidified") block. It is dropped only
 * by proof: final blocks up to one beyond its expiry were read, and it is in none of them.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Signed, StatusQuery, TransactionStatus } from "../outgoing.ts";
import { type Dropped, type Mined, type NodeReport, voteOnStatus } from "../status_votes.ts";
import { readList, readRecord, readText } from "../answers.ts";
import { readLogs, showTransfer } from "./calls.ts";
import type { Tron } from "./context.ts";
import { readBody } from "./draft.ts";
import { absenceOf } from "./expiry_proof.ts";
import { larger } from "./fees.ts";
import {
  askRecord,
  blockAt,
  count,
  hash32,
  newestBlock,
  type TronBlock,
  units,
} from "./node_answers.ts";
import { readSigned } from "./transaction.ts";

/** The newest blocks of a node. */
interface Standing {
  readonly head: TronBlock;
  readonly final: TronBlock;
}

/** Most that a transaction costs, as a multiple of its plan: prices may change until its block. */
const FEE_FACTOR = 4n;
/**
 * Sun that every transaction may cost: one that was planned with free bandwidth costs its bytes where that is used up
 * at its block. A fee that is never believed would leave an order without an end.
 */
const FEE_BELIEVED = 5_000_000n;

/** Reads the status of an order by all its attempts; it ends the order only by the quorum's word. */
export async function statusOf(tron: Tron, query: StatusQuery): Promise<TransactionStatus> {
  const { status } = await voteOnStatus(tron.nodes, query, (peer) => reportOf(tron, peer, query));
  return status;
}

async function reportOf(tron: Tron, peer: Peer, query: StatusQuery): Promise<NodeReport> {
  const standing: Standing = {
    final: await newestBlock(peer, true),
    head: await newestBlock(peer),
  };
  const { head, final } = standing;
  const none = { height: head.height, settled: final.height };
  const open = { mined: null, pending: null, dropped: null };
  for (const signed of query.attempts) {
    const info = await askRecord(peer, "wallet/gettransactioninfobyid", { value: signed.hash });
    if (Object.keys(info).length === 0) continue;
    const mined = await minedStatus(tron, peer, { signed, info, standing, depth: query.depth });
    return { ...none, ...open, mined };
  }
  const dropped = await expiryOf(tron, peer, query, final);
  if (dropped !== null) return { ...none, ...open, dropped };
  for (const { hash } of query.attempts.toReversed()) {
    const told = await askRecord(peer, "wallet/gettransactionbyid", { value: hash });
    if (Object.keys(told).length > 0) return { ...none, ...open, pending: hash };
  }
  return { ...none, ...open };
}

async function minedStatus(
  tron: Tron,
  peer: Peer,
  { signed, info, standing: { head, final }, depth }: {
    readonly signed: Signed;
    readonly info: Record<string, unknown>;
    readonly standing: Standing;
    readonly depth: number;
  },
): Promise<Mined> {
  const height = count(info.blockNumber, "a height");
  const block = await blockAt(peer, height);
  // Behind one address several servers may answer, and one that lags on a fork has it in that fork's block.
  const isThere = block !== null && block.timeMs === count(info.blockTimeStamp, "a time");
  const contradicts = hash32(info.id, "a transaction id") !== signed.hash || !isThere;
  if (contradicts || block.height > head.height) {
    throw new ChainError("unavailable", `the chain is changing around ${signed.hash}`);
  }
  const fee = units(info.fee, "a fee");
  const most = signed.body === undefined ? null : readBody(signed.body).fee;
  if (most !== null && fee > larger(FEE_FACTOR * most, FEE_BELIEVED)) {
    throw new ChainError(
      "unavailable",
      `${peer.name} reports a higher fee than ${signed.hash} costs`,
    );
  }
  const isFinal = height <= final.height && await isKept(peer, signed, block);
  const above = head.height - height + 1;
  const { hash, parentHash, time } = block;
  return {
    state: "mined",
    hash: signed.hash,
    block: { height, hash, parentHash, time },
    // A block that is not final may be replaced: it does not reach the depth that settles a payment.
    confirmations: isFinal ? above : Math.min(above, Math.max(0, depth - 1)),
    final: isFinal,
    success: await succeeded(tron, peer, signed, info),
    fee,
    feeContract: null,
  };
}

/**
 * Whether the final blocks have a transaction in its block: of several servers one may tell how far they go, and another,
 * which lags on a fork, that block.
 */
async function isKept(peer: Peer, { hash }: Signed, block: TronBlock): Promise<boolean> {
  const info = await askRecord(peer, "walletsolidity/gettransactioninfobyid", { value: hash });
  return count(info.blockNumber, "a height") === block.height &&
    count(info.blockTimeStamp, "a time") === block.timeMs;
}

/**
 * Tells whether a mined transaction did what it should. Its result stands in the block (`contractRet`) and in its
 * receipt; a node whose two differ is not believed. A token's transfer must also show its log.
 */
async function succeeded(
  { ethers }: Tron,
  peer: Peer,
  signed: Signed,
  info: Record<string, unknown>,
): Promise<boolean> {
  const told = await askRecord(peer, "wallet/gettransactionbyid", { value: signed.hash });
  const [ret] = readList(told.ret ?? []);
  const inBlock = readText(readRecord(ret, "a result").contractRet ?? "SUCCESS", "a result");
  const receipt = readRecord(info.receipt ?? {}, "a receipt");
  const inReceipt = readText(receipt.result ?? "SUCCESS", "a result");
  const { raw: { contract } } = readSigned(ethers, signed.raw);
  const runs = contract.type !== "TransferContract";
  const failed = info.result === "FAILED" || inReceipt !== "SUCCESS";
  if (runs && failed !== (inBlock !== "SUCCESS")) {
    throw new ChainError("unavailable", `${peer.name} tells two results of ${signed.hash}`);
  }
  if (failed || inBlock !== "SUCCESS") return false;
  if (contract.type !== "TriggerSmartContract") return true;
  return showTransfer(readLogs(info.log ?? []), {
    contract: contract.contract,
    from: contract.owner,
    to: `41${contract.data.slice(32, 72)}`,
  });
}

/** Proves that no attempt can be mined any more; null while one can, or may have been. */
async function expiryOf(
  tron: Tron,
  peer: Peer,
  { attempts }: StatusQuery,
  final: TronBlock,
): Promise<Dropped | null> {
  const times = attempts.map(({ expires }) =>
    expires !== null && "time" in expires ? expires.time : Infinity
  );
  const last = Math.max(...times);
  if (final.timeMs <= last) return null;
  let proof: TronBlock | null = null;
  for (const { raw, hash } of attempts) {
    const signed = readSigned(tron.ethers, raw);
    const beyond = await absenceOf(peer, { ...signed.raw, hash }, final);
    if (proof === null || beyond.height > proof.height) proof = beyond;
  }
  return {
    state: "dropped",
    proof: "expired",
    by: null,
    height: proof!.height,
    expiry: { time: last },
    reached: proof!.timeMs,
  };
}
