/**
 * Plans: what clients will try, made at random and made smaller when a law breaks. A plan names
 * accounts, blocks and earlier calls by number; what they are is known when it is played.
 *
 * @module
 */
import type { Named } from "./ledger_model_state.ts";
import type { Cut } from "./cut_connection_proxy.ts";
import { fc } from "../support/properties.ts";

/** A move in a plan: accounts by number, where one number beyond the last names nobody. */
export interface PlannedMove {
  source: number;
  destination: number;
  value: string;
  named?: Named;
  asset?: boolean;
  reference?: number;
  conditions?: Record<string, string>;
}

/** One step of a plan. */
export type Deed =
  | { deed: "transfer"; move: PlannedMove }
  | { deed: "batch"; atomic: boolean; moves: PlannedMove[] }
  /** `lasts` is in ages of the fixture's clock; until it is closed unless given. */
  | { deed: "block"; account: number; amount: string; lasts?: number }
  | { deed: "release"; block: number }
  | { deed: "capture"; block: number; destination: number; named?: Named; amount?: string }
  | { deed: "revert"; transaction: number }
  | { deed: "issue" | "destroy"; account: number; amount: string }
  | { deed: "freeze" | "unfreeze" | "deactivate" | "activate" | "read"; account: number }
  /** Repeats an earlier call under its key, or another call under the same key. */
  | { deed: "again"; call: number; other: boolean }
  /** Cuts connections of a serving process, whatever is in flight. */
  | { deed: "cut"; instance: number; which: Cut }
  | { deed: "seal" }
  /** The clock goes on by an age; the service closes the blocks that are over. */
  | { deed: "pass" | "expire" };

/** A deed, by whom, through which serving process, and how. */
export interface Step {
  what: Deed;
  person: number;
  instance: number;
  /** Once without a key, once under a key, twice at once under one key, or as a trial. */
  how: "plain" | "keyed" | "twice" | "dry";
}

/** For each client, what it does one after the other. */
export type Plan = Step[][];

/** Accounts that a plan can name; one number more stands for one that does not exist. */
const ACCOUNTS = 6;
/** Names the latest block, or transaction, of all. */
export const LATEST = -1;
/** Initial balance of accounts, so that plans meet balances exactly, and miss them by one digit. */
export const FUNDS = "10";

const DUST = "0.000000000000000001";
const HUGE = "18446744073709551616.000000000000000001"; // 2^64 and a hair
const NEAR = [
  "1",
  "2",
  "3.50",
  "5",
  "9.999999999999999999",
  FUNDS,
  "10.000000000000000001",
  "0.1",
  "0.02",
];

const decimal = fc.tuple(
  fc.bigInt({ min: 0n, max: 10n ** 30n }),
  fc.bigInt({ min: 1n, max: 10n ** 18n - 1n }),
).map(([whole, fraction]) => `${whole}.${String(fraction).padStart(18, "0")}`);
const amount = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...NEAR) },
  { weight: 2, arbitrary: fc.constant(DUST) },
  { weight: 1, arbitrary: fc.constant(HUGE) },
  { weight: 2, arbitrary: decimal },
  { weight: 1, arbitrary: fc.constant("1.0000000000000000001") }, // finer than any asset
);
const limit = fc.constantFrom("0", DUST, "5", FUNDS, "15", "20", HUGE);
const account = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(1, 2) }, // where most happens, it meets
  { weight: 20, arbitrary: fc.nat({ max: ACCOUNTS - 1 }) },
  { weight: 1, arbitrary: fc.constant(ACCOUNTS) },
);
const nth = fc.nat({ max: 7 });
const lasts = fc.option(fc.constantFrom(1, 1, 2), { nil: undefined, freq: 1 });
const destination = fc.constantFrom("alias" as const, "address" as const);

const move: fc.Arbitrary<PlannedMove> = fc.record({
  source: account,
  destination: account,
  value: amount,
  named: fc.option(
    fc.record({ source: fc.constant("alias" as const), destination }, { requiredKeys: [] }),
    { nil: undefined, freq: 3 },
  ),
  asset: fc.option(fc.boolean(), { nil: undefined, freq: 6 }),
  reference: fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 5 }),
  conditions: fc.option(
    fc.record({
      source_available_gte: limit,
      source_total_eq: limit,
      destination_total_lte: limit,
    }, { requiredKeys: [] }),
    { nil: undefined, freq: 5 },
  ),
});

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ deed: fc.constant("transfer" as const), move }) },
  {
    weight: 3,
    arbitrary: fc.record({
      deed: fc.constant("batch" as const),
      atomic: fc.boolean(),
      moves: fc.array(move, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ deed: fc.constant("block" as const), account, amount, lasts }),
  },
  { weight: 2, arbitrary: fc.record({ deed: fc.constant("release" as const), block: nth }) },
  {
    weight: 3,
    arbitrary: fc.record({
      deed: fc.constant("capture" as const),
      block: nth,
      destination: account,
      named: fc.option(fc.record({ destination }), { nil: undefined, freq: 3 }),
      amount: fc.option(amount, { nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      deed: fc.constant("revert" as const),
      transaction: fc.oneof(nth, fc.constant(LATEST)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ deed: fc.constantFrom("issue", "destroy"), account, amount }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      deed: fc.constantFrom("freeze", "unfreeze", "unfreeze", "deactivate", "activate"),
      account,
    }),
  },
  { weight: 2, arbitrary: fc.record({ deed: fc.constant("read" as const), account }) },
  {
    weight: 3,
    arbitrary: fc.record({
      deed: fc.constant("again" as const),
      call: nth,
      other: fc.oneof(
        { weight: 4, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ deed: fc.constant("seal" as const) }) },
  { weight: 2, arbitrary: fc.record({ deed: fc.constantFrom("pass", "expire" as const) }) },
);

const person = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constant(1) },
  { weight: 2, arbitrary: fc.constant(2) },
);

/** Plans of so many clients, who have so many things to do each. */
export function plans(of: {
  clients: number;
  steps: number;
  /** Serving processes that take part. */
  instances: number;
  /** Which connections are cut in mid-flight. */
  cuts?: "all" | "queues";
}): fc.Arbitrary<Plan> {
  const instance = fc.nat({ max: of.instances - 1 });
  const which = of.cuts === "all"
    ? fc.constantFrom("all" as const, "answers" as const)
    : fc.constantFrom("queues" as const, "answers" as const);
  const cut = fc.record({ deed: fc.constant("cut" as const), instance, which });
  const what = of.cuts
    ? fc.oneof({ weight: 7, arbitrary: deed }, { weight: 1, arbitrary: cut })
    : deed;
  const how = fc.constantFrom("plain", "plain", "keyed", "twice", "dry" as const);
  const step = fc.record<Step>({ what, person, instance, how });
  const { clients, steps } = of;
  return fc.array(fc.array(step, { minLength: 1, maxLength: steps, size: "max" }), {
    minLength: Math.min(2, clients),
    maxLength: clients,
    size: "max",
  });
}
