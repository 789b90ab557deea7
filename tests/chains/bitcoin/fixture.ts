/**
 * A coin chain to play on: a real node with the adapter over it.
 * @module
 */
import * as curve from "@bitcoinerlab/secp256k1";
import { scriptOf } from "../../../domain/chains/addresses.ts";
import { addressOfKey } from "../../../domain/chains/derivation.ts";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openCoins } from "../../../workers/chains/bitcoin/chain.ts";
import type { CoinChainId } from "../../../workers/chains/bitcoin/networks.ts";
import type { Coin } from "../../../workers/chains/outgoing.ts";
import type { Party, ReorganisingFixture } from "../conformance.ts";
import { type CoinNode, LIKE_DOGECOIN, startLitecoind } from "../../support/nodes/litecoind.ts";

/** A fixture that also gives its node away. */
export interface UtxoFixture extends ReorganisingFixture {
  readonly node: CoinNode;
  /** Opens the adapter over other addresses; closed with the fixture. */
  open(...urls: string[]): Promise<Chain>;
  /** The script of an address, in hexadecimal. */
  script(address: string): Promise<string>;
  /** Coins that an address may spend. */
  coins(address: string): Promise<Coin[]>;
}

const COIN = 100_000_000n;
/** Balances of payers, and an ordinary payment. */
const SIZES: Readonly<Record<CoinChainId, readonly [bigint, bigint]>> = {
  BITCOIN: [5n * COIN, COIN / 10n],
  LITECOIN: [5n * COIN, COIN / 10n],
  BITCOIN_CASH: [5n * COIN, COIN / 10n],
  DOGECOIN: [50n * COIN, 2n * COIN],
};

/** Starts a chain on litecoind. */
export async function openLitecoindFixture(
  id: CoinChainId,
  ...args: string[]
): Promise<UtxoFixture> {
  const strict = id === "DOGECOIN" ? LIKE_DOGECOIN : [];
  return await openUtxoFixture(id, await startLitecoind(...strict, ...args));
}

/** Puts the adapter over a node, and coins into somebody's hands; the node may be others' too. */
export async function openUtxoFixture(
  id: CoinChainId,
  node: CoinNode,
  { shared = false }: { readonly shared?: boolean } = {},
): Promise<UtxoFixture> {
  const opened: Chain[] = [];
  async function open(...urls: string[]): Promise<Chain> {
    const chain = await openCoins(id, "regtest", urls, { limits: { timeoutMs: 20_000 } });
    opened.push(chain);
    return chain;
  }
  async function script(address: string): Promise<string> {
    return (await scriptOf(id, "regtest", address)).toHex();
  }
  async function coins(address: string): Promise<Coin[]> {
    const found = await node.coins(await script(address));
    return found.map((coin) => ({ ...coin, address, parent: null }));
  }
  const [payer, chain] = [await newParty(id), await open(node.url)];
  const [wealth, amount] = SIZES[id];
  const part = { script: await script(payer.address), amount: wealth / 5n };
  await node.pay([part, part, part, part, part]);
  await node.mine();
  return {
    node,
    chain,
    open,
    script,
    coins,
    payer,
    amount,
    party: () => newParty(id),
    available: async (address) => ({ coins: await coins(address) }),
    pay: async (to, amount) => await node.pay([{ script: await script(to), amount }]),
    mine: async (blocks) => void await node.mine(blocks),
    reorganise: node.reorganise,
    openElsewhere: () => openCoins(id, "main", [node.url]),
    [Symbol.asyncDispose]: async () => {
      for (const one of opened) one.close();
      if (!shared) await node.stop();
    },
  };
}

/** Makes up somebody new. */
export async function newParty(id: CoinChainId): Promise<Party> {
  const key = crypto.getRandomValues(new Uint8Array(32));
  const point = curve.pointFromScalar(key, true);
  if (!point) throw new TypeError("no key");
  return { address: await addressOfKey(id, "regtest", point), key };
}
