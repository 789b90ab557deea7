/**
 * The end of a month: a statement of an account is compared, line by line, with what the chain says itself.
 *
 *     deno run -A --config tests/deno.json examples/reconciliation.ts
 *
 * It starts a local node and an installation in a temporary folder and removes them at the end. Its output is checked
 * in beside it as reconciliation.txt; hashes and fees differ each time.
 * @module
 */
import { Decimal, sum } from "../client/decimal.ts";
import { outsider, startEthereum } from "./ethereum_node.ts";
import { open, say, show, startInstallation, until } from "./installation.ts";

await using node = await startEthereum();
await using installation = await startInstallation({
  ETHEREUM_RPC_URL: node.url,
  ETHEREUM_CONFIRMATIONS: "2",
});
const { purser } = await installation.logIn();

say("1. A month of a shop: three customers pay over the chain, a supplier and a partner are paid");
const { id: ramp } = await open(purser, { type: "ramp", asset: "ETH" });
const { id: shop } = await open(purser, { type: "virtual", asset: "ETH", ramp });
const { id: partner } = await open(purser, { type: "virtual", asset: "ETH", ramp });
const from = Date.now();
for (const [n, amount] of ["1.5", "0.25", "0.75"].entries()) {
  const path = { id: shop };
  const body = { data: { invoice: n + 1 } };
  const { address } = await purser.post("/v1/accounts/{id}/address", {
    path,
    body,
  });
  await node.pay("ETH", address!.address, amount);
}
const deposits = await until(
  () => purser.get("/v1/deposits/all"),
  (all) => all.length === 3 && all.every(({ forward }) => forward?.status === "DONE"),
);
await purser.post("/v1/transactions", {
  body: { source: { account: shop }, destination: { account: partner }, value: "0.4" },
});
const ordered = await purser.post("/v1/withdrawals", {
  body: { source: { account: shop }, destination: { address: outsider() }, value: "1.2" },
});
const withdrawal = await until(
  () => purser.get("/v1/withdrawals/{id}", { path: { id: ordered.id } }),
  ({ status }) => status !== "PROCESSING",
);
show({ deposits: deposits.length, withdrawal: withdrawal.status });

say("2. The statement: the opening balance and every entry make the closing balance");
const statement = await purser.get("/v1/accounts/{id}/statement", {
  path: { id: shop },
  query: { from, to: Date.now() },
});
if (typeof statement === "string") throw new Error("a statement in CSV");
const { opening, closing, entries } = statement;
for (const { seq, type, amount, balance } of entries) show({ seq, type, amount, balance });
const computed = sum([opening.total, ...entries.map(({ amount }) => amount)]);
show({ closing: closing.total, computed, same: closing.total === computed });

say("3. Deposits: the chain has paid each amount to the address of its invoice");
const toChain = (hash: string) => node.payment(hash);
for (const { amount, hash, address, address_data } of deposits) {
  const paid = await toChain(hash);
  show({ ...address_data, amount, same: same(amount, paid.amount) && isOf(address, paid.to) });
}

say("4. Their sweeps: what reached the ramp is the entry of the statement, the rest was the fee");
const swept = entries.filter(({ type }) => type === "forward").map(({ amount }) => amount);
for (const { amount, forward } of deposits) {
  const { amount: moved, fee } = await toChain(forward!.hash!);
  show({
    moved,
    fee,
    inStatement: swept.some((one) => same(one, moved)),
    same: same(amount, sum([moved, fee])),
  });
}

say("5. The withdrawal: its entry is what was paid and what was charged for the fee");
const { chain, amount, fee, destination } = withdrawal;
const paid = await toChain(chain!.hash);
const [out] = entries.filter(({ type }) => type === "withdrawal");
show({ amount, same: same(amount, paid.amount) && isOf(destination.address, paid.to) });
show({ entry: out.amount, same: same(out.amount, sum([`-${amount}`, `-${fee.value}`])) });

say("6. The whole: what lies on the chain is owed to an account, or earned in fees");
const solvency = await until(
  async () => (await purser.get("/v1/solvency", { query: { asset: "ETH" } }))[0],
  (one) => one !== undefined && one.liabilities === sum([closing.total, "0.4"]),
);
const { assets, liabilities, fees, drift, solvent } = solvency;
show({ assets, liabilities, fees, drift, solvent });
const [{ address }] = await purser.get("/v1/accounts/{id}/address", { path: { id: ramp } });
show({ "the node says the same": same(assets, await node.held("ETH", address)) });

say("7. And nothing was changed behind the statement: the chain of hashes is whole");
const { valid } = await until(
  () => purser.get("/v1/transactions/verify"),
  ({ valid }) => valid,
);
show({ valid });

function same(ours: string, theirs: string): boolean {
  return new Decimal(ours).eq(theirs);
}

/** The same address, which a node writes without the capitals of its checksum. */
function isOf(ours: string, theirs: string): boolean {
  return ours.toLowerCase() === theirs.toLowerCase();
}
