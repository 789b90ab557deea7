/** Asks the chains what sending costs now, for all that a realm's ramps send. @module */
import { type QuotedRow, type QuoteRow, selectQuoted, upsertQuotes } from "../db/fees.ts";
import { reading } from "../db/transaction.ts";
import type { ChainId } from "../domain/assets.ts";
import { findAsset } from "../domain/assets.ts";
import type { Bench } from "./bench.ts";
import { ChainError } from "./chains/chain.ts";
import { SPEEDS } from "./chains/order.ts";

/** Refreshes the quotes; a chain that cannot be asked keeps its last ones, until they are stale. */
export async function refreshFees(bench: Bench): Promise<void> {
  for (const wanted of await reading(bench.pool, selectQuoted)) {
    try {
      const quotes = await quotesOf(bench, wanted);
      await bench.step((tx) => upsertQuotes(tx, quotes));
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      bench.log("warn", "no prices", { chain: wanted.chain, asset: wanted.asset, error });
    }
  }
}

async function quotesOf(bench: Bench, wanted: QuotedRow): Promise<QuoteRow[]> {
  const { network, asset } = wanted;
  const id = wanted.chain as ChainId;
  const chain = await bench.chains.open({ chain: id, testnet: network !== "main" });
  const contract = wanted.contract ?? findAsset(asset)?.contract ?? null;
  const fees = await chain.quote(contract);
  return SPEEDS.map((speed): QuoteRow => ({
    chain: id,
    network,
    contract: contract ?? "",
    speed,
    fee_contract: fees[speed].contract,
    base: `${fees[speed].base}`,
    per_input: `${fees[speed].perInput}`,
    per_payment: `${fees[speed].perPayment}`,
    least: `${fees[speed].least}`,
    quoted_at: Date.now(),
  }));
}
