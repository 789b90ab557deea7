/**
 * An EVM chain to play on: anvil with the adapter over it.
 * @module
 */
import { AbiCoder, computeAddress, getCreateAddress, SigningKey } from "ethers";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openEvm } from "../../../workers/chains/evm/chain.ts";
import type { EvmChainId } from "../../../workers/chains/evm/networks.ts";
import token from "../../../workers/chains/evm/token/Token.json" with { type: "json" };
import type { SendRequest } from "../../../workers/chains/outgoing.ts";
import type { Party, ReorganisingFixture } from "../conformance.ts";
import { type Anvil, rich, startAnvil } from "../../support/nodes/anvil.ts";

/** A fixture that also gives its node away. */
export interface EvmFixture extends ReorganisingFixture {
  readonly anvil: Anvil;
  /** Opens the adapter over other addresses; closed with the fixture. */
  open(...urls: string[]): Promise<Chain>;
}

const CHAIN_IDS: Readonly<Record<EvmChainId, number>> = {
  ETHEREUM: 1,
  POLYGON: 137,
  CELO: 42220,
  BSC: 56,
};

/** Starts a chain; a test network has the id that local nodes use. */
export async function openEvmFixture(
  id: EvmChainId = "ETHEREUM",
  network: "main" | "testnet" = "main",
  ...args: string[]
): Promise<EvmFixture> {
  const anvil = await startAnvil(network === "main" ? CHAIN_IDS[id] : 31337, ...args);
  const opened: Chain[] = [];
  async function open(...urls: string[]): Promise<Chain> {
    const chain = await openEvm(id, network, urls, { limits: { timeoutMs: 20_000 } });
    opened.push(chain);
    return chain;
  }
  const chain = await open(anvil.url);
  return {
    anvil,
    chain,
    open,
    payer: rich(0),
    amount: 10n ** 17n,
    party: () => Promise.resolve(newParty()),
    available: async (address) => ({ nonce: (await chain.nonces!.count(address)).mined }),
    pay: (to, amount) => anvil.pool({ to, value: amount, from: 1 }),
    mine: anvil.mine,
    reorganise: async (blocks) => void await anvil.rpc("anvil_reorg", blocks, []),
    openElsewhere: () => openEvm(id === "BSC" ? "CELO" : "BSC", "main", [anvil.url]),
    [Symbol.asyncDispose]: async () => {
      for (const one of opened) one.close();
      await anvil.stop();
    },
  };
}

/** Makes up somebody new. */
export function newParty(): Party {
  const key = crypto.getRandomValues(new Uint8Array(32));
  return { address: computeAddress(new SigningKey(key)), key };
}

/** A token payment. */
export function paysToken(
  from: Party,
  contract: string,
  to: string,
  amount: bigint | "all",
): SendRequest {
  return { kind: "pay", from: from.address, contract, payments: [{ to, amount }] };
}

/** Deploys the token that the service deploys, the whole supply in the hands of rich account 0. */
export async function deployToken({ anvil, chain }: EvmFixture, decimals = 6): Promise<string> {
  const from = rich(0).address;
  const nonce = (await chain.nonces!.count(from)).mined;
  const types = ["string", "string", "uint8", "uint256"];
  const values = AbiCoder.defaultAbiCoder().encode(types, ["Plain", "PLN", decimals, 10n ** 30n]);
  await anvil.send({ data: token.bytecode.Token + values.slice(2) });
  return getCreateAddress({ from, nonce });
}
