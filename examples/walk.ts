/**
 * Shared by the examples on chains whose blocks come by themselves: from an empty installation to a
 * deposit from a chain, a transfer inside at no cost, and a withdrawal.
 * @module
 */
import {
  type Answer,
  type Installation,
  type Json,
  say,
  type Send,
  show,
  until,
} from "./installation.ts";

/** A chain as an example knows it. Amounts are whole units of its coin. */
export interface Walk {
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
  const { key, send } = await installation.logIn();
  show({ "x-api-key": `${key.slice(0, 12)}…` });
  const accounts = await comeIn(send, chain);
  await goOut(send, chain, accounts);

  say("8. The balances on the chain, and the ledger's liabilities");
  await until(
    () => send("GET", `/v1/accounts/${accounts.ramp}`),
    (account) => account.balance.total === "0",
  );
  for (const [name, id] of Object.entries(accounts)) {
    const view = await send("GET", `/v1/accounts/${id}`);
    show({ [name]: view.balance });
  }
  const [status] = await send("GET", "/v1/chains");
  show({ chain: status.chain, network: status.network, healthy: status.healthy });
}

/** From a new ramp to a credited deposit. */
async function comeIn(send: Send, chain: Walk): Promise<Accounts> {
  say("2. A ramp account: the way between the ledger and the chain, with an address of its own");
  const at = { asset: chain.asset, testnet: chain.testnet };
  const ramp = (await send("POST", "/v1/accounts", { type: "ramp", ...at })).id;
  const opened = await until(() => send("GET", `/v1/accounts/${ramp}`), (one) => one.enabled);
  show({ enabled: opened.enabled, ramp: opened.ramp, balance: opened.balance });

  say("3. A virtual account on it, and an address whose deposits go on to that account");
  const alice = (await send("POST", "/v1/accounts", { type: "virtual", ramp, ...at })).id;
  const bob = (await send("POST", "/v1/accounts", { type: "virtual", ramp, ...at })).id;
  const given = await send("POST", `/v1/account/${alice}/address`, { data: { order: "7" } });
  const { address } = given.address as Json;
  show({ type: given.type, address });

  const { deposit } = chain.amounts;
  say(`4. Somebody pays ${deposit} ${chain.symbol} to that address, on the chain`);
  show({ hash: await chain.pay(`${address}`, deposit) });

  say("5. The deposit is seen, counts at its depth, and is swept to the ramp less the chain's fee");
  const swept = await until(
    () => send("GET", "/v1/deposits/all"),
    ([one]) => one?.forward?.status === "DONE",
  );
  const { amount, status, forward, address_data } = swept[0];
  show({ amount, status, forward, address_data });
  const credited = await until(
    () => send("GET", `/v1/accounts/${alice}`),
    (account) => account.balance.total !== "0",
  );
  show({ alice: credited.balance });
  return { ramp, alice, bob };
}

/** A transfer inside, and a withdrawal. */
async function goOut(send: Send, chain: Walk, { alice, bob }: Accounts): Promise<void> {
  const { amounts, symbol, outside: address } = chain;
  say(
    `6. A transfer of ${amounts.move} ${symbol} to another account, at once and without any chain`,
  );
  const ends = { source: { account: alice }, destination: { account: bob } };
  const moved = await send("POST", "/v1/transactions", { ...ends, value: `${amounts.move}` });
  show({ type: moved.type, amount: moved.amount, balances: moved.balances });

  const amount = amounts.withdrawal;
  say(`7. A withdrawal of ${amount} ${symbol} to an address on the chain; the fee is the sender's`);
  const asked = { account: bob, address, amount, speed: "medium" };
  show({ estimate: await send("POST", "/v1/withdrawals/estimate", asked) });
  const made = await send("POST", "/v1/withdrawals", {
    source: { account: bob },
    destination: { address },
    asset: chain.asset,
    value: amount,
    fee: { paid_by: "sender", speed: "medium" },
  });
  show({ status: made.status, value: made.value, amount: made.amount, fee: made.fee });
  const done = await until(
    () => send("GET", `/v1/withdrawals/${made.id}`),
    (withdrawal) => withdrawal.status !== "PROCESSING",
  );
  const { confirmations: _, ...paid }: Answer = done.chain;
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
