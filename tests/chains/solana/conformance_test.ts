import { Keypair } from "@solana/web3.js";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import { type Fixture, type Party, suite } from "../conformance.ts";
import { startSurfpool } from "../../support/nodes/surfpool.ts";

async function start(): Promise<Fixture> {
  const node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url], { limits: { timeoutMs: 20_000 } });
  const payer = party();
  await node.pay(payer.address, 100_000_000_000n);
  await node.mine();
  return {
    ...{ chain, payer, mine: node.mine, pay: node.pay },
    amount: 50_000_000n,
    party: () => Promise.resolve(party()),
    available: () => Promise.resolve({}),
    openElsewhere: () => openSolana("main", [node.url]),
    async [Symbol.asyncDispose]() {
      chain.close();
      await node.stop();
    },
  };
}

function party(): Party {
  const { publicKey, secretKey } = Keypair.generate();
  return { address: publicKey.toBase58(), key: secretKey.slice(0, 32) };
}

// Final blocks stay, so there are no tests of blocks that are replaced.
for (const test of suite("Solana", start, { reorganises: false })) {
  if (!test.ignore) Deno.test(test);
}
