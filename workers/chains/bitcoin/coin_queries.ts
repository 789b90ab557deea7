/**
 * Queries on single coins. A coin counts as gone only if every node at the requested block reports so: a
 * node that lags or lies removes no coin.
 * @module
 */
import type { CoinList, CoinSpender, CoinState, CoinWitness, KnownCoin } from "../coins.ts";
import { followedBlock } from "../head.ts";
import type { Nodes, Peer } from "../node_pool.ts";
import type { Heard } from "../quorum.ts";
import { RpcError } from "../rpc.ts";
import type { CoinChain } from "./context.ts";
import { hash, isMissingMethod, type Unspent, unspentAt, unspentOf } from "./node_answers.ts";
import { readBlockAt, readHead } from "./scan.ts";

/**
 * Opens the questions about coins of a chain.
 *
 * @param patient the same nodes with a time-out long enough to read all coins
 */
export function openCoinWitness(chain: CoinChain, patient: Nodes): CoinWitness {
  return {
    list: (addresses, turn) => listCoins(chain, patient.from(turn), addresses),
    confirm: (coins, block) => confirmCoins(chain, coins, block),
    pooled: (inputs) => pooledCoins(chain, inputs),
    spenders: (inputs, since, turn) => findSpenders(chain, inputs, since, turn),
  };
}

async function confirmCoins(
  chain: CoinChain,
  coins: readonly KnownCoin[],
  block: { readonly height: number; readonly hash: string },
): Promise<CoinState[] | null> {
  const scripts = await Promise.all(coins.map(({ address }) => chain.scripts.script(address)));
  const { quorum } = chain.nodes;
  const answersIn = (heard: readonly Heard<(Unspent | null)[] | null>[]) =>
    heard.flatMap(({ answer }) => answer === null ? [] : [answer]);
  const { heard } = await chain.nodes.hear(
    (peer) => stateAt(peer, coins, block.hash),
    (some) => answersIn(some).length >= quorum,
  );
  const answers = answersIn(heard);
  // With fewer answers than the quorum no coin counts as gone.
  if (answers.length < quorum) return null;
  return coins.map((coin, at) => {
    const states = new Set(answers.map((one) => stateOf(coin, scripts[at], one[at])));
    return states.size === 1 ? [...states][0] : "unclear";
  });
}

/** Reads the state of coins; null where the node's newest block is another, or changes meanwhile. */
async function stateAt(
  peer: Peer,
  coins: readonly KnownCoin[],
  best: string,
): Promise<(Unspent | null)[] | null> {
  const newest = async () => hash(await peer.call("getbestblockhash", []));
  if (await newest() !== best) return null;
  const found = await unspentOf(peer, coins.map(({ input }) => input), false);
  return await newest() === best ? found : null;
}

function stateOf(coin: KnownCoin, script: string, found: Unspent | null): CoinState {
  return found !== null && found.script === script && found.amount === coin.amount
    ? "unspent"
    : "gone";
}

async function pooledCoins({ nodes }: CoinChain, inputs: readonly string[]): Promise<string[]> {
  const { heard } = await nodes.hear(async (peer) => {
    const inPool = await unspentOf(peer, inputs, true);
    const missing = inputs.filter((_, at) => inPool[at] === null);
    const inBlocks = await unspentOf(peer, missing, false);
    return missing.filter((_, at) => inBlocks[at] !== null);
  }, ({ length }) => length >= nodes.peers.length);
  return [...new Set(heard.flatMap(({ answer }) => answer))];
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
  inputs: readonly string[],
  since: number,
  turn: number,
): Promise<ReadonlyMap<string, CoinSpender> | null> {
  const found = await chain.nodes.from(turn).ask(async (peer) => {
    const { height } = await readHead(peer);
    return await chain.spends.find(peer, inputs, since, height);
  });
  if (found === null || chain.nodes.quorum === 1) return found;
  const blocks = new Map<number, string | undefined>();
  const agreed = new Map<string, CoinSpender>();
  for (const [input, spender] of found) {
    const { height, blockHash } = spender;
    if (!blocks.has(height)) {
      blocks.set(height, (await followedBlock(chain.nodes, height, readBlockAt))?.hash);
    }
    // The bytes prove the contents of a block, not that the chain has the block.
    if (blocks.get(height) === blockHash) agreed.set(input, spender);
    else chain.nodes.report(`only one node has the block with the spender of ${input}`);
  }
  return agreed;
}
