/**
 * From an empty installation to a deposit from a chain, a transfer inside at no cost, and a withdrawal,
 * on a local Tron node:
 *
 *     deno run -A --config tests/deno.json examples/tron_deposit_to_withdrawal.ts
 *
 * It starts everything it needs in a temporary folder and removes it at the end. Tron's own node comes in
 * no package, so it is the node of the tests, which refuses what java-tron refuses. Its output is
 * checked in beside it as tron_deposit_to_withdrawal.txt; addresses and hashes differ each time.
 * @module
 */
import { startTronNode } from "../tests/support/nodes/tron/node.ts";
import { newTronParty, toHex } from "../tests/support/nodes/tron/wallet.ts";
import { nodePort, startInstallation } from "./installation.ts";
import { everySecond, walk } from "./walk.ts";

const SUN = 1_000_000;

// Two blocks lie above the newest solidified one; on the main network about 18 do.
await using node = await startTronNode({ lag: 2, port: nodePort("TRON_RPC_URL") });
await using _blocks = everySecond(() => node.mine());
await using installation = await startInstallation({
  TRON_RPC_URL: node.url,
  TRON_GENESIS_HASH: "any",
  TRON_CONFIRMATIONS: "2",
});
await walk(installation, {
  chain: "TRON",
  asset: "TRON",
  symbol: "TRX",
  testnet: false,
  amounts: { deposit: 200, move: 50, withdrawal: 25 },
  pay: (address, amount) => node.pay(address, BigInt(amount * SUN)),
  outside: newTronParty().address,
  held: async (address) => {
    const body = JSON.stringify({ address: toHex(address) });
    const answer = await fetch(`${node.url}/wallet/getaccount`, { method: "POST", body });
    return (await answer.json()).balance / SUN;
  },
});
