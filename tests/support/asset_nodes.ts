/**
 * A node of each chain on which every asset of the registry lives: somebody outside pays with it, and is paid.
 * @module
 */
import { Keypair } from "@solana/web3.js";
import * as curve from "@bitcoinerlab/secp256k1";
import { HDNodeWallet } from "ethers";
import { type Asset, type ChainId, chainInfo } from "../../domain/assets.ts";
import { addressOfKey } from "../../domain/chains/derivation.ts";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { balanceCall } from "../../workers/chains/evm/erc20.ts";
import type { CoinChainId } from "../../workers/chains/bitcoin/networks.ts";
import { startAnvil } from "./nodes/anvil.ts";
import { startCeloNode } from "./nodes/celo.ts";
import type { CoinNode } from "./nodes/litecoind.ts";
import { startSurfpool } from "./nodes/surfpool.ts";
import { startTronNode } from "./nodes/tron/node.ts";
import { newTronParty, richTron, toHex } from "./nodes/tron/wallet.ts";
import { installSplToken, type SplToken } from "./solana_tokens.ts";
import { installToken, type TestToken } from "./token_contracts.ts";
import { payToken } from "./tron_fixture.ts";

/** A node with assets on it. Amounts are base units. */
export interface AssetNode {
  readonly chain: ChainId;
  /** Whether accounts on it are of a test network. */
  readonly testnet: boolean;
  /** Settings of the service. */
  readonly env: Readonly<Record<string, string>>;
  /** Coins that an address needs so that its token's transactions can be paid. */
  readonly gas: bigint;
  mine(): Promise<unknown>;
  /** Pays from outside; not mined yet. */
  pay(asset: Asset, to: string, amount: bigint): Promise<unknown>;
  /** Makes up an address of somebody outside. */
  outsider(): Promise<string>;
  /** What an address holds. */
  held(asset: Asset, address: string): Promise<bigint>;
  stop(): Promise<unknown>;
}

/** Makes a node of a coin chain. */
export async function coinNode(
  id: CoinChainId,
  start: () => Promise<CoinNode>,
): Promise<AssetNode> {
  const node = await start();
  const script = async (of: string) => (await scriptOf(id, "regtest", of)).toHex();
  return {
    chain: id,
    testnet: true,
    gas: 0n,
    env: {
      [`${id}_TESTNET_RPC_URL`]: node.url,
      [`${id}_TESTNET_NETWORK`]: "regtest",
      [`${id}_TESTNET_CONFIRMATIONS`]: "1",
    },
    mine: () => node.mine(),
    pay: async (_, to, amount) => await node.pay([{ script: await script(to), amount }]),
    outsider: () => {
      const key = crypto.getRandomValues(new Uint8Array(32));
      return addressOfKey(id, "regtest", curve.pointFromScalar(key, true)!);
    },
    held: async (_, address) =>
      (await node.coins(await script(address))).reduce((sum, { amount }) => sum + amount, 0n),
    stop: () => node.stop(),
  };
}

/** Makes a node of an EVM chain, its tokens at their real addresses. */
export async function evmNode(id: ChainId, assets: readonly Asset[]): Promise<AssetNode> {
  const number = chainInfo(id).evmChainId!.main;
  const anvil = await startAnvil(number, ...id === "CELO" ? ["--celo"] : []);
  const tokens = new Map<string, TestToken>();
  for (const { code, contract } of assets) {
    if (contract !== null) tokens.set(code, await installToken(anvil, code));
  }
  const contracts = [...tokens.values()].map(({ contract }) => contract);
  const celo = id === "CELO" ? startCeloNode(anvil, number, contracts) : null;
  return {
    chain: id,
    testnet: false,
    gas: 10n ** 18n,
    env: { [`${id}_RPC_URL`]: celo?.url ?? anvil.url, [`${id}_CONFIRMATIONS`]: "1" },
    mine: () => anvil.mine(),
    pay: ({ code }, to, value) => tokens.get(code)?.pay(to, value) ?? anvil.pool({ to, value }),
    outsider: () => Promise.resolve(HDNodeWallet.createRandom().address),
    held: async ({ contract }, address) =>
      BigInt(
        contract === null
          ? await anvil.rpc<string>("eth_getBalance", address, "latest")
          : await anvil.rpc<string>(
            "eth_call",
            { to: contract, data: balanceCall(address) },
            "latest",
          ),
      ),
    stop: async () => {
      await celo?.[Symbol.asyncDispose]();
      await anvil.stop();
    },
  };
}

/** Makes a node of Solana. */
export async function solanaNode(assets: readonly Asset[]): Promise<AssetNode> {
  const node = await startSurfpool("main");
  const tokens = new Map<string, SplToken>();
  for (const { code, contract } of assets) {
    if (contract !== null) tokens.set(code, await installSplToken(node, code));
  }
  return {
    chain: "SOLANA",
    testnet: false,
    gas: 1_000_000_000n,
    env: { SOLANA_RPC_URL: node.url },
    mine: () => node.mine(),
    pay: ({ code }, to, amount) => tokens.get(code)?.pay(to, amount) ?? node.pay(to, amount),
    outsider: () => Promise.resolve(Keypair.generate().publicKey.toBase58()),
    held: async ({ code }, address) => {
      const token = tokens.get(code);
      if (token !== undefined) return await token.held(address) ?? 0n;
      return BigInt((await node.rpc<{ value: number }>("getBalance", address)).value);
    },
    stop: () => node.stop(),
  };
}

/** Makes a node of Tron. */
export async function tronNode(assets: readonly Asset[]): Promise<AssetNode> {
  const node = await startTronNode({ lag: 1 });
  for (const { code, contract, symbols, decimals } of assets) {
    if (contract === null) continue;
    const made = code === "USDT_TRON"
      ? await node.deploy("Tether")
      : await node.deployToken(symbols[0], decimals);
    await node.copyContract(made, contract);
  }
  async function ask(path: string, question: Record<string, unknown>) {
    const body = JSON.stringify(question);
    return await (await fetch(`${node.url}/wallet/${path}`, { method: "POST", body })).json();
  }
  return {
    chain: "TRON",
    testnet: false,
    gas: 1_000_000_000n,
    env: { TRON_RPC_URL: node.url, TRON_GENESIS_HASH: "any", TRON_CONFIRMATIONS: "1" },
    mine: () => node.mine(),
    pay: ({ contract }, to, amount) =>
      contract === null ? node.pay(to, amount) : payToken(node, contract, to, amount),
    outsider: () => Promise.resolve(newTronParty().address),
    held: async ({ contract }, address) => {
      if (contract === null) {
        return BigInt((await ask("getaccount", { address: toHex(address) })).balance ?? 0);
      }
      const data = "70a08231" + toHex(address).slice(2).padStart(64, "0");
      const call = { owner_address: richTron().hex, contract_address: toHex(contract), data };
      return BigInt(`0x${(await ask("triggerconstantcontract", call)).constant_result[0]}`);
    },
    stop: async () => await node[Symbol.asyncDispose](),
  };
}
