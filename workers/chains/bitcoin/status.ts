/**
 * Finds out what became of transactions that spend the same coins. That one is dead is believed only
 * with the block in which another transaction spent a coin of it, and with the signature on that.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { type Testimony, voteOnStatus } from "../status_votes.ts";
import type { Peer } from "../node_pool.ts";
import type { Fate, FateQuery, Signed } from "../outgoing.ts";
import type { Block } from "../observations.ts";
import type { CoinChain } from "./context.ts";
import { blockOf, coinOf, headerOf, satoshi, unspentOf } from "./node_answers.ts";
import { arePooled } from "./mempool.ts";
import { bare, readHead } from "./scan.ts";
import { outputsOf } from "./sign.ts";
import type { Spender } from "./spend_index.ts";
import { assertSpent } from "./spend_proof.ts";

type Mined = Fate & { state: "mined" };

/** A reorganisation may have mined it below the height at which it was signed. */
const SLACK = 10;
/** Outputs of a candidate that are asked for. */
const OUTPUTS_ASKED = 101;

/**
 * Finds the fate of an order by all transactions that were ever signed for it. That one is mined for
 * good, and that all are dead, is said only if as many nodes as the quorum say so.
 */
export async function fateOf(chain: CoinChain, query: FateQuery): Promise<Fate> {
  return (await voteOnStatus(chain.nodes, query, (peer) => testify(chain, peer, query))).status;
}

async function testify(chain: CoinChain, peer: Peer, query: FateQuery): Promise<Testimony> {
  const { height } = await readHead(peer);
  const fate = await fateAt(chain, peer, query);
  return {
    height,
    settled: height - query.depth + 1,
    mined: fate.state === "mined" ? fate : null,
    pending: fate.state === "pending" ? fate.hash : null,
    dead: fate.state === "dead" ? fate : null,
  };
}

async function fateAt(chain: CoinChain, peer: Peer, query: FateQuery): Promise<Fate> {
  const { candidates } = query;
  const pooled = (await arePooled(peer, candidates.map(({ hash }) => hash))).lastIndexOf(true);
  if (pooled >= 0) return { state: "pending", hash: candidates[pooled].hash };
  const claims = [...new Set(candidates.flatMap((one) => one.claims))];
  const coins = await unspentOf(peer, claims, false);
  const gone = claims.filter((_, at) => coins[at] === null);
  // While a coin of it is unspent, a transaction is in no block.
  const possible = candidates.filter((one) => one.claims.every((claim) => gone.includes(claim)));
  const mined = await minedByCoin(chain, peer, possible);
  if (mined) return mined;
  const spent = await withConfirmedParent(peer, gone);
  if (spent.length === 0) return { state: "unseen" };
  return await byBlocks(chain, peer, query, spent);
}

/** Leaves out coins whose own transaction is not mined yet: nobody spent those in a block. */
async function withConfirmedParent(peer: Peer, claims: readonly string[]): Promise<string[]> {
  const waiting = await arePooled(peer, claims.map((claim) => coinOf(claim).hash));
  return claims.filter((_, at) => !waiting[at]);
}

/** Looks for an unspent output of a candidate, which tells the block of all of it. */
async function minedByCoin(
  chain: CoinChain,
  peer: Peer,
  candidates: readonly Signed[],
): Promise<Mined | null> {
  for (const signed of candidates) {
    const outputs = Math.min(outputsOf(chain, signed.raw), OUTPUTS_ASKED);
    const own = Array.from({ length: outputs }, (_, index) => `${signed.hash}:${index}`);
    const coin = (await unspentOf(peer, own, false)).find((one) => one !== null);
    if (coin) return await minedFate(peer, signed, await blockOf(peer, coin));
  }
  return null;
}

/** Looks through blocks for whoever spent the coins. */
async function byBlocks(
  chain: CoinChain,
  peer: Peer,
  { candidates, since, depth }: FateQuery,
  spent: readonly string[],
): Promise<Fate> {
  const head = await readHead(peer);
  const from = Math.max(0, since - SLACK);
  const spenders = await chain.spends.find(peer, spent, from, head.height);
  if (spenders === null) return { state: "unseen" };
  for (const signed of candidates) {
    const own = [...spenders.values()].find(({ hash }) => hash === signed.hash);
    if (!own) continue;
    return await minedFate(peer, signed, await headerOf(peer, own.blockHash));
  }
  const deaths = candidates.map((signed) => deathOf(signed, spenders, head.height - depth + 1));
  // The order is dead when its last candidate is.
  const last = deaths.reduce((one, other) =>
    one === null || other === null ? null : other.height > one.height ? other : one
  );
  if (last === null) return { state: "unseen" };
  for (const [at, death] of deaths.entries()) {
    await assertSpent(chain, peer, death!, { claim: death!.claim, candidate: candidates[at] });
  }
  return { state: "dead", proof: "consumed", by: last.hash, height: last.height };
}

/** The earliest block that made a candidate impossible, if it is deep enough. */
function deathOf(
  signed: Signed,
  spenders: ReadonlyMap<string, Spender>,
  settled: number,
): (Spender & { readonly claim: string }) | null {
  return signed.claims
    .flatMap((claim) => {
      const spender = spenders.get(claim);
      return spender === undefined ? [] : [{ ...spender, claim }];
    })
    .filter(({ height }) => height <= settled)
    .toSorted((one, other) => one.height - other.height)[0] ?? null;
}

async function minedFate(peer: Peer, signed: Signed, block: Block): Promise<Mined> {
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

/** Reads a fee from a block, as newer nodes tell it, where it was not kept with the bytes. */
async function feeIn(peer: Peer, signed: Signed, block: Block): Promise<bigint> {
  const { tx } = readRecord(await peer.call("getblock", [block.hash, 2]), "a block");
  const listed = readList(tx).map((one) => readRecord(one, "a transaction"));
  const fee = listed.find(({ txid }) => txid === signed.hash)?.fee;
  if (fee !== undefined) return satoshi(fee);
  throw new ChainError("unavailable", `${peer.name} does not tell the fee of ${signed.hash}`);
}
