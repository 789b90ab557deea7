/**
 * Shared by the examples on chains whose blocks come by themselves: from an empty installation to a
 * deposit from a chain, a transfer inside at no cost, and a withdrawal.
 * @module
 */
import type { Purser } from "../client/client.ts";
import { type Installation, say, show, until } from "./installation.ts";

/** A chain as an example knows it. Amounts are whole units of its coin. */
export interface Walk {
  /** Code of the chain. */
  readonly chain: string;
  /** Code of the asset, the symbol that people write, and whether its network is a test network. */
  readonly asset: string;
  readonly symbol: string;
  readonly testnet: boolean;
  /** Amounts that are deposited, moved inside, and withdrawn. */
  readonly amounts: {
    readonly deposit: number;
    readonly move: number;
    readonly withdrawal: number;
  };
  /** Pays a deposit from outside. Gives the hash of the transaction. */
  pay(address: string, amount: number): Promise<string>;
  /** An address outside that receives, and what the chain says that it holds. */
  readonly outside: string;
  held(address: string): Promise<unknown>;
}

/** Accounts of the walk. */
interface Accounts {
  readonly ramp: string;
  readonly alice: string;
  readonly bob: string;
}

/** Walks from the login to the balances at the end, and prints each step. */
export async function walk(installation: Installation, chain: Walk): Promise<void> {
  say("1. Log in to the realm that the first start made");
  const { key, purser } = await installation.logIn();
  show({ "x-api-key": `${key.slice(0, 12)}…` });
  const accounts = await comeIn(purser, chain);
  await goOut(purser, chain, accounts);

  say("8. The balances on the chain, and the ledger's liabilities");
  await until(
    () => purser.get("/v1/accounts/{id}", { path: { id: accounts.ramp } }),
    ({ balance }) => balance.total === "0",
  );
  for (const [name, id] of Object.entries(accounts)) {
    const { balance } = await purser.get("/v1/accounts/{id}", { path: { id } });
    show({ [name]: balance });
  }
  const chains = await purser.get("/v1/chains");
  const status = chains.find((one) => one.chain === chain.chain)!;
  show({ chain: status.chain, network: status.network, healthy: status.healthy });
}

/** From a new ramp to a credited deposit. */
async function comeIn(purser: Purser, chain: Walk): Promise<Accounts> {
  say("2. A ramp account: the way between the ledger and the chain, with an address of its own");
  const { asset, testnet } = chain;
  const { id: ramp } = await purser.post("/v1/accounts", {
    body: { type: "ramp", asset, testnet },
  });
  const read = (id: string) => () => purser.get("/v1/accounts/{id}", { path: { id } });
  const opened = await until(read(ramp), ({ enabled }) => enabled);
  show({ enabled: opened.enabled, ramp: opened.ramp, balance: opened.balance });

  say("3. A virtual account on it, and an address whose deposits go on to that account");
  const body = { type: "virtual" as const, ramp, asset, testnet };
  const { id: alice } = await purser.post("/v1/accounts", { body });
  const { id: bob } = await purser.post("/v1/accounts", { body });
  const given = await purser.post("/v1/accounts/{id}/address", {
    path: { id: alice },
    body: { data: { order: "7" } },
  });
  const { address } = given.address!;
  show({ type: given.type, address });

  const { deposit } = chain.amounts;
  say(`4. Somebody pays ${deposit} ${chain.symbol} to that address, on the chain`);
  show({ hash: await chain.pay(address, deposit) });

  say("5. The deposit is seen, counts at its depth, and is swept to the ramp less the chain's fee");
  const swept = await until(
    () => purser.get("/v1/deposits/all"),
    ([one]) => one?.forward?.status === "DONE",
  );
  const { amount, status, forward, address_data } = swept[0];
  show({ amount, status, forward, address_data });
  const credited = await until(read(alice), ({ balance }) => balance.total !== "0");
  show({ alice: credited.balance });
  return { ramp, alice, bob };
}

/** A transfer inside, and a withdrawal. */
async function goOut(purser: Purser, chain: Walk, { alice, bob }: Accounts): Promise<void> {
  const { amounts, symbol, outside: address } = chain;
  say(
    `6. A transfer of ${amounts.move} ${symbol} to another account, at once and without any chain`,
  );
  const moved = await purser.post("/v1/transactions", {
    body: { source: { account: alice }, destination: { account: bob }, value: `${amounts.move}` },
  });
  show({ type: moved.type, amount: moved.amount, balances: moved.balances });

  const amount = `${amounts.withdrawal}`;
  say(`7. A withdrawal of ${amount} ${symbol} to an address on the chain; the fee is the sender's`);
  const estimate = await purser.post("/v1/withdrawals/estimate", {
    body: { account: bob, address, amount, speed: "medium" },
  });
  show({ estimate });
  const made = await purser.post("/v1/withdrawals", {
    body: {
      source: { account: bob },
      destination: { address },
      asset: chain.asset,
      value: amount,
      fee: { paid_by: "sender", speed: "medium" },
    },
  });
  show({ status: made.status, value: made.value, amount: made.amount, fee: made.fee });
  const done = await until(
    () => purser.get("/v1/withdrawals/{id}", { path: { id: made.id } }),
    ({ status }) => status !== "PROCESSING",
  );
  const { confirmations: _, ...paid } = done.chain!;
  show({ status: done.status, chain: paid });
  show({ "received outside": await chain.held(address) });
}

/** Repeats a step of a chain, such as a block each second, until it is disposed. */
export function everySecond(step: () => Promise<unknown>): AsyncDisposable {
  let running = true;
  const ended = run();
  async function run(): Promise<void> {
    while (running) {
      await step();
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  return {
    async [Symbol.asyncDispose]() {
      running = false;
      await ended;
    },
  };
}
