/**
 * Loyalty points: a virtual currency, members with aliases, a day's points in one batch, a purchase that is held and
 * then captured, and the books at the end.
 *
 *     deno run -A --config tests/deno.json examples/loyalty_points.ts
 *
 * It starts an installation in a temporary folder and removes it at the end. Its output is checked in beside it as
 * loyalty_points.txt.
 * @module
 */
import { sum } from "../client/decimal.ts";
import { say, show, startInstallation, until } from "./installation.ts";

/** The house's own account of points that were given back, and the members. */
const [SHOP, MEMBERS] = ["shop", ["ana", "ben", "cleo"]] as const;

await using installation = await startInstallation({});
const { purser } = await installation.logIn();

say("1. Points as a currency: none exist yet, and each is worth a cent");
const points = await purser.post("/v1/currencies", {
  body: { name: "POINTS", supply: "0", rate: "0.01", currency: "EUR", symbol: "P" },
});
const treasury = `${points.account}`;
show({ name: points.name, supply: points.supply, rate: points.rate, currency: points.currency });

say("2. Members are paid by their aliases; so is the shop");
const accounts = new Map<string, string>();
for (const alias of [SHOP, ...MEMBERS]) {
  const { id } = await purser.post("/v1/accounts", {
    body: { type: "virtual", asset: "POINTS", alias, currency: "EUR" },
  });
  accounts.set(alias, id);
  await until(() => purser.get("/v1/accounts/{id}", { path: { id } }), ({ enabled }) => enabled);
}
show({ aliases: [...accounts.keys()] });

say("3. The house issues what it means to give");
const issued = await purser.post("/v1/currencies/{id}/issue", {
  path: { id: points.id },
  body: { amount: "1000", seal: { campaign: "spring" } },
});
show({ supply: issued.supply });

say("4. A day's purchases in one batch: each has an outcome of its own, and one alias is mistyped");
const purchases = [["ana", "120"], ["ben", "75.5"], ["cleoo", "60"], ["cleo", "4.5"]];
const { results } = await purser.post("/v1/transactions/batch", {
  body: {
    atomic: false,
    transactions: purchases.map(([alias, value], n) => ({
      source: { account: treasury },
      destination: { alias },
      value,
      reference: `receipt-${n + 1}`,
    })),
  },
});
for (const [n, result] of results.entries()) {
  const [alias] = purchases[n];
  show("code" in result ? { alias, code: result.code } : { alias, amount: result.amount });
}

say("5. Ana orders a mug for 100 points: they are held until it is sent");
const ana = { id: accounts.get("ana")! };
const hold = await purser.post("/v1/accounts/{id}/blocks", {
  path: ana,
  body: { amount: "100", reason: "order 17: a mug" },
});
show({
  status: hold.status,
  balance: (await purser.get("/v1/accounts/{id}", { path: ana })).balance,
});

say("6. It is sent without its lid: 80 are captured, and the rest is hers again");
const sale = await purser.post("/v1/accounts/{id}/blocks/{block}/capture", {
  path: { ...ana, block: hold.id },
  body: { destination: { alias: SHOP }, amount: "80", seal: { order: 17 } },
});
show({ type: sale.type, amount: sale.amount });
show({ balance: (await purser.get("/v1/accounts/{id}", { path: ana })).balance });

say("7. The books: what members and shop hold, and what was not given away, is what was issued");
const held: string[] = [];
for (const [alias, id] of [...accounts, ["treasury", treasury]]) {
  const { balance } = await purser.get("/v1/accounts/{id}", { path: { id } });
  held.push(balance.total);
  show({ [alias]: balance.total });
}
const { supply } = await purser.get("/v1/currencies/{id}", { path: { id: points.id } });
show({ held: sum(held), supply });
