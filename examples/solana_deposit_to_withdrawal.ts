/**
 * From an empty installation to a deposit from a chain, a transfer inside at no cost, and a withdrawal,
 * on a local Solana node:
 *
 *     deno run -A --config tests/deno.json examples/solana_deposit_to_withdrawal.ts
 *
 * It starts everything it needs in a temporary folder and removes it at the end; the node is surfpool,
 * with the finality of the tests: every block is final a second later. Its output is checked in beside
 * it as solana_deposit_to_withdrawal.txt; addresses, hashes and fees differ each time.
 * @module
 */
import { Keypair } from "@solana/web3.js";
import { startSurfpool } from "../tests/support/nodes/surfpool.ts";
import { nodePort, startInstallation } from "./installation.ts";
import { everySecond, walk } from "./walk.ts";

const LAMPORTS = 1_000_000_000;

await using node = await startSurfpool("testnet", nodePort("SOLANA_TESTNET_RPC_URL"));
await using _blocks = everySecond(() => node.mine());
await using installation = await startInstallation({ SOLANA_TESTNET_RPC_URL: node.url });
await walk(installation, {
  chain: "SOLANA",
  asset: "SOL",
  symbol: "SOL",
  testnet: true,
  amounts: { deposit: 2, move: 0.5, withdrawal: 0.25 },
  pay: (address, amount) => node.pay(address, BigInt(amount * LAMPORTS)),
  outside: Keypair.generate().publicKey.toBase58(),
  held: async (address) => {
    const { value } = await node.rpc<{ value: number }>("getBalance", address);
    return value / LAMPORTS;
  },
});
