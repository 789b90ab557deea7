/** Ramps, addresses, deposits, withdrawals and tokens on a chain of accounts. @module */
import { OUTSIDE } from "../support/evm_fixture.ts";
import { rich } from "../support/nodes/anvil.ts";
import { installToken } from "../support/token_contracts.ts";
import type { World } from "./world.ts";

const ETHER = 10n ** 18n;

/** Walks through a chain. */
export async function walkChains(world: World): Promise<void> {
  await deposits(world);
  await applications(world);
  await withdrawals(world);
}

async function deposits(world: World): Promise<void> {
  const { ask, browse, day, exchange: { funded }, realm, until } = world;
  const { anvil, ramp } = funded;
  await ask("listAssets");
  const made = await ask("createAddress", {
    path: { id: ramp },
    body: { data: { customer: "4711" } },
  });
  await realm.drain();
  const { address } = made.address;
  await ask("listAddresses", { path: { id: ramp } });
  await ask("findAddress", { path: { address } });
  await world.turn();
  await ask("listChains", {
    show: (rows) => rows.filter(({ chain }: { chain: string }) => chain === "ETHEREUM"),
  });
  const usdc = await installToken(anvil, "USDC");
  await usdc.pay(address, 7_000_000n);
  await world.turn();
  // The gas of a token's transfer depends on the address, and the price of gas on how full the block before was.
  await world.price(1);
  const hash = await anvil.pool({ to: address, value: ETHER / 2n });
  const count = {
    query: { query: JSON.stringify({ hash, status: "CONFIRMED" }) },
    aside: true,
  } as const;
  await until(async () => await ask("countDeposits", count) === 1);
  const [deposit] = await ask("findDeposits", {
    query: { query: JSON.stringify({ hash }) },
    aside: true,
  });
  const path = { id: deposit.id };
  await until(async () =>
    (await ask("getDeposit", { path, aside: true })).forward?.status !== "PROCESSING"
  );
  await browse({ many: "Deposits", one: "Deposit", id: deposit.id });
  await ask("findDeposits", { query: { ...day, format: "csv" }, as: "text/csv", show: inBlock });
  await ask("explainDeposit", { query: { hash } });
  await ask("listUnmatchedDeposits", { query: { limit: 1 } });
  const { id } = await ask("rescanDeposits", { body: { chain: "ETHEREUM", hash } });
  await realm.drain();
  await ask("getRescan", { path: { id } });
}

/** A CSV whose rows name one block: how many were mined before is not the same each time. */
function inBlock(csv: string): string {
  const [head, ...rows] = csv.split("\r\n");
  const column = head.split(",").findIndex((name) => /(^|[.])block$/.test(name));
  const changed = rows.map((row) =>
    row.split(",").map((cell, n) => n === column ? "21000000" : cell).join()
  );
  return [head, ...changed].join("\r\n");
}

async function applications(world: World): Promise<void> {
  const { ask, realm, exchange: { funded } } = world;
  const body = { type: "virtual", asset: "ETH", ramp: funded.ramp };
  const target = await ask("createAccount", { body, aside: true });
  await realm.drain();
  const made = await ask("createDepositApplication", {
    body: { destination: { account: target.id }, asset: "ETH", data: { order: 1003 } },
  });
  await realm.drain();
  const path = { id: made.id };
  const query = { query: JSON.stringify({ id: made.id }) };
  await ask("listDepositApplications", { query });
  await ask("findDepositApplications", { query });
  await ask("countDepositApplications", { query });
  await ask("getDepositApplication", { path });
  await ask("updateDepositApplication", { path, body: { data: { order: 1004 } } });
  await ask("deleteDepositApplication", { path });
  await ask("undeleteDepositApplication", { path });
  const outside = { id: target.id, external_address: rich(3).address };
  await ask("assignExternalAddress", { path: outside });
  await ask("listExternalAddresses", { path: { id: target.id } });
  await ask("unassignExternalAddress", { path: outside });
}

async function withdrawals(world: World): Promise<void> {
  const { ask, browse, day, exchange, until } = world;
  const { funded } = exchange;
  await world.price(1);
  const { account, ramp } = funded;
  const wanted = { account, address: OUTSIDE, amount: "1.5", speed: "medium" };
  await ask("getWithdrawalEstimate", {
    query: { account, address: OUTSIDE },
    body: { amount: "1.5", speed: "medium" },
  });
  await ask("estimateWithdrawal", { body: wanted });
  const body = {
    source: { account },
    destination: { address: OUTSIDE },
    value: "1.5",
    fee: { paid_by: "sender", speed: "slow" },
    max_fee: "0.1",
    data: { invoice: "INV-2026-17" },
  };
  const made = await ask("createWithdrawal", { body });
  const path = { id: made.id };
  await world.work();
  await ask("listRampOrders", { path: { id: ramp }, query: { open: "true" } });
  await world.price(5);
  await ask("speedUpWithdrawal", { path, body: { speed: "fast" } });
  await until(async () => (await ask("getWithdrawal", { path, aside: true })).status === "DONE");
  await browse({ many: "Withdrawals", one: "Withdrawal", id: made.id });
  await ask("findWithdrawals", { query: { ...day, format: "csv" }, as: "text/csv", show: inBlock });
  await ask("updateWithdrawal", { path, body: { data: { checked: true } } });
  const other = await ask("createWithdrawal", { body: { ...body, value: "0.25" }, aside: true });
  await ask("cancelWithdrawal", { path: { id: other.id } });
}

/** Walks through the deployment of a token. */
export async function walkTokens(world: World): Promise<void> {
  const { ask, browse, beside, exchange } = world;
  const account = exchange.funded.ramp;
  await world.price(1);
  const made = await beside("deployToken", {
    body: { account, name: "Gold", symbol: "GOLD", supply: "1000", decimal_places: 6 },
    settle: { fee: "0.001073742250613567" },
  });
  await world.until(async () =>
    (await ask("getToken", { path: { id: made.id }, aside: true })).status === "deployed"
  );
  await beside("registerToken", { body: { account, symbol: "GOLD" } });
  await browse({ many: "Tokens", one: "Token", id: made.id });
  await ask("deleteToken", { path: { id: made.id } });
  await ask("undeleteToken", { path: { id: made.id } });
}
