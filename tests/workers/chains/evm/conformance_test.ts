import { getBytes, Wallet } from "ethers";
import type { EvmChainId } from "../../../../workers/chains/evm/networks.ts";
import { openEvm } from "../../../../workers/chains/evm/chain.ts";
import { conformance, type Party, type Stage } from "../../../chains/conformance.ts";
import { rich, startAnvil } from "../../../support/anvil.ts";

conformance("Ethereum", () => stage("ETHEREUM", "main", 1));
conformance("Polygon", () => stage("POLYGON", "main", 137));
conformance("Celo", () => stage("CELO", "main", 42220, "--celo"));
conformance("BSC", () => stage("BSC", "main", 56));
conformance("Ethereum testnet", () => stage("ETHEREUM", "testnet", 31337));

async function stage(
  id: EvmChainId,
  network: "main" | "testnet",
  chainId: number,
  ...args: string[]
): Promise<Stage> {
  const anvil = await startAnvil(chainId, ...args);
  const chain = await openEvm(id, network, [anvil.url]);
  return {
    chain,
    payer: rich(0),
    amount: 10n ** 17n,
    party: () => Promise.resolve(newParty()),
    stock: async (address) => ({ nonce: (await chain.nonces(address))?.mined ?? null, coins: [] }),
    pay: (to, amount) => anvil.pool({ to, value: amount, from: 1 }),
    mine: anvil.mine,
    reorganise: async (blocks) => void await anvil.rpc("anvil_reorg", blocks, []),
    openElsewhere: () => openEvm("BSC", chainId === 56 ? "testnet" : "main", [anvil.url]),
    [Symbol.asyncDispose]: async () => {
      chain.close();
      await anvil.stop();
    },
  };
}

function newParty(): Party {
  const { address, privateKey } = Wallet.createRandom();
  return { address, key: getBytes(privateKey) };
}
