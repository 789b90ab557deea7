/** What tests of deposits by chance share: which payments must be credited, and that these were, and nothing else. */
import { deepEqual } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { makeDue } from "./lying_life.ts";
import { rowsOf, type TestRealm } from "./realm.ts";

/** What a transaction brings, if the chain has it and it does not fail. Base units. */
export interface Paid {
  readonly hash: string;
  readonly address: string;
  /** The token; null for the chain's coin. */
  readonly contract: string | null;
  readonly amount: bigint;
}

/** A watched address, and the asset of its account. */
export interface WatchedAddress<Asset extends string> {
  readonly address: string;
  readonly asset: Asset;
}

/** Rounds after which everything must have come to its end. */
const ROUNDS = 40;
/** Rounds in which something may begin yet. */
const FIRST_ROUNDS = 6;
const OPEN = `select exists (select from deposits where status = 'PENDING')
  or exists (select from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined'))
  or exists (select from unexplained_gains) as open`;

/** Takes steps until nothing is open any more. */
export async function settle(realm: TestRealm, step: () => Promise<void>): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await makeDue(realm);
    await step();
    const [{ open }] = await rowsOf<{ open: boolean }>(realm, OPEN);
    if (!open && round > FIRST_ROUNDS) return;
  }
}

/**
 * Demands that the payments which the chain has are credited, each once, and nothing else.
 *
 * @param of.heightOf the height at which the chain has a payment that did not fail; null for none
 */
export async function assertCredited(
  realm: TestRealm,
  of: {
    readonly paid: readonly Paid[];
    readonly places: readonly WatchedAddress<string>[];
    readonly assetOf: (contract: string | null) => string;
    readonly heightOf: (hash: string) => Promise<number | null>;
    readonly decimals: { readonly coin: number; readonly token: number };
  },
): Promise<void> {
  const { paid, places, assetOf, heightOf, decimals } = of;
  const linked = await rowsOf<{ address: string; since: number }>(
    realm,
    "select address, since::integer as since from external_addresses",
  );
  const since = new Map(linked.map((one) => [one.address, one.since]));
  const sums = new Map<string, bigint>();
  for (const { hash, address, contract, amount } of paid) {
    const asset = assetOf(contract);
    if (!places.some((one) => one.address === address && one.asset === asset)) continue;
    const height = await heightOf(hash);
    if (height === null || height <= (since.get(address) ?? -1)) continue;
    const key = `${hash} ${address} ${contract ?? "coins"}`;
    sums.set(key, (sums.get(key) ?? 0n) + amount);
  }
  const expected = [...sums].map(([key, amount]) => `${key} ${amount}`);
  const rows = await rowsOf<{ line: string }>(
    realm,
    `select hash || ' ' || address || ' ' || coalesce(contract, 'coins') || ' '
        || (sum(credited) * 10 ^ case when contract is null then $1::numeric else $2::numeric end)::numeric(40, 0)
        as line
      from deposits where status = 'CONFIRMED' group by hash, address, contract`,
    [decimals.coin, decimals.token],
  );
  const credited = rows.map(({ line }) => line);
  deepEqual({
    missing: expected.filter((one) => !credited.includes(one)),
    more: credited.filter((one) => !expected.includes(one)),
  }, { missing: [], more: [] });
  await assertQuiet(realm);
}

/** Demands that nothing waits for anybody. */
async function assertQuiet(realm: TestRealm): Promise<void> {
  const open = [
    "select address, above, height, gained, error from unexplained_gains",
    "select chain, halted, error from chain_cursors where halted is not null or error is not null",
    "select account, quarantined from ramps where quarantined is not null",
    "select hash, status, error from deposits where status = 'PENDING'",
  ];
  for (const statement of open) deepEqual(await rowsOf(realm, statement), []);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
}
