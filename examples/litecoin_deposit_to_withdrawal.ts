/**
 * From an empty installation to a deposit from a chain, a transfer inside at no cost, and a withdrawal,
 * on a local Litecoin node:
 *
 *     deno run -A --config tests/deno.json examples/litecoin_deposit_to_withdrawal.ts
 *
 * It starts everything it needs in a temporary folder and removes it at the end; the node itself,
 * litecoind, must be installed. Blocks are mined by hand, so that every run prints the same; what it
 * prints is checked in beside it as litecoin_deposit_to_withdrawal.txt. Hashes and addresses differ
 * each time, and are left out.
 * @module
 */
import type { Purser } from "../client/client.ts";
import {
  type Installation,
  type Json,
  say,
  show,
  startInstallation,
  until,
} from "./installation.ts";
import { type LitecoinNode, startLitecoinNode } from "./litecoin_node.ts";

await using node = await startLitecoinNode();
await using installation = await startInstallation({
  LITECOIN_TESTNET_RPC_URL: node.url,
  LITECOIN_TESTNET_NETWORK: "regtest",
  LITECOIN_TESTNET_CONFIRMATIONS: "2",
});
await walk(installation, node);

async function walk(installation: Installation, node: LitecoinNode): Promise<void> {
  say("1. Log in to the realm that the first start made");
  const { key, purser } = await installation.logIn();
  show({ "x-api-key": `${key.slice(0, 12)}…` });
  const accounts = await comeIn(purser, node);
  await goOut(purser, node, accounts);

  say("8. The balances on the chain, and the ledger's liabilities");
  await until(
    reading(purser, accounts.ramp),
    ({ balance }) => balance.total === "0" && !balance.assets!.startsWith("1.99"),
  );
  for (const [name, id] of Object.entries(accounts)) {
    const { balance } = await reading(purser, id)();
    show({ [name]: balance });
  }
  const chain = await litecoin(purser);
  show({ chain: chain.chain, network: chain.network, healthy: chain.healthy });
}

/** Reads the state of the chain. */
async function litecoin(purser: Purser) {
  return (await purser.get("/v1/chains")).find(({ chain }) => chain === "LITECOIN")!;
}

/** Reads an account. */
function reading(purser: Purser, id: string) {
  return () => purser.get("/v1/accounts/{id}", { path: { id } });
}

/** From a new ramp to a credited deposit. */
async function comeIn(
  purser: Purser,
  node: LitecoinNode,
): Promise<{ ramp: string; alice: string; bob: string }> {
  say("2. A ramp account: the way between the ledger and the chain, with an address of its own");
  const at = { asset: "LTC", testnet: true };
  const { id: ramp } = await purser.post("/v1/accounts", { body: { type: "ramp", ...at } });
  const opened = await until(reading(purser, ramp), ({ enabled }) => enabled);
  print({ enabled: opened.enabled, ramp: opened.ramp, balance: opened.balance });

  say("3. A virtual account on it, and an address whose deposits go on to that account");
  const body = { type: "virtual" as const, ramp, ...at };
  const { id: alice } = await purser.post("/v1/accounts", { body });
  const { id: bob } = await purser.post("/v1/accounts", { body });
  const given = await purser.post("/v1/accounts/{id}/address", {
    path: { id: alice },
    body: { data: { order: "7" } },
  });
  const { address } = given.address!;
  print({ type: given.type, address });
  await until(() => litecoin(purser), ({ healthy }) => healthy === true);

  say("4. Somebody pays 2 LTC to that address; it is seen before any block has it");
  print({ hash: await node.rpc("sendtoaddress", address, 2) });
  const deposits = () => purser.get("/v1/deposits/all");
  const [seen] = await until(deposits, (all) => all.length === 1);
  print({ amount: seen.amount, status: seen.status, confirmations: seen.confirmations });

  say("5. The deposit counts at its depth, and is swept to the ramp less the chain's fee");
  await node.mine(2);
  const [counted] = await until(deposits, ([one]) => one.status === "CONFIRMED");
  print({ amount: counted.amount, status: counted.status, block: counted.block });
  await mineWaiting(node);
  const [swept] = await until(deposits, ([one]) => one.forward?.status === "DONE");
  print({ forward: swept.forward, address_data: swept.address_data });
  const credited = await until(reading(purser, alice), ({ balance }) => balance.total !== "0");
  print({ alice: credited.balance });
  return { ramp, alice, bob };
}

/** A transfer inside, and a withdrawal. */
async function goOut(
  purser: Purser,
  node: LitecoinNode,
  { alice, bob }: { alice: string; bob: string },
): Promise<void> {
  say("6. Half an LTC moves to another account at once, without any chain");
  const moved = await purser.post("/v1/transactions", {
    body: { source: { account: alice }, destination: { account: bob }, value: "0.5" },
  });
  print({ type: moved.type, amount: moved.amount, balances: moved.balances });

  say("7. A quarter goes out to an address on the chain; the fee is the sender's");
  const address = await node.rpc<string>("getnewaddress", "", "bech32");
  const estimate = await purser.post("/v1/withdrawals/estimate", {
    body: { account: bob, address, amount: "0.25", speed: "medium" },
  });
  print({ estimate });
  const made = await purser.post("/v1/withdrawals", {
    body: {
      source: { account: bob },
      destination: { address },
      asset: "LTC",
      value: "0.25",
      fee: { paid_by: "sender", speed: "medium" },
    },
  });
  print({ status: made.status, value: made.value, amount: made.amount, fee: made.fee });
  await mineWaiting(node);
  const done = await until(
    () => purser.get("/v1/withdrawals/{id}", { path: { id: made.id } }),
    ({ status }) => status !== "PROCESSING",
  );
  print({ status: done.status, chain: done.chain });
  print({ "received outside": await node.rpc("getreceivedbyaddress", address) });
}

/** Mines as soon as a transaction waits for a block, until it has two confirmations. */
async function mineWaiting(node: LitecoinNode): Promise<void> {
  await until(() => node.rpc<string[]>("getrawmempool"), (waiting) => waiting.length > 0);
  await node.mine(2);
}

/** Prints the parts that are the same in every run. */
function print(what: Json): void {
  const hide = (_: string, value: unknown) =>
    typeof value !== "string" ? value : value
      .replace(/\b[0-9a-f]{64}\b/g, "<hash>")
      .replace(/\brltc1\w{39}\b/g, "<address>");
  show(JSON.parse(JSON.stringify(what, hide)));
}
