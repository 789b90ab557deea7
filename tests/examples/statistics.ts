/** Figures over time: flows, deposits, withdrawals, chains. @module */
import { insertChainSamples } from "../../db/chains/chain_samples.ts";
import type { World } from "./world.ts";

/** The first step, which every run takes in another time. */
const STEP = { "steps.0.p50": 1200, "steps.0.p90": 1900, "steps.0.p99": 2600, "steps.0.max": 2600 };

/** Walks through what a realm has moved, and how long it took. */
export async function walkStatistics(world: World): Promise<void> {
  const { ask, day, deliverer, realm } = world;
  const body = { name: "SILVER", supply: "1000" };
  const { account } = await ask("createCurrency", { body, aside: true });
  const rate = { base: "SILVER", currency: "USD", rate: "0.95" };
  await ask("setRate", { body: rate, aside: true });
  await realm.account({ asset: "SILVER", from: account, total: "40" });
  await deliverer.run();
  await ask("getFlows", {
    query: { ...day, step: "day", asset: "SILVER", type: "transfer" },
    settle: { from: 1767139200000, "flows.0.at": 1767225600000, unsealed: 0 },
  });
  const query = { ...day, asset: "ETH" };
  await ask("getDepositStatistics", { query, settle: STEP });
  await ask("getWithdrawalStatistics", { query, settle: STEP });
  await realm.command((tx) => insertChainSamples(tx, Date.now()));
  await ask("getChainHistory", { query: { chain: "ETHEREUM", ...day, points: 2 } });
}
