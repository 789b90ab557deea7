/**
 * An exchange: customers with logins of their own, deposits that come at once and are swept, trades of which both legs
 * are posted or none, withdrawals, and the chain compared with the ledger.
 *
 *     deno run -A --config tests/deno.json examples/exchange.ts
 *
 * It starts a local node and an installation in a temporary folder and removes them at the end. Its output is checked
 * in beside it as exchange.txt; fees, and the digits that they change, differ each time.
 * @module
 */
import { isProblem, type Purser } from "../client/client.ts";
import { Decimal, sum } from "../client/decimal.ts";
import { outsider, startEthereum } from "./ethereum_node.ts";
import { open, say, show, startInstallation, until } from "./installation.ts";

/** A customer, with accounts of both sides of the market. */
interface Customer {
  readonly purser: Purser;
  readonly eth: string;
  readonly dollars: string;
}

const NAMES = ["ana", "ben", "cleo", "dan", "eva", "finn"];

await using node = await startEthereum();
await using installation = await startInstallation({
  ETHEREUM_RPC_URL: node.url,
  ETHEREUM_CONFIRMATIONS: "2",
});
const { purser } = await installation.logIn();

say("1. The exchange: a ramp to the chain, and dollars that it owes to its customers");
const ramp = await open(purser, { type: "ramp", asset: "ETH" });
const dollars = await purser.post("/v1/currencies", {
  body: { name: "HOUSEUSD", supply: "1000000", rate: "1", currency: "USD" },
});
show({ ramp: ramp.asset, enabled: ramp.enabled, dollars: dollars.supply });

say("2. Customers: each has a login, accounts of both sides, and an address; each sees its own");
const customers = new Map(
  await Promise.all(NAMES.map(async (name) => [name, await takeIn(name)] as const)),
);
const [ana, ben] = [customers.get("ana")!, customers.get("ben")!];
show({ customers: customers.size, "ana sees": await ana.purser.get("/v1/accounts/count") });
try {
  await ana.purser.get("/v1/accounts/{id}", { path: { id: ben.eth } });
} catch (error) {
  if (!isProblem(error)) throw error;
  show({ "ana asks for ben's account": error.code });
}

say("3. All of them pay in at once: coins over the chain, dollars over a bank");
await Promise.all([...customers.values()].map(async ({ purser, eth }, n) => {
  const [{ address }] = await purser.get("/v1/accounts/{id}/address", { path: { id: eth } });
  await node.pay("ETH", address, `${n + 1}`);
}));
await purser.post("/v1/transactions/batch", {
  body: {
    atomic: true,
    transactions: [...customers].map(([name, customer]) => ({
      source: { account: `${dollars.account}` },
      destination: { account: customer.dollars },
      value: "5000",
      reference: `bank transfer of ${name}`,
    })),
  },
});
const deposits = { query: { scope: ["all" as const], limit: 2 } };
const swept = await until(
  () => Array.fromAsync(purser.items("/v1/deposits/all", deposits)),
  (all) => all.length === NAMES.length && all.every(({ forward }) => forward?.status === "DONE"),
);
show({
  deposits: sum(swept.map(({ amount }) => amount)),
  "fees of the sweeps": sum(swept.map(({ forward }) => `${forward!.fee}`)),
});

say("4. Ana buys an ETH of Ben: both legs in one atomic batch");
show({ status: await trade(ana, ben, "1", "1600") });
show({ ana: await held(ana), ben: await held(ben) });

say("5. She cannot pay for three more, so no leg is posted");
try {
  await trade(ana, ben, "0.5", "3400.01");
} catch (error) {
  if (!isProblem(error, "balance.insufficient")) throw error;
  show({ status: error.status, code: error.code });
}
show({ ana: await held(ana) });

say("6. Everybody withdraws half an ETH at once, each with a key of its own");
const paid = await Promise.all([...customers.values()].map(async ({ purser, eth }) => {
  const address = outsider();
  const { id } = await purser.post("/v1/withdrawals", {
    body: { source: { account: eth }, destination: { address }, value: "0.5" },
  });
  const read = () => purser.get("/v1/withdrawals/{id}", { path: { id } });
  const { status } = await until(read, ({ status }) => status !== "PROCESSING");
  return { status, received: await node.held("ETH", address) };
}));
for (const one of paid) show(one);

say("7. The chain has what customers hold, and what the house has earned in fees");
const accounts = await Promise.all([...customers.values()].map(held));
const owed = sum(accounts.map(({ eth }) => eth));
const [{ address }] = await purser.get("/v1/accounts/{id}/address", { path: { id: ramp.id } });
const onChain = await node.held("ETH", address);
show({ owed, "the node says": onChain, earned: new Decimal(onChain).minus(owed).toString() });

/** Makes a user, with an account on the ramp, one of dollars, and an address for deposits. */
async function takeIn(username: string): Promise<Customer> {
  const password = crypto.randomUUID();
  const { id: owner } = await purser.post("/v1/users", { body: { username, password } });
  const { id: eth } = await open(purser, { type: "virtual", asset: "ETH", owner, ramp: ramp.id });
  const { id: dollars } = await open(purser, { type: "virtual", asset: "HOUSEUSD", owner });
  const own = await installation.logInUser(username, password);
  await own.post("/v1/accounts/{id}/address", { path: { id: eth } });
  return { purser: own, eth, dollars };
}

/** Settles a trade: the dollars go one way and the coins the other, or neither. */
async function trade(buyer: Customer, seller: Customer, eth: string, price: string) {
  await purser.post("/v1/transactions/batch", {
    body: {
      atomic: true,
      transactions: [
        {
          source: { account: seller.eth },
          destination: { account: buyer.eth },
          value: eth,
        },
        {
          source: { account: buyer.dollars },
          destination: { account: seller.dollars },
          value: price,
        },
      ],
    },
  });
  return "settled";
}

async function held({ purser, ...accounts }: Customer) {
  const read = async (id: string) =>
    (await purser.get("/v1/accounts/{id}", { path: { id } })).balance.available;
  return { eth: await read(accounts.eth), dollars: await read(accounts.dollars) };
}
