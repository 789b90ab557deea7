/**
 * Wages in a stablecoin, paid by two people: a clerk prepares a batch of withdrawals behind a stop of signing, and an
 * administrator checks what waits and approves it by lifting the stop.
 *
 *     deno run -A --config tests/deno.json examples/payroll.ts
 *
 * It starts a local node and an installation in a temporary folder and removes them at the end. Its output is checked
 * in beside it as payroll.txt; fees differ each time.
 * @module
 */
import { isProblem } from "../client/client.ts";
import { sum } from "../client/decimal.ts";
import { outsider, startEthereum } from "./ethereum_node.ts";
import { open, say, show, startInstallation, until } from "./installation.ts";

/** Who is paid how much, and to which address; Cleo's has a digit too few. */
const WAGES = new Map([
  ["ana", { value: "3200", address: outsider() }],
  ["ben", { value: "2875.5", address: outsider() }],
  ["cleo", { value: "4100.000001", address: outsider().slice(0, -1) }],
  ["dan", { value: "2600", address: outsider() }],
]);

await using node = await startEthereum();
await using installation = await startInstallation({
  ETHEREUM_RPC_URL: node.url,
  ETHEREUM_CONFIRMATIONS: "2",
});
const { purser } = await installation.logIn();

say("1. The company's account of USDC; the ramp's address has the coins that pay for gas");
await purser.put("/v1/rates", { body: { base: "ETH", currency: "USD", rate: "2000" } });
await purser.put("/v1/rates", { body: { base: "USDC", currency: "USD", rate: "1" } });
const { id: ramp } = await open(purser, { type: "ramp", asset: "USDC" });
const { id: company } = await open(purser, { type: "virtual", asset: "USDC", ramp });
const { address: deposit } = await purser.post("/v1/accounts/{id}/address", {
  path: { id: company },
});
await node.pay("ETH", await addressOf(ramp), "1");
await node.pay("USDC", deposit!.address, "20000");
const funded = await until(balanceOf, ({ total }) => total !== "0");
show({ company: funded.total });

say("2. A clerk, who prepares payments; the right to lift a stop is not the clerk's");
const password = crypto.randomUUID();
await purser.post("/v1/users", {
  body: { username: "clerk", password, roles: "user,manage", scopes: "own,realm" },
});
const clerk = await installation.logInUser("clerk", password);

say("3. The clerk stops signing for the account: what is ordered now waits");
const stop = await clerk.post("/v1/stops", {
  body: { what: "signing", account: company, reason: "wages of November wait for approval" },
});
show({ what: stop.what, active: stop.active, reason: stop.reason });

say("4. A dry run of each payment: nothing is changed, and the mistyped address is found");
for (const name of WAGES.keys()) {
  try {
    const { value, fee } = await order(name, true);
    show({ name, value, fee: fee.value });
  } catch (error) {
    if (!isProblem(error)) throw error;
    show({ name, code: error.code });
  }
}
WAGES.get("cleo")!.address = outsider();

say("5. The batch. It is sent twice, as after a crash: the keys make one payment of each pair");
const orders = new Map<string, string>();
for (const name of WAGES.keys()) {
  const { id } = await order(name);
  orders.set(name, id);
  show({ name, sameAgain: (await order(name)).id === id });
}

say("6. Nothing is signed: each says why it waits");
for (const [name, id] of orders) {
  const { status, history, chain } = await until(
    () => read(id),
    ({ history }) => history.some(({ event }) => event === "waiting"),
  );
  const waiting = history.find(({ event }) => event === "waiting")!;
  show({ name, status, waiting: waiting.reason, "on the chain": chain !== undefined });
}

say("7. The clerk cannot let them go");
try {
  await clerk.delete("/v1/stops/{id}", { path: { id: stop.id } });
} catch (error) {
  if (!isProblem(error)) throw error;
  show({ status: error.status, code: error.code });
}

say("8. The administrator checks the batch, and takes one payment out: Dan left in October");
const query = JSON.stringify({ "data.batch": "wages-2026-11" });
const prepared = { query: { query, scope: ["all" as const] } };
const listed = await Array.fromAsync(purser.items("/v1/withdrawals/all", prepared));
show({ payments: listed.length, value: sum(listed.map(({ value }) => value)) });
const canceled = await purser.post("/v1/withdrawals/{id}/cancel", {
  path: { id: orders.get("dan")! },
});
show({ name: "dan", status: canceled.status });

say("9. Approved: the stop is lifted, and workers sign and send");
await purser.delete("/v1/stops/{id}", { path: { id: stop.id } });
for (const [name, id] of orders) {
  const { status } = await until(() => read(id), ({ status }) => status !== "PROCESSING");
  show({ name, status, received: await node.held("USDC", WAGES.get(name)!.address) });
}

say("10. Who did what stands in the trail");
const trail = { entity: stop.id, sort: "created_at" as const };
for (const { action, actor } of await purser.get("/v1/audit", { query: trail })) {
  show({ action, by: actor === stop.owner ? "clerk" : "administrator" });
}

async function addressOf(id: string): Promise<string> {
  return (await purser.get("/v1/accounts/{id}/address", { path: { id } }))[0].address;
}

async function balanceOf() {
  return (await purser.get("/v1/accounts/{id}", { path: { id: company } })).balance;
}

/** Orders a payment as the clerk, under a key that is the payment's for ever. */
function order(name: string, dry_run = false) {
  const { value, address } = WAGES.get(name)!;
  return clerk.post("/v1/withdrawals", {
    header: { "idempotency-key": `wages-2026-11-${name}` },
    query: { dry_run },
    body: {
      source: { account: company },
      destination: { address },
      value,
      data: { batch: "wages-2026-11", name },
    },
  });
}

function read(id: string) {
  return purser.get("/v1/withdrawals/{id}", { path: { id } });
}
