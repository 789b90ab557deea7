/** Values for requests: by the schema, nearly by it, and nasty ones. @module */
import { at, type Json } from "./document.ts";
import type { Random } from "./random.ts";

/** How well a request behaves. */
export type Mood = "valid" | "near" | "nasty";

/** The known parts of the realm: ids by the noun of their paths, and other useful values. */
export type Known = Map<string, string[]>;

/** The sources of values. */
export interface Maker {
  document: Json;
  random: Random;
  known: Known;
  mood: Mood;
}

const NASTY: readonly Json[] = [
  ...["", " ", "\0", "a\0b", "%00", "'", '"', "\\", "';--", "{{7*7}}", "${x}", "../..", "\u202e"],
  ...["e\u0301", "😀", "٣", "\ud800", "-1", "0", "1e5", "1e999", "NaN", "Infinity", "-0", "0.0"],
  ...["00", "+1", "1.0000000000000000001", "9".repeat(40), "9".repeat(200), `0.${"1".repeat(80)}`],
  ...["true", "false", "null", "[]", "{}", "x".repeat(41), "x".repeat(201), "x".repeat(1001)],
  ...["x".repeat(70_000), null, true, false, 0, -1, 1, 1.5, 1e21, 1e-7, 2 ** 53 + 2, -(2 ** 53)],
  ...[253402300799999, 253402300800000, [], {}, [[]], [null], { a: 1 }, { $gt: 1 }, {
    digits: "1",
  }],
  ...["01a1fb9d-f797-7000-8000-f205583ab8e1", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
  ...["00000000-0000-0000-0000-000000000000", "constructor", "__proto__", "toString"],
];
const QUERIES = [
  '{"id":{"$exists":true}}',
  '{"created_at":{"$gt":0}}',
  '{"data.n":{"$gte":1}}',
  '{"$or":[{"data.x":"y"},{"data.tags":{"$contains":"x"}}]}',
  '{"$not":{"owner":null}}',
  '{"owner":{"$in":[null,"x"]}}',
  '{"data":{"$contains":{"a":[1]}}}',
  '{"created_at":{"$in":[0,1,99999999999999999999]}}',
  '{"data.x":{"$lt":1e999}}',
  '{"balance.total":{"$gt":"1e5"}}',
  '{"data.a.0.b":{"$ne":null}}',
  '{"updated_at":{"$lte":-210866803200000}}',
  '{"id":{"$gt":"zz"}}',
  '{"seq":{"$gt":99999999999999999999999}}',
  '{"amount":{"$nin":[1,"2.5"]}}',
  '{"$and":[]}',
  '{"x":1}',
];
const AMOUNTS = ["1", "0.5", "0.000000000000000001", 2, "1000000000", 0.25];
const ADDRESSES = [
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "0x00000000000000000000000000000000DeaDBeef",
  "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
];
/** Names of members that stand for things of the realm. */
const NOUNS: Readonly<Record<string, string>> = {
  account: "accounts",
  ramp: "accounts",
  identity: "identities",
  holder: "identities",
  owner: "users",
  user: "users",
  asset: "assets",
  base: "assets",
  alias: "names",
  realm: "realms",
  realm_key: "realm keys",
  reference: "names",
  username: "usernames",
  email: "emails",
  to: "recipients",
};

/** Makes a value for a schema. */
export function make(maker: Maker, schema: Json, name: string, depth = 0): Json {
  const { random, mood } = maker;
  const wild = { valid: 0, near: 0.06, nasty: 0.3 }[mood];
  if (depth > 7 || random.chance(depth === 0 ? wild / 3 : wild)) return random.pick(NASTY);
  if (schema === true || schema === undefined) return random.pick([{ a: 1 }, "x", 1, null]);
  const party = partyOf(maker, schema.$ref);
  if (party !== undefined) return party;
  if (schema.$ref !== undefined) return make(maker, at(maker.document, schema.$ref), name, depth);
  if (random.chance(0.85)) {
    const known = worthNaming(maker, name);
    if (known !== undefined) return known;
  }
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined && schema.properties === undefined) {
    return make(maker, random.pick(forms), name, depth + 1);
  }
  const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type;
  return ofType(maker, { ...schema, type }, name, depth);
}

/** A side of a move that has something, or takes it. */
function partyOf({ random, known }: Maker, reference: string | undefined): Json {
  const kinds: Record<string, string> = { SourceParty: "funded", DestinationParty: "receiving" };
  const kind = kinds[reference?.split("/").at(-1) ?? ""];
  if (kind === undefined || !random.chance(0.6)) return undefined;
  return { account: pickKnown(random, known.get(kind)!) };
}

function ofType(maker: Maker, schema: Json, name: string, depth: number): Json {
  const { random } = maker;
  switch (schema.type) {
    case "object":
      return objectOf(maker, schema, depth);
    case "array":
      return arrayOf(maker, schema, name, depth);
    case "integer":
      return integerOf(random, schema);
    case "number":
      return random.pick([0.1, 1, 2.5, 1000]);
    case "boolean":
      return random.chance(0.5);
    case "null":
      return null;
    case "string":
      return textOf(random, schema);
    default:
      return random.pick([{ a: 1 }, { n: 1.5, tags: ["x"] }]);
  }
}

function objectOf(maker: Maker, schema: Json, depth: number): Json {
  const { random, mood } = maker;
  const made: Json = {};
  const choice = schema.oneOf ?? schema.anyOf;
  const chosen = choice === undefined ? undefined : random.pick(choice) as Json;
  const required: string[] = [...schema.required ?? [], ...chosen?.required ?? []];
  const rivals = (choice ?? []).flatMap((form: Json) => form.required ?? []);
  for (const [name, member] of Object.entries<Json>(schema.properties ?? {})) {
    const needed = required.includes(name);
    const rival = !needed && rivals.includes(name);
    const share = needed ? (mood === "valid" ? 1 : 0.96) : rival && mood === "valid" ? 0 : 0.35;
    if (!random.chance(share)) continue;
    const narrowed = chosen?.properties?.[name];
    made[name] = narrowed?.const ?? make(maker, member, name, depth + 1);
  }
  if (schema.properties === undefined || (schema.minProperties ?? 0) > Object.keys(made).length) {
    const [[name, member] = ["k", undefined]] = Object.entries<Json>(schema.properties ?? {});
    made[name] = make(maker, member, name, depth + 1);
  }
  if (mood !== "valid" && random.chance(0.05)) {
    made[random.pick(["x", "constructor", "$where"])] = random.pick(NASTY);
  }
  return made;
}

function arrayOf(maker: Maker, schema: Json, name: string, depth: number): Json {
  if (schema.prefixItems !== undefined) {
    return schema.prefixItems.map((item: Json) => make(maker, item, name, depth + 1));
  }
  const min = schema.minItems ?? 0;
  const length = Math.min(schema.maxItems ?? 3, min + maker.random.below(3));
  return Array.from({ length }, () => make(maker, schema.items, name, depth + 1));
}

function integerOf(random: Random, { minimum, maximum }: Json): number {
  const low = minimum ?? 0;
  const high = maximum ?? low + 10 ** random.below(14);
  return random.pick([low, high, Math.min(high, low + 1), low + random.below(high - low + 1)]);
}

function textOf(random: Random, schema: Json): string {
  const { format, pattern, minLength = 0, maxLength = 40, example } = schema;
  if (format === "email") return `s${random.below(1e9)}@fuzz.example`;
  if (format === "uri") return `https://fuzz.example/${random.below(1e6)}`;
  if (format === "uuid") return "01a1fb9d-f797-4000-8000-f205583ab8e1";
  if (pattern !== undefined) {
    const tried = [example, `s${random.below(1e9)}`, `${random.below(1e6)}`, "wait=1", "S1", "own"];
    const fitting = tried.filter((text) =>
      typeof text === "string" && new RegExp(pattern).test(text)
    );
    const names = /\(\?:([^()]+?)[|)]/.exec(pattern)?.[1] ?? "id";
    return random.pick(fitting.length > 0 ? fitting : [names.replaceAll("[.]", ".")]);
  }
  const text = `s${random.below(1e9).toString(36)}`.padEnd(minLength, "x");
  return random.chance(0.05) ? "y".repeat(maxLength) : text.slice(0, maxLength);
}

/** A value that leads somewhere, for members that stand for something; undefined for others. */
function worthNaming({ random, known }: Maker, name: string): Json {
  if (name === "amount" || name === "value" || name === "supply") return random.pick(AMOUNTS);
  if (name === "query") return random.pick(QUERIES);
  if (name === "country") return "US";
  if (name === "currency") return random.pick(["USD", "EUR", "BTC"]);
  if (name === "address" || name === "external_address") return random.pick(ADDRESSES);
  if (name === "password" || name === "new_password") return "correct horse battery";
  if (name === "tier") return "unlimited";
  const list = known.get(NOUNS[name] ?? "");
  return list === undefined || list.length === 0 ? undefined : pickKnown(random, list);
}

/** One of what is known; more often of the first ones, which are the run's own. */
export function pickKnown(random: Random, list: readonly string[]): string {
  return list[random.below(random.chance(0.4) ? Math.min(3, list.length) : list.length)];
}
