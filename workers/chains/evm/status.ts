/**
 * Finds out what became of transactions that share a nonce. That all are dead is believed only with
 * the block in which another took the nonce, and with the signature on that other.
 * @module
 */
import { ChainError } from "../chain.ts";
import { type Testimony, voteOnStatus } from "../status_votes.ts";
import { allOf, type Peer } from "../node_pool.ts";
import type { Fate, FateQuery, Signed } from "../outgoing.ts";
import { RpcError } from "../rpc.ts";
import type { Evm } from "./context.ts";
import { readTransferLog } from "./erc20.ts";
import { type Standing, standingOf } from "./finality.ts";
import { type EvmReceipt, isMissingState, number, readReceipt, toHex } from "./node_answers.ts";
import { inspectRaw } from "./payment.ts";
import { bare, blockAt, BLOCKS_AT_ONCE, blocksOf } from "./scan.ts";
import { assertTook } from "./nonce_proof.ts";
import { readCip64 } from "./cip64.ts";

/** What one node knows, and what it calls final. */
type Told = Testimony & Pick<Standing, "finalized">;
type Mined = Fate & { readonly state: "mined" };
type Death = Fate & { readonly state: "dead" };

/** A nonce's address and number. */
interface Place {
  readonly address: string;
  readonly nonce: number;
}

/** Blocks that are looked through for the taker of a nonce when old states are gone. */
const SEARCH_MAX = 20_000;
/** What a transaction takes is no more than so many times what it bid. */
const LAYERS = 2n;

/**
 * Finds the fate of an order by all transactions that were ever signed for it. That one is mined for
 * good, that it failed, and that all are dead, is said only if as many nodes as the quorum say so.
 */
export async function fateOf(evm: Evm, query: FateQuery): Promise<Fate> {
  const { status: fate, heard } = await voteOnStatus(
    evm.nodes,
    query,
    (peer) => testify(evm, peer, query),
  );
  const ended = fate.state === "dead" || (fate.state === "mined" && !fate.success);
  for (const { peer, answer } of heard) {
    if (!ended || evm.network !== "main" || answer.finalized !== null) continue;
    const { hash } = query.candidates[0];
    evm.nodes.report(
      `${peer.name} knows no final block: on ${hash} it is believed by the depth alone`,
    );
  }
  return fate;
}

async function testify(evm: Evm, peer: Peer, query: FateQuery): Promise<Told> {
  const { candidates } = query;
  const standing = await standingOf(evm, peer);
  const settled = settledOf(standing, query);
  const none = { ...standing, settled, mined: null, pending: null, dead: null };
  const receipts = allOf(
    await peer.batch(candidates.map(({ hash }) => ({
      method: "eth_getTransactionReceipt",
      params: [hash],
    }))),
  ).map(readReceipt);
  const at = receipts.findIndex((receipt) => receipt !== null);
  const receipt = receipts[at];
  if (receipt) {
    return {
      ...none,
      mined: await minedFate(evm, peer, { signed: candidates[at], receipt, standing }),
    };
  }
  const dead = await deathOf(evm, peer, query, { ...standing, settled });
  if (dead) return { ...none, dead };
  const known = allOf(
    await peer.batch(candidates.map(({ hash }) => ({
      method: "eth_getTransactionByHash",
      params: [hash],
    }))),
  );
  // The newest candidate is the one that the pool prefers.
  const pooled = known.findLastIndex((answer) => answer !== null);
  return { ...none, pending: pooled < 0 ? null : candidates[pooled].hash };
}

/** Up to where a proof of death counts: as deep as it must be, and final as far as the node tells. */
function settledOf({ height, finalized }: Standing, { depth, final = true }: FateQuery): number {
  const deep = height - depth + 1;
  return final && finalized !== null ? Math.min(deep, finalized) : deep;
}

async function minedFate(
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
  const most = feeContract === null ? inspectRaw(evm, signed.raw).fee : null;
  // What was signed bounds what it took; on a second layer the first one takes its part besides.
  if (most !== null && (receipt.gasFee > most || receipt.fee > LAYERS * most)) {
    throw new ChainError("unavailable", `${peer.name} tells more than ${signed.hash} can cost`);
  }
  return {
    state: "mined",
    hash: signed.hash,
    block: bare(block),
    confirmations: height - receipt.height + 1,
    final: finalized === null || receipt.height <= finalized,
    success: receipt.success && moved(evm, signed, receipt),
    fee: receipt.fee,
    feeContract,
  };
}

/** A token that says no without failing leaves no log of the payment. */
function moved(evm: Evm, signed: Signed, receipt: EvmReceipt): boolean {
  const { payments, from: [from] } = inspectRaw(evm, signed.raw);
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

/** Proves that another transaction took the nonce, deep enough; null while nothing is proven. */
async function deathOf(
  evm: Evm,
  peer: Peer,
  query: FateQuery,
  { height, settled }: { height: number; settled: number },
): Promise<Death | null> {
  const place = placeOf(query.candidates[0].claims[0]);
  if (settled < query.since) return null;
  const latest = await countAt(peer, place, height);
  if (latest === null || latest <= place.nonce) return null;
  const taker = await takerOf(peer, place, query.since, settled);
  if (taker === null) return null;
  if (query.candidates.some(({ hash }) => hash === taker.hash)) {
    throw new ChainError("unavailable", `${peer.name} lists ${taker.hash} but has no receipt`);
  }
  await assertTook(evm, peer, place, taker.hash);
  return { state: "dead", proof: "consumed", by: taker.hash, height: taker.height };
}

/** Finds the transaction that took a nonce: by halving, or block by block where states are gone. */
async function takerOf(peer: Peer, place: Place, since: number, settled: number) {
  let [low, high] = [Math.max(0, since - 1), settled];
  const atEnd = await countAt(peer, place, high);
  if (atEnd !== null && atEnd <= place.nonce) return null;
  const atStart = await countAt(peer, place, low);
  // Taken before we signed at all: by somebody else who has the key.
  if (atStart !== null && atStart > place.nonce) [low, high] = [0, low];
  while (atEnd !== null && high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const count = await countAt(peer, place, middle);
    if (count === null) break;
    if (count > place.nonce) high = middle;
    else low = middle;
  }
  if (high - low > SEARCH_MAX) return null;
  for (let from = low; from <= high; from += BLOCKS_AT_ONCE) {
    const blocks = await blocksOf(peer, from, Math.min(high, from + BLOCKS_AT_ONCE - 1));
    for (const { height, transactions } of blocks) {
      const taker = transactions.find((one) =>
        one.from === place.address && one.nonce === place.nonce
      );
      if (taker) return { hash: taker.hash, height };
    }
  }
  return null;
}

/** Null if the node no longer knows. */
async function countAt(peer: Peer, { address }: Place, height: number): Promise<number | null> {
  try {
    const answer = await peer.call("eth_getTransactionCount", [address, toHex(height)]);
    return number(answer, "a nonce");
  } catch (error) {
    if (error instanceof RpcError && isMissingState(error)) return null;
    throw error;
  }
}

function placeOf(claim: string): Place {
  const [address, nonce] = claim.split(":");
  return { address: address.toLowerCase(), nonce: Number(nonce) };
}
