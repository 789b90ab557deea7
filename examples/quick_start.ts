/**
 * The first ten minutes: a currency, two accounts, a transfer, a refusal, and a repeat that does nothing twice.
 *
 *     deno run -A --config tests/deno.json examples/quick_start.ts
 *
 * It starts an installation in a temporary folder and removes it at the end. Its output is checked in beside it as
 * quick_start.txt. In a program of yours `createClient({ url, key })` stands for the first step.
 * @module
 */
import { isProblem } from "../client/client.ts";
import { say, show, startInstallation, until } from "./installation.ts";

await using installation = await startInstallation({});

say("1. Log in; a client carries the key and repeats what the network loses");
const { purser } = await installation.logIn();
const me = await purser.get("/v1/auth/me");
show({ roles: me.roles, scopes: me.scopes });

say("2. A currency of the house; its account holds the supply");
const currency = await purser.post("/v1/currencies", { body: { name: "GOLD", supply: "1000" } });
const reserve = `${currency.account}`;
show({ name: currency.name, supply: currency.supply });

say("3. Two accounts of customers, which are enabled at once");
const [ana, ben] = [await open("ana"), await open("ben")];
show({ ana: await balanceOf(ana), ben: await balanceOf(ben) });

say("4. A transfer, exact to the last digit");
const first = await pay(reserve, ana, "100.000000000000000001");
show({ type: first.type, status: first.status, amount: first.amount });

say("5. The same request under the same key: answered again, done once");
const order = { "idempotency-key": "order-17" };
const body = { source: { account: ana }, destination: { account: ben }, value: "30" };
const paid = await purser.post("/v1/transactions", { body, header: order });
const again = await purser.post("/v1/transactions", { body, header: order });
show({ sameTransaction: paid.id === again.id, ben: await balanceOf(ben) });

say("6. What the balance does not cover is refused; programs decide by the code");
try {
  await pay(ben, ana, "30.01");
} catch (error) {
  if (!isProblem(error, "balance.insufficient")) throw error;
  show({ status: error.status, code: error.code });
}

say("7. Both accounts, entry by entry; a list is read to its end");
for (const [name, id] of Object.entries({ ana, ben })) {
  const entries = purser.items("/v1/accounts/{id}/entries", { path: { id } });
  for await (const { type, amount, balance } of entries) show({ [name]: type, amount, balance });
}

/** Opens an account, and waits until it is enabled. */
async function open(reference: string): Promise<string> {
  const { id } = await purser.post("/v1/accounts", {
    body: { type: "virtual", asset: "GOLD", reference },
  });
  const read = () => purser.get("/v1/accounts/{id}", { path: { id } });
  return (await until(read, ({ enabled }) => enabled)).id;
}

async function balanceOf(id: string): Promise<string> {
  return (await purser.get("/v1/accounts/{id}", { path: { id } })).balance.total;
}

function pay(source: string, destination: string, value: string) {
  return purser.post("/v1/transactions", {
    body: { source: { account: source }, destination: { account: destination }, value },
  });
}
