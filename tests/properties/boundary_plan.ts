/**
 * A plan that is not random: every rule of the ledger by itself, at its boundary and a hair beside
 * it. It is played first, so that no rule depends on luck for being tried.
 *
 * @module
 */
import type { Named } from "./ledger_model_state.ts";
import { type Deed, LATEST, type PlannedMove, type Step } from "./random_plan.ts";

const BY_ALIAS: Named = { source: "alias", destination: "alias" };
const TO_ADDRESS: Named = { destination: "address" };
const DUST = "0.000000000000000001";
const HUGE = "18446744073709551616.000000000000000001";

function move(
  source: number,
  destination: number,
  value: string,
  more: Partial<PlannedMove> = {},
): PlannedMove {
  return { source, destination, value, ...more };
}

function transfer(...args: Parameters<typeof move>): Deed {
  return { deed: "transfer", move: move(...args) };
}

function batch(atomic: boolean, ...moves: PlannedMove[]): Deed {
  return { deed: "batch", atomic, moves };
}

function block(account: number, amount: string, lasts?: number): Deed {
  return { deed: "block", account, amount, lasts };
}

function capture(nth: number, destination: number, amount?: string, named?: Named): Deed {
  return { deed: "capture", block: nth, destination, amount, named };
}

function revert(transaction: number = LATEST): Deed {
  return { deed: "revert", transaction };
}

function on(deed: "freeze" | "unfreeze" | "deactivate" | "activate" | "read", account: number) {
  return { deed, account } satisfies Deed;
}

function again(call: number, other = false): Deed {
  return { deed: "again", call, other };
}

function supply(deed: "issue" | "destroy", account: number, amount: string): Deed {
  return { deed, account, amount };
}

type How = Step["how"];
type Line = Deed | { what: Deed; how?: How; person?: number };

// Accounts 1 to 4 begin with 10 each; 4 is person 2's; 5 is of another currency; 6 does not exist.
const LINES: readonly Line[] = [
  // The available balance, to the last digit.
  transfer(1, 2, "10.000000000000000001"),
  transfer(1, 2, "10"),
  transfer(2, 1, "10"),
  transfer(1, 2, "10.000000000000000001", { conditions: { source_total_eq: "10" } }),
  transfer(1, 2, "10", { conditions: { source_total_eq: "10" } }),
  transfer(2, 1, "10"),
  block(1, "10.000000000000000001"),
  block(1, "4"),
  transfer(1, 2, "6.000000000000000001"),
  block(1, "6.000000000000000001"),
  supply("destroy", 1, "6.000000000000000001"),
  transfer(1, 2, "6"),
  on("deactivate", 1),
  // A block is captured once, in part; the rest is free again.
  capture(0, 3, "4.000000000000000001"),
  capture(0, 5),
  capture(0, 1),
  capture(0, 6),
  { what: capture(0, 3, "1.5"), how: "dry" },
  capture(0, 3, "1.5"),
  capture(0, 3),
  { deed: "release", block: 0 },
  on("read", 1),
  transfer(1, 2, "2.5"),
  // An inactive account neither sends nor receives; only an empty one is closed.
  on("deactivate", 2),
  on("deactivate", 1),
  transfer(2, 1, "1"),
  transfer(1, 2, "1"),
  block(1, "1"),
  supply("issue", 1, "1"),
  on("activate", 1),
  transfer(2, 1, "10"),
  // A frozen account receives and does not send, and shows nothing as available.
  block(1, "3"),
  on("freeze", 1),
  transfer(1, 2, "1"),
  block(1, "1"),
  capture(1, 2),
  supply("destroy", 1, "1"),
  transfer(2, 1, "1"),
  { what: transfer(2, 1, "1"), how: "twice" },
  on("read", 1),
  on("unfreeze", 1),
  again(0),
  { deed: "release", block: 1 },
  { deed: "release", block: 1 },
  // References, also within one batch.
  transfer(0, 1, "1", { reference: 0 }),
  transfer(0, 1, "1", { reference: 0 }),
  batch(false, move(0, 1, "1", { reference: 1 }), move(0, 1, "1", { reference: 1 })),
  batch(true, move(0, 1, "1", { reference: 2 }), move(0, 1, "1", { reference: 2 })),
  transfer(0, 1, "1", { reference: 2 }),
  // Conditions; account 3 has 11.5, of which 1 is blocked.
  block(3, "1"),
  transfer(3, 0, "0.5", { conditions: { source_available_gte: "10.5" } }),
  transfer(3, 0, "1", { conditions: { source_available_gte: "10.000000000000000001" } }),
  transfer(3, 0, "1", { conditions: { source_total_eq: "10" } }),
  transfer(3, 0, "1", { conditions: { source_total_eq: "11" } }),
  transfer(3, 4, "1", { conditions: { destination_total_lte: "10.999999999999999999" } }),
  transfer(3, 4, "1", { conditions: { destination_total_lte: "11" } }),
  // Impossible moves.
  transfer(0, 5, "1"),
  transfer(0, 1, "1", { asset: false }),
  transfer(0, 1, "1", { asset: true }),
  transfer(0, 1, "1.0000000000000000001"),
  transfer(1, 1, "1"),
  transfer(6, 1, "1"),
  transfer(1, 6, "1"),
  // Whose it is.
  { what: transfer(1, 4, "1"), person: 1 },
  { what: transfer(1, 4, "1"), person: 2 },
  { what: transfer(4, 1, "1"), person: 2 },
  { what: batch(false, move(1, 4, "1"), move(4, 1, "1")), person: 2 },
  { what: block(1, "1"), person: 2 },
  { what: supply("issue", 4, "1"), person: 2 },
  { what: supply("issue", 4, "1"), person: 1 },
  { what: revert(0), person: 2 },
  batch(true, move(4, 1, "1")),
  // Fiat: halves go to the even neighbour (0.045 and 0.015).
  transfer(0, 1, "0.12"),
  transfer(0, 1, "0.04"),
  // From dust to beyond what 64 bits count.
  transfer(0, 1, DUST),
  transfer(1, 0, DUST),
  transfer(0, 1, HUGE),
  transfer(1, 0, HUGE),
  // Batches: in order, each seeing the one before.
  batch(false, move(0, 1, "1"), move(2, 1, "1000"), move(0, 2, "1")),
  batch(true, move(0, 1, "1"), move(2, 1, "1000"), move(0, 2, "1")),
  batch(true, move(0, 1, "1000"), move(1, 2, "1000"), move(2, 0, "1000")),
  { what: batch(true, move(0, 1, "1"), move(2, 1, "1000")), how: "twice" },
  { what: batch(false, move(0, 1, "1"), move(2, 1, "1000"), move(0, 6, "1")), how: "twice" },
  { what: batch(true, move(0, 1, "1"), move(0, 2, "1")), how: "twice" },
  // Keys: one answer each, whatever happens after it.
  { what: transfer(0, 1, "2"), how: "twice" },
  { what: transfer(2, 1, "1000"), how: "twice" },
  { what: transfer(6, 1, "1"), how: "twice" },
  { what: block(2, "1"), how: "twice" },
  transfer(0, 2, "1000"),
  { deed: "seal" },
  ...[0, 1, 2, 3, 4, 5, 6, 7].map((n) => again(n)),
  ...[0, 2, 4, 6, 8].map((n) => again(n, true)),
  // Dry runs change nothing.
  { what: transfer(0, 1, "3"), how: "dry" },
  { what: transfer(2, 1, "100000"), how: "dry" },
  { what: batch(true, move(0, 1, "3")), how: "dry" },
  { what: batch(true, move(0, 1, "3"), move(2, 1, "100000")), how: "dry" },
  { what: block(1, "1"), how: "dry" },
  { what: supply("issue", 1, "1"), how: "dry" },
  { what: revert(1), how: "dry" },
  on("read", 1),
  // Issued value can be destroyed; a transaction is reverted once.
  supply("issue", 1, HUGE),
  supply("destroy", 1, HUGE),
  supply("issue", 5, "1"),
  revert(1),
  revert(1),
  transfer(0, 1, "1"),
  // Parties named by alias or address, also by ones that do not exist.
  transfer(0, 1, "1", { named: BY_ALIAS }),
  transfer(0, 1, "1", { named: TO_ADDRESS }),
  {
    what: transfer(1, 0, "1", { named: { source: "alias", destination: "address" } }),
    how: "twice",
  },
  { what: transfer(0, 1, "1", { named: { source: "alias", destination: "address" } }), how: "dry" },
  transfer(6, 1, "1", { named: BY_ALIAS }),
  transfer(1, 6, "1", { named: BY_ALIAS }),
  transfer(1, 6, "1", { named: TO_ADDRESS }),
  transfer(6, 6, "1", { named: { source: "alias", destination: "address" } }),
  transfer(0, 5, "1", { named: TO_ADDRESS }),
  { what: transfer(1, 4, "1", { named: BY_ALIAS }), person: 1 },
  { what: transfer(1, 4, "1", { named: BY_ALIAS }), person: 2 },
  { what: transfer(4, 1, "1", { named: BY_ALIAS }), person: 2 },
  batch(false, move(0, 1, "1", { named: BY_ALIAS }), move(1, 6, "1", { named: TO_ADDRESS })),
  batch(true, move(0, 1, "1"), move(1, 6, "1", { named: BY_ALIAS })),
  { what: batch(true, move(0, 1, "1", { named: TO_ADDRESS }), move(1, 0, "1")), how: "twice" },
  { what: batch(false, move(0, 1, "1", { named: BY_ALIAS }), move(2, 1, "100000")), how: "dry" },
  // Reverts of an issue and of a destruction, once each.
  supply("issue", 1, "5"),
  { what: revert(), person: 1 },
  { what: revert(), person: 2 },
  { what: revert(), how: "dry" },
  revert(),
  revert(),
  on("read", 1),
  { what: supply("destroy", 1, "0.5"), how: "dry" },
  supply("destroy", 1, "0.5"),
  { what: revert(), how: "dry" },
  { what: revert(), how: "twice" },
  supply("issue", 4, "2"),
  { what: revert(), person: 2 },
  { what: supply("issue", 1, HUGE), how: "twice" },
  on("freeze", 1),
  revert(),
  on("unfreeze", 1),
  transfer(1, 0, HUGE),
  revert(LATEST - 1),
  // A block with a time of its own is open until then, closed to all from then on, and holds its
  // value until the service has closed it.
  block(1, "0.25"),
  { what: block(1, "0.5", 1), how: "dry" },
  block(1, "0.5", 1),
  { what: block(1, "0.75", 2), how: "twice" },
  { deed: "expire" },
  { deed: "release", block: LATEST },
  block(1, "0.75", 2),
  { deed: "pass" },
  capture(LATEST - 2, 2),
  { what: capture(LATEST - 2, 2), how: "dry" },
  { deed: "release", block: LATEST - 2 },
  on("read", 1),
  { deed: "expire" },
  { deed: "expire" },
  on("read", 1),
  { what: capture(LATEST, 2, "0.5", TO_ADDRESS), how: "dry" },
  capture(LATEST, 6, "0.5", TO_ADDRESS),
  capture(LATEST, 6, "0.5", { destination: "alias" }),
  capture(LATEST, 2, "0.5", { destination: "alias" }),
  on("read", 1),
  block(1, "1", 1),
  on("freeze", 1),
  { deed: "pass" },
  { deed: "expire" },
  on("unfreeze", 1),
  on("read", 1),
];

/** The plan of all rules, for one client, through so many serving processes in turn. */
export function everyRule(instances: number): Step[] {
  return LINES.map((line, n) => ({
    what: "deed" in line ? line : line.what,
    how: "deed" in line ? "plain" : line.how ?? "plain",
    person: "deed" in line ? 0 : line.person ?? 0,
    instance: n % instances,
  }));
}
