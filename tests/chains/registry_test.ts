import { deepEqual, equal } from "node:assert/strict";
import { CHAIN_NAMES, type Config } from "../../config.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { failsAs } from "./conformance.ts";
import { startAnvil } from "../support/nodes/anvil.ts";

const ALIKE = { timeoutMs: null, genesisHash: null };
const NONE = { rpcUrls: [], confirmations: null, quorum: 1 };

function settings(some: Partial<Config["chains"]>): Config["chains"] {
  const empty = { main: NONE, testnet: NONE, testnetNetwork: "testnet", ...ALIKE } as const;
  const all = Object.fromEntries(CHAIN_NAMES.map((name) => [name, empty]));
  return { ...all, ...some } as Config["chains"];
}

Deno.test("openChains() opens the configured chains, once, and nothing else", async () => {
  await using anvil = await startAnvil(31337);
  const chains = openChains(settings({
    ETHEREUM: {
      main: NONE,
      testnet: { rpcUrls: [anvil.url], confirmations: 5, quorum: 1 },
      testnetNetwork: "testnet",
      ...ALIKE,
    },
  }));
  const place = { chain: "ETHEREUM", testnet: true } as const;
  deepEqual(chains.configured, [place]);
  const chain = await chains.open(place);
  equal(chain, await chains.open(place));
  deepEqual([chain.id, chain.network, (await chain.head()).height], ["ETHEREUM", "testnet", 0]);
  await failsAs("unavailable", chains.open({ chain: "ETHEREUM", testnet: false }));
  await failsAs("unavailable", chains.open({ chain: "BITCOIN", testnet: false }));
  chains.close();
  await failsAs("unavailable", chain.head());
});

Deno.test("depths and networks are known without a node", () => {
  const chains = openChains(settings({
    ETHEREUM: {
      main: { rpcUrls: [], confirmations: 40, quorum: 1 },
      testnet: NONE,
      testnetNetwork: "regtest",
      ...ALIKE,
    },
    BITCOIN: { main: NONE, testnet: NONE, testnetNetwork: "regtest", ...ALIKE },
  }));
  equal(chains.depth({ chain: "ETHEREUM", testnet: false }), 40);
  equal(chains.depth({ chain: "ETHEREUM", testnet: true }), 1);
  equal(chains.depth({ chain: "BSC", testnet: false }), 15);
  equal(chains.network({ chain: "BITCOIN", testnet: true }), "regtest");
  equal(chains.network({ chain: "ETHEREUM", testnet: true }), "testnet");
  equal(chains.network({ chain: "BITCOIN", testnet: false }), "main");
});
