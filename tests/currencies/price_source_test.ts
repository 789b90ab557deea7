import { deepEqual, match, rejects } from "node:assert/strict";
import { openRatesGateway, type Price } from "../../workers/gateways/rates.ts";

const NOW_S = 1_800_000_000;

/** What the gateway makes of an answer, and the query that it was asked by. */
async function pricesOf(
  answer: unknown,
): Promise<{ prices: string[]; contradicted: string[]; query: string }> {
  let query = "";
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    query = new URL(request.url).search;
    return Response.json(answer);
  });
  try {
    const source = openRatesGateway(`http://127.0.0.1:${server.addr.port}`);
    const told = await source.fetchPrices(AbortSignal.timeout(60_000), NOW_S * 1000);
    const shown = (prices: readonly Price[]) => prices.map(({ base, rate }) => `${base} ${rate}`);
    return { prices: shown(told.prices), contradicted: shown(told.contradicted), query };
  } finally {
    await server.shutdown();
  }
}

Deno.test("a price that its source has had for long counts as none, and one without a time as fresh", async () => {
  const told = (ageS: number) => ({ usd: 7, last_updated_at: NOW_S - ageS });
  const { prices, query } = await pricesOf({
    ...{ dogecoin: told(1801), tron: told(1800), celo: told(-60), litecoin: { usd: 7 } },
    ...{ ethereum: { usd: 7, last_updated_at: "never" } },
  });
  match(query, /include_last_updated_at=true/);
  deepEqual(prices, ["LTC 7", "BLTC 7", "ETH 7", "BETH 7", "CELO 7", "TRON 7"]);
});

Deno.test("a source all of whose prices are old tells none, instead of fresh ones", async () => {
  await rejects(
    pricesOf({ bitcoin: { usd: 60_000, last_updated_at: NOW_S - 86_400 } }),
    /named no price that is fresh/,
  );
});

Deno.test("a price that the others of its answer contradict tenfold is not taken, although it is the first of its pair", async () => {
  const units = { usd: 1, eur: 0.9, jpy: 150, btc: 1 / 60_000 };
  const row = (worth: number, wrong: Record<string, number> = {}) => ({
    ...Object.fromEntries(Object.entries(units).map(([unit, rate]) => [unit, worth * rate])),
    ...wrong,
  });
  const { prices, contradicted } = await pricesOf({
    dogecoin: row(0.25, { eur: 225 }),
    tron: row(0.3, { usd: 300 }),
    celo: row(0.5, { jpy: 700 }),
    ripple: row(2),
    chainlink: { usd: 15, eur: 1 },
  });
  const count = (base: string) => prices.filter((one) => one.startsWith(`${base} `)).length;
  deepEqual(["DOGE", "TRON", "CELO", "BXRP", "LINK"].map(count), [3, 3, 4, 4, 2]);
  deepEqual(contradicted, ["DOGE 225", "TRON 300"]);
});
