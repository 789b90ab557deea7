/**
 * Retired words: names that a reader of the field would not know, each with the term in its place. The
 * table at the end of docs/glossary.md shows the same words; a test compares the two.
 *
 * @module
 */

/** A word that names no longer contain. */
export interface RetiredWord {
  readonly word: string;
  /** The term of the field. */
  readonly instead: string;
  /** Refused as a whole name only, because as a part of names it has a good meaning. */
  readonly whole: boolean;
}

type Row = readonly [words: string, instead: string];

/** Refused wherever one of them is a word of a camelCase or snake_case name. */
const PARTS: readonly Row[] = [
  ["arrival arrivals", "incoming transfer"],
  ["bear conceive", "create a CPFP transaction"],
  ["candidate candidates", "attempt"],
  ["carrier", "batch order"],
  ["crossing", "checkpoint"],
  ["death died", "drop, dropped"],
  ["desk desks", "state"],
  ["door doors", "execution"],
  ["drafts", "realm provisioning"],
  ["fate fates", "status"],
  ["follower followers", "poller, handler"],
  ["forwarder", "sweep"],
  ["furnish", "provision"],
  ["gate", "ledger lock"],
  ["gather gathered gathering gatherings", "consolidate, consolidation limits"],
  ["glance", "poll"],
  ["hasten hastened hastens", "speed up"],
  ["joined", "batched"],
  ["keeper", "managed pool"],
  ["signingKeys", "signing keys"],
  ["ladder ladders", "migrations"],
  ["lane", "posting queue, serial key"],
  ["lend", "with keys"],
  ["liar liars", "lying node"],
  ["linger lingered lingers", "stuck"],
  ["look looked looks", "step, pass, poll"],
  ["mate mates", "sibling"],
  ["meter", "usage"],
  ["nudge", "schedule"],
  ["patience patiently", "timeout"],
  ["payout payouts", "withdrawal batch"],
  ["permits", "connections"],
  ["placement", "database url"],
  ["road", "posting context"],
  ["rogue", "misbehaving"],
  ["rung rungs", "schema version"],
  ["seals sealed sealing unseal", "hash chain, encrypt"],
  ["seat seated seats", "concurrency limit"],
  ["sides", "parties, endpoints"],
  ["sight sighting sightings", "scan result, observation"],
  ["site sites", "options"],
  ["stock", "available inputs"],
  ["stray strays", "unmatched deposit"],
  ["stretch stretches", "block range"],
  ["survey surveys", "quote"],
  ["tallied tallies tally", "row count"],
  ["tenure", "lease"],
  ["testify testimony", "report"],
  ["tidy", "purge expired"],
  ["trial trials", "dry run"],
  ["vault", "key store"],
  ["wish wishes", "request"],
  ["workshop", "dependencies"],
  ["yielding", "draining"],
];

/** Refused as whole names, in these letters; as a part of names they mean something else. */
const WHOLE: readonly Row[] = [
  ["AccountFacts", "AccountSummary"],
  ["Bench benchOf", "WorkerContext"],
  ["Branch Leaf", "AccountPath, KeyPath"],
  ["ChainFacts", "ChainInfo"],
  ["Floor", "RunnerState"],
  ["Order", "ChainOrder"],
  ["PassFacts", "ScanResult"],
  ["Place placeOf", "RealmLocation, locationOf"],
  ["TransactionFacts", "TransactionFields"],
  ["Watch", "WatchList"],
];

/** Words that names still contain. The rule lets them pass; the list only ever becomes shorter. */
export const NOT_YET: ReadonlySet<string> = new Set(
  `
  AccountFacts arrival arrivals bear Branch candidate candidates carrier ChainFacts conceive
  crossing death desk died door drafts fate fates Floor follower followers furnish gate gather
  gathered gathering gatherings glance hasten hastened joined keeper signingKeys ladder ladders
  lane Leaf lend liar liars lingers look looked looks mate mates meter nudge Order PassFacts
  patience patiently payout payouts permits Place placement placeOf road rung rungs sealed
  seals seated seats sides sight site sites stock stray strays stretch survey tallied tallies
  tenure testify testimony tidy TransactionFacts trial trials unseal vault Watch wish wishes
  workshop yielding
`.trim().split(/\s+/),
);

function rows(list: readonly Row[], whole: boolean): RetiredWord[] {
  return list.flatMap(([words, instead]) =>
    words.split(" ").map((word) => ({ word, instead, whole }))
  );
}

/** All retired words. */
export const RETIRED: readonly RetiredWord[] = [...rows(PARTS, false), ...rows(WHOLE, true)];

const BY_PART = new Map(RETIRED.filter(({ whole }) => !whole).map((one) => [one.word, one]));
const BY_NAME = new Map(RETIRED.filter(({ whole }) => whole).map((one) => [one.word, one]));
/** Names of others, and names in which the word means something else. */
const EXCEPT: ReadonlySet<string> = new Set(["lookUp", "LOOKS_LIKE_CHAIN"]);

/** Finds the retired word in a name; null if there is none. */
export function retiredIn(name: string): RetiredWord | null {
  if (EXCEPT.has(name)) return null;
  const whole = BY_NAME.get(name);
  if (whole !== undefined) return whole;
  for (const part of name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []) {
    const found = BY_PART.get(part.toLowerCase());
    if (found !== undefined) return found;
  }
  return null;
}

/** Refuses retired words in the names of a file's variables, functions, types and members. */
export const words: Deno.lint.Rule = {
  create(context) {
    return {
      Identifier(node) {
        const found = retiredIn(node.name);
        if (found === null || NOT_YET.has(found.word)) return;
        context.report({
          node,
          message: `"${found.word}" is a retired word: ${found.instead} is meant`,
          hint: "docs/glossary.md lists the terms.",
        });
      },
    };
  },
};
