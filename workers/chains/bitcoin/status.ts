/**
 * Status of transactions that spend the same coins. A transaction counts as dropped only by proof: the
 * block in which another transaction spent one of its coins, and the signature on that transaction.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { type Mined, type NodeReport, voteOnStatus } from "../status_votes.ts";
import type { Peer } from "../node_pool.ts";
import type { Signed, StatusQuery, TransactionStatus } from "../outgoing.ts";
import type { Block } from "../observations.ts";
import type { CoinChain } from "./context.ts";
import { blockOf, coinOf, headerOf, satoshi, unspentOf } from "./node_answers.ts";
import { arePooled } from "./mempool.ts";
import { bare, readHead } from "./scan.ts";
import { outputsOf } from "./sign.ts";
import type { Spender } from "./spend_index.ts";
import { assertSpent, isForeign } from "./spend_proof.ts";

/** Blocks searched below the height at signing: a reorganisation may have mined it there. */
const SLACK = 10;
/** Outputs of an attempt that are asked for. */
const OUTPUTS_ASKED = 101;

/**
 * Reads the status of an order by all its attempts. It is final (mined or dropped) only if as many
 * nodes as the quorum report it.
 */
export async function statusOf(chain: CoinChain, query: StatusQuery): Promise<TransactionStatus> {
  return (await voteOnStatus(chain.nodes, query, (peer) => reportOf(chain, peer, query))).status;
}

async function reportOf(chain: CoinChain, peer: Peer, query: StatusQuery): Promise<NodeReport> {
  const { height } = await readHead(peer);
  const status = await statusAt(chain, peer, query);
  return {
    height,
    settled: height - query.depth + 1,
    mined: status.state === "mined" ? status : null,
    pending: status.state === "pending" ? status.hash : null,
    dropped: status.state === "dropped" ? status : null,
  };
}

async function statusAt(
  chain: CoinChain,
  peer: Peer,
  query: StatusQuery,
): Promise<TransactionStatus> {
  const { attempts } = query;
  const pooled = (await arePooled(peer, attempts.map(({ hash }) => hash))).lastIndexOf(true);
  if (pooled >= 0) return { state: "pending", hash: attempts[pooled].hash };
  const inputs = [...new Set(attempts.flatMap((one) => one.inputs))];
  const coins = await unspentOf(peer, inputs, false);
  const gone = inputs.filter((_, at) => coins[at] === null);
  // A transaction with an unspent input is in no block.
  const possible = attempts.filter((one) => one.inputs.every((input) => gone.includes(input)));
  const mined = await minedByCoin(chain, peer, possible);
  if (mined) return mined;
  const spent = await withConfirmedParent(peer, gone);
  if (spent.length === 0) return { state: "unseen" };
  return await byBlocks(chain, peer, query, spent);
}

/** Leaves out coins whose own transaction is not mined yet: no block can spend them. */
async function withConfirmedParent(peer: Peer, inputs: readonly string[]): Promise<string[]> {
  const waiting = await arePooled(peer, inputs.map((input) => coinOf(input).hash));
  return inputs.filter((_, at) => !waiting[at]);
}

/** Searches for an unspent output of an attempt; its block is the block of the transaction. */
async function minedByCoin(
  chain: CoinChain,
  peer: Peer,
  attempts: readonly Signed[],
): Promise<Mined | null> {
  for (const signed of attempts) {
    const outputs = Math.min(outputsOf(chain, signed.raw), OUTPUTS_ASKED);
    const own = Array.from({ length: outputs }, (_, index) => `${signed.hash}:${index}`);
    const coin = (await unspentOf(peer, own, false)).find((one) => one !== null);
    if (coin) return await minedStatus(peer, signed, await blockOf(peer, coin));
  }
  return null;
}

/** Searches blocks for the transactions that spent the coins. */
async function byBlocks(
  chain: CoinChain,
  peer: Peer,
  { attempts, since, depth }: StatusQuery,
  spent: readonly string[],
): Promise<TransactionStatus> {
  const head = await readHead(peer);
  const from = Math.max(0, since - SLACK);
  const spenders = await chain.spends.find(peer, spent, from, head.height);
  if (spenders === null) return { state: "unseen" };
  for (const signed of attempts) {
    const own = [...spenders.values()].find(({ hash }) => hash === signed.hash);
    if (!own) continue;
    return await minedStatus(peer, signed, await headerOf(peer, own.blockHash));
  }
  const settled = head.height - depth + 1;
  const drops = attempts.map((signed) => dropOf(signed, spenders, settled));
  // The order is dropped with its last attempt.
  const last = drops.reduce((one, other) =>
    one === null || other === null ? null : other.height > one.height ? other : one
  );
  if (last === null) return { state: "unseen" };
  for (const [at, drop] of drops.entries()) {
    await assertSpent(chain, peer, drop!, { input: drop!.input, attempt: attempts[at] });
  }
  return { state: "dropped", proof: "consumed", by: last.hash, height: last.height };
}

/** Finds the earliest block, deep enough, that spent a coin of an attempt; one of ours, which can be proven, if any. */
function dropOf(
  signed: Signed,
  spenders: ReadonlyMap<string, Spender>,
  settled: number,
): (Spender & { readonly input: string }) | null {
  return signed.inputs
    .flatMap((input) => {
      const spender = spenders.get(input);
      return spender === undefined ? [] : [{ ...spender, input }];
    })
    .filter(({ height }) => height <= settled)
    .toSorted((one, other) =>
      Number(isForeign(signed, one.input)) - Number(isForeign(signed, other.input)) ||
      one.height - other.height
    )[0] ?? null;
}

async function minedStatus(peer: Peer, signed: Signed, block: Block): Promise<Mined> {
  const head = await readHead(peer);
  if (head.height < block.height) {
    throw new ChainError("unavailable", `the chain is changing around ${signed.hash}`);
  }
  return {
    state: "mined",
    hash: signed.hash,
    block: bare(block),
    confirmations: head.height - block.height + 1,
    final: true,
    success: true,
    fee: signed.fee ?? await feeIn(peer, signed, block),
    feeContract: null,
  };
}

/** Reads a fee from a block, as newer nodes report it, where it was not stored with the bytes. */
async function feeIn(peer: Peer, signed: Signed, block: Block): Promise<bigint> {
  const { tx } = readRecord(await peer.call("getblock", [block.hash, 2]), "a block");
  const listed = readList(tx).map((one) => readRecord(one, "a transaction"));
  const fee = listed.find(({ txid }) => txid === signed.hash)?.fee;
  if (fee !== undefined) return satoshi(fee);
  throw new ChainError("unavailable", `${peer.name} does not tell the fee of ${signed.hash}`);
}
