/**
 * The tests that bring about events.
 *
 * @module
 */

import type { Pool } from "../../db/database.ts";

/**
 * Events whose cause is a long story, with the file whose test tells it. What is left of events in a realm of these
 * files is compared with the OpenAPI document when the realm ends.
 */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  "deposit.pending": "tests/scanning/scanner_test.ts",
  "deposit.confirmed": "tests/scanning/scanner_test.ts",
  "deposit.orphaned": "tests/scanning/scanner_test.ts",
  "deposit.forwarded": "tests/deposits/sweeps_test.ts",
  "app.deposit.updated": "tests/deposits/api_test.ts",
  "message.updated": "tests/messages/webhooks_test.ts",
  "token.deployed": "tests/currencies/deployment_costs_test.ts",
  "solvency.drift": "tests/audit/solvency_test.ts",
  "ramp.cost_limited": "tests/withdrawals/costs_test.ts",
  "ramp.gas_insufficient": "tests/currencies/token_gas_test.ts",
  "address.paused": "tests/accounts/linked_limit_test.ts",
  "ramp.transfer.updated": "tests/exchanges/transfers_test.ts",
  "coin.corrected": "tests/scanning/spent_utxos_test.ts",
};

/**
 * Compares what a realm of these files has left of events with the document; the function returned fails where a
 * receiver would be sent something else.
 */
export async function eventsLeft(pool: Pool, file: string): Promise<() => void> {
  if (!Object.values(ELSEWHERE).some((one) => one === file)) return () => {};
  const some = await pool.sql`select from events limit 1`.catch(() => []);
  if (some.length === 0) return () => {};
  const { faultsOfEvents } = await import("./described_events.ts");
  const faults = await faultsOfEvents(pool);
  return () => {
    if (faults.length > 0) throw new Error(`events are not as described: ${faults.join("; ")}`);
  };
}
