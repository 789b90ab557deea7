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

import {
  type Installation,
  type Json,
  lineOf,
  say,
  type Send,
  show,
  startInstallation,
  until,
} from "./installation.ts";

const node = startNode();
const nodeUrl = `http://${await lineOf(node.stdout, /Listening on (\S+)/)}`;
try {
  await using installation = await startInstallation({
    ETHEREUM_TESTNET_RPC_URL: nodeUrl,
    ETHEREUM_TESTNET_CONFIRMATIONS: "2",
  });
  await walk(installation);
} finally {
  node.kill("SIGTERM");
  await node.status;
}

async function walk(installation: Installation): Promise<void> {
  say("1. Log in to the realm that the first start made");
  const { key, send } = await installation.logIn();
  show({ "x-api-key": `${key.slice(0, 12)}…` });
  const { ramp, alice, bob } = await comeIn(send);
  await goOut(send, alice, bob);

  say("8. The balances on the chain, and the ledger's liabilities");
  for (const [name, id] of Object.entries({ ramp, alice, bob })) {
    const view = await send("GET", `/v1/accounts/${id}`);
    show({ [name]: view.balance });
  }
  const [chain] = await send("GET", "/v1/chains");
  show({ chain: chain.chain, network: chain.network, healthy: chain.healthy });
}

/** From a new ramp to a credited deposit. */
async function comeIn(send: Send): Promise<{ ramp: string; alice: string; bob: string }> {
  say("2. A ramp account: the way between the ledger and the chain, with an address of its own");
  const at = { asset: "ETH", testnet: true };
  const ramp = (await send("POST", "/v1/accounts", { type: "ramp", ...at })).id;
  const opened = await until(() => send("GET", `/v1/accounts/${ramp}`), (one) => one.enabled);
  show({ enabled: opened.enabled, ramp: opened.ramp, balance: opened.balance });

  say("3. A virtual account on it, and an address whose deposits go on to that account");
  const alice = (await send("POST", "/v1/accounts", { type: "virtual", ramp, ...at })).id;
  const bob = (await send("POST", "/v1/accounts", { type: "virtual", ramp, ...at })).id;
  const given = await send("POST", `/v1/account/${alice}/address`, { data: { order: "7" } });
  const { address } = given.address as Json;
  show({ type: given.type, address });

  say("4. Somebody pays 2 ETH to that address, on the chain");
  const [rich] = await ask<string[]>("eth_accounts", []);
  const payment = { from: rich, to: address, value: "0x1bc16d674ec80000" };
  show({ hash: await ask("eth_sendTransaction", [payment]) });

  say("5. The deposit is seen, counts at its depth, and is swept to the ramp less the chain's fee");
  const swept = await until(
    () => send("GET", "/v1/deposits/all"),
    ([one]) => one?.forward?.status === "DONE",
  );
  const { amount, status, confirmations, forward, address_data } = swept[0];
  show({ amount, status, confirmations, forward, address_data });
  const credited = await until(
    () => send("GET", `/v1/accounts/${alice}`),
    (account) => account.balance.total !== "0",
  );
  show({ alice: credited.balance });
  return { ramp, alice, bob };
}

/** A transfer inside, and a withdrawal. */
async function goOut(send: Send, alice: string, bob: string): Promise<void> {
  say("6. Half an ETH moves to another account at once, without any chain");
  const move = { source: { account: alice }, destination: { account: bob }, value: "0.5" };
  const moved = await send("POST", "/v1/transactions", move);
  show({ type: moved.type, amount: moved.amount, balances: moved.balances });

  say("7. A quarter goes out to an address on the chain; the fee is the sender's");
  const outside = "0x00000000000000000000000000000000DeaDBeef";
  const withdrawal = {
    source: { account: bob },
    destination: { address: outside },
    asset: "ETH",
    value: 0.25,
    fee: { paid_by: "sender", speed: "medium" },
  };
  const estimate = { account: bob, address: outside, amount: 0.25, speed: "medium" };
  show({ estimate: await send("POST", "/v1/withdrawals/estimate", estimate) });
  const made = await send("POST", "/v1/withdrawals", withdrawal);
  show({ status: made.status, value: made.value, amount: made.amount, fee: made.fee });
  const done = await until(
    () => send("GET", `/v1/withdrawals/${made.id}`),
    (withdrawal) => withdrawal.status !== "PROCESSING",
  );
  show({ status: done.status, chain: done.chain });
  show({ "received outside": await ask("eth_getBalance", [outside, "latest"]) });
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
