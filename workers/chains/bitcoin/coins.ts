/**
 * Asks nodes for single coins. A coin counts as gone only where every node says so that stands at the
 * block asked for: one that lags, or one that lies, takes no coin away.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { CoinList, CoinSpender, CoinState, CoinWitness, KnownCoin } from "../coins.ts";
import type { Nodes, Peer } from "../node.ts";
import { RpcError } from "../rpc.ts";
import type { CoinChain } from "./context.ts";
import { hash, isMissingMethod, type Unspent, unspentAt, unspentOf } from "./node.ts";
import { readHead } from "./scan.ts";

/**
 * Opens the questions about coins of a chain.
 *
 * @param patient the same nodes with a time-out that a look at all coins fits into
 */
export function openCoinWitness(chain: CoinChain, patient: Nodes): CoinWitness {
  return {
    list: (addresses, turn) => listCoins(chain, patient.from(turn), addresses),
    confirm: (coins, block) => confirmCoins(chain, coins, block),
    spenders: (claims, since) => findSpenders(chain, claims, since),
  };
}

async function confirmCoins(
  chain: CoinChain,
  coins: readonly KnownCoin[],
  block: { readonly height: number; readonly hash: string },
): Promise<CoinState[] | null> {
  const scripts = await Promise.all(coins.map(({ address }) => chain.scripts.script(address)));
  const asked = await Promise.allSettled(
    chain.nodes.peers.map((peer) => stateAt(peer, coins, block.hash)),
  );
  const told = asked.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  if (told.length === 0) throw failureOf(asked);
  const answers = told.filter((one) => one !== null);
  // While fewer nodes answer than must agree, none takes a coin away.
  if (answers.length < chain.nodes.quorum) return null;
  return coins.map((coin, at) => {
    const states = new Set(answers.map((one) => stateOf(coin, scripts[at], one[at])));
    return states.size === 1 ? [...states][0] : "unclear";
  });
}

/** Null where the node's newest block is another, or becomes another meanwhile. */
async function stateAt(
  peer: Peer,
  coins: readonly KnownCoin[],
  best: string,
): Promise<(Unspent | null)[] | null> {
  const newest = async () => hash(await peer.call("getbestblockhash", []));
  if (await newest() !== best) return null;
  const found = await unspentOf(peer, coins.map(({ claim }) => claim), false);
  return await newest() === best ? found : null;
}

function stateOf(coin: KnownCoin, script: string, found: Unspent | null): CoinState {
  return found !== null && found.script === script && found.amount === coin.amount
    ? "unspent"
    : "gone";
}

async function listCoins(
  chain: CoinChain,
  nodes: Nodes,
  addresses: readonly string[],
): Promise<CoinList | null> {
  const scripts = await Promise.all(addresses.map((one) => chain.scripts.script(one)));
  const lacking = new Set<string>();
  try {
    return await nodes.ask(async (peer) => {
      try {
        return await unspentAt(peer, scripts);
      } catch (error) {
        if (error instanceof RpcError && isMissingMethod(error)) lacking.add(peer.name);
        throw error;
      }
    });
  } catch (error) {
    if (lacking.size < nodes.peers.length) throw error;
    return null;
  }
}

async function findSpenders(
  chain: CoinChain,
  claims: readonly string[],
  since: number,
): Promise<ReadonlyMap<string, CoinSpender> | null> {
  return await chain.nodes.ask(async (peer) => {
    const { height } = await readHead(peer);
    return await chain.spends.find(peer, claims, since, height);
  });
}

function failureOf(asked: readonly PromiseSettledResult<unknown>[]): unknown {
  const reasons = asked.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
  return reasons.find((reason) => reason instanceof ChainError) ??
    new ChainError("unavailable", "no node tells of its coins");
}
