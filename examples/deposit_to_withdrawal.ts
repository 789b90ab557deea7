/**
 * From an empty installation to a deposit from a chain, a transfer inside at no cost, and a withdrawal,
 * on a local Ethereum node:
 *
 *     deno run -A --config tests/deno.json examples/deposit_to_withdrawal.ts
 *
 * It starts everything it needs in a temporary folder and removes it at the end. Its output is
 * checked in beside it as deposit_to_withdrawal.txt; ids, addresses and hashes differ each time.
 * @module
 */
import anvilPackage from "@foundry-rs/anvil-linux-amd64/package.json" with { type: "json" };

import { lineOf, startInstallation } from "./installation.ts";
import { walk } from "./walk.ts";

const WEI = 10n ** 18n;

const node = startNode();
const nodeUrl = `http://${await lineOf(node.stdout, /Listening on (\S+)/)}`;
try {
  await using installation = await startInstallation({
    ETHEREUM_TESTNET_RPC_URL: nodeUrl,
    ETHEREUM_TESTNET_CONFIRMATIONS: "2",
  });
  await walk(installation, {
    chain: "ETHEREUM",
    asset: "ETH",
    symbol: "ETH",
    testnet: true,
    amounts: { deposit: 2, move: 0.5, withdrawal: 0.25 },
    pay: async (to, amount) => {
      const [rich] = await ask<string[]>("eth_accounts", []);
      const value = `0x${(BigInt(amount) * WEI).toString(16)}`;
      return await ask("eth_sendTransaction", [{ from: rich, to, value }]);
    },
    outside: "0x00000000000000000000000000000000DeaDBeef",
    held: (address) => ask("eth_getBalance", [address, "latest"]),
  });
} finally {
  node.kill("SIGTERM");
  await node.status;
}

/** Starts a node that makes a block every second. */
function startNode(): Deno.ChildProcess {
  const home = import.meta.resolve("@foundry-rs/anvil-linux-amd64/package.json");
  return new Deno.Command(new URL(anvilPackage.bin.anvil, home), {
    args: ["--port", "0", "--host", "127.0.0.1", "--block-time", "1", "--chain-id", "31337"],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

/** Asks the node itself, as a third party would. */
async function ask<T>(method: string, params: unknown[]): Promise<T> {
  const response = await fetch(nodeUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await response.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}
