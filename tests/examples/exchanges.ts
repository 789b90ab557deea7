/** External ramps, consolidations and solvency. @module */
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import type { World } from "./world.ts";

/** Walks through external ramps. */
export async function walkExchanges(world: World): Promise<void> {
  const { ask, browse, realm, exchange } = world;
  const { funded: { account }, ramp } = exchange;
  await ask("listSupportedRamps");
  const { body: identity } = await realm.admin.send("POST", "/v1/identities", { country: "US" });
  const made = await ask("createRamp", {
    body: {
      ramp: "binance",
      identity: identity.id,
      authentication: EXCHANGE_KEY,
      data: { team: "treasury" },
    },
  });
  const path = { id: made.id };
  await checkExternalRamp(exchange.context(), { ramp: made.id });
  await browse({ many: "Ramps", one: "Ramp", id: made.id });
  await ask("updateRamp", { path, body: { data: { team: "sales" } } });
  await ask("deleteRamp", { path });
  await ask("undeleteRamp", { path });
  await ask("listRampCountries", { path: { id: "kraken" } });
  await ask("listRampAssets", { path: { id: ramp } });
  const body = { account, asset: "ETH", value: "1.5" };
  const inward = await ask("depositFromRamp", { path: { id: ramp }, body });
  await exchange.advance(inward.id);
  await ask("withdrawToRamp", {
    path: { id: ramp },
    body: {
      ...{ ...body, value: "0.5", fee: { paid_by: "sender", speed: "medium" } },
      max_fee: "0.01",
    },
  });
  await ask("listRampTransfers", { path: { id: ramp }, query: { status: "PROCESSING" } });
  await ask("getRampTransfer", { path: { id: ramp, transfer: inward.id } });
  const unclear = await unclearTransfer(world);
  await ask("resolveRampTransfer", {
    path: { id: ramp, transfer: unclear },
    body: { outcome: "failed" },
  });
}

/** A deposit of which the exchange shows another with the same amount. */
async function unclearTransfer({ ask, exchange }: World): Promise<string> {
  const { funded: { account }, ramp, exchange: server } = exchange;
  const made = await ask("depositFromRamp", {
    path: { id: ramp },
    body: { account, asset: "ETH", value: "4.5" },
    aside: true,
  });
  const applyTime = new Date().toISOString().slice(0, 19).replace("T", " ");
  server.instead = (request) =>
    request === "GET /sapi/v1/capital/withdraw/history"
      ? Response.json([{
        ...{ id: "untold", amount: "4.5", transactionFee: "0.001", coin: "ETH", network: "ETH" },
        ...{ status: 4, address: "", txId: "", applyTime },
      }])
      : null;
  await exchange.advance(made.id);
  server.instead = () => null;
  return made.id;
}

const COIN = 100_000_000n;

/** Walks through the consolidation of a ramp's coins; needs a node of Litecoin. */
export async function walkConsolidations(world: World): Promise<void> {
  const { ask, realm, coins, until, exchange } = world;
  const body = { type: "ramp", asset: "LTC", testnet: true };
  const { id } = await ask("createAccount", { body, aside: true });
  await realm.drain();
  const { ramp: { address } } = await ask("getAccount", { path: { id }, aside: true });
  await world.turn();
  const script = (await scriptOf("LITECOIN", "regtest", address)).toHex();
  await coins!.pay([1n, 2n, 3n].map((n) => ({ script, amount: n * COIN })));
  const balance = async () => (await ask("getAccount", { path: { id }, aside: true })).balance;
  await until(async () => (await balance()).total === "6");
  await world.price(1);
  const made = await ask("consolidateAccount", {
    path: { id },
    body: { speed: "slow", max_fee_rate: "0.0002", data: { note: "before the fees rise" } },
  });
  const path = { id, consolidation: made.id };
  await world.work();
  await ask("speedUpConsolidation", { path, body: { speed: "fast", max_fee_rate: "0.0005" } });
  await until(async () => (await ask("getConsolidation", { path, aside: true })).status === "DONE");
  await ask("listConsolidations", { path: { id }, query: { status: "DONE" } });
  await ask("getConsolidation", { path });
  await checkSolvency(exchange.context());
  await ask("createCover", {
    body: { account: id, reason: "network fees of March" },
  });
}

/** Walks through the comparison of ledger and chains. */
export async function walkSolvency({ ask, exchange, day }: World): Promise<void> {
  await checkSolvency(exchange.context());
  await ask("getSolvency", { query: { asset: "ETH" } });
  await ask("getSolvencyHistory", { query: { asset: "ETH", ...day, points: 2 } });
}

/** Walks through the loss of coins that are gone from a ramp's address. */
export async function walkWriteOff({ ask, exchange, realm, turn }: World): Promise<void> {
  const { anvil, address } = exchange.funded;
  const held = BigInt(await anvil.rpc<string>("eth_getBalance", address, "latest"));
  await anvil.rpc("anvil_setBalance", address, `0x${(held - 10n ** 13n).toString(16)}`);
  await turn();
  await realm.command((tx) => tx`delete from solvency_samples`); // they were right
  for (const ago of [3_600_000, 0]) await checkSolvency(exchange.context(Date.now() - ago));
  await ask("createWriteOff", {
    body: { asset: "ETH", reason: "paid in a reorganisation, and given back before" },
  });
  await checkSolvency(exchange.context());
}
