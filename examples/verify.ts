/**
 * Recomputes a realm's chain of hashes on an auditor's own machine, from the answers of the API, without
 * the service's own code or its client: an auditor reads here all that decides, and what is imported only shows how
 * far it is. Needs a user key with the scope realm.
 *
 *     PURSER_KEY=<x-api-key> deno task verify --url https://purser.example
 *     deno task verify --from 1200:5f0c… --expect 3400:9a17…
 *
 * Transactions that the operator archived are shown by their links alone: the chain goes on from their hashes, and events
 * in the chain say up to which link they were archived, and with which hash. `deno task audit --archive` recomputes them too.
 *
 * `--from` begins after a head that was verified before, `--expect` is a head that was stored
 * elsewhere and must be found again. PURSER_URL replaces `--url`; `--key` replaces PURSER_KEY, and shows the key to
 * every user of the host.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { openProgress, type Progress } from "../progress.ts";

/** A link of the chain. */
export interface Link {
  seq: number;
  hash: string;
}

/** A transaction or an event as the API shows it. */
type Shown = Link & Record<string, unknown>;

/** The head as the API shows it. */
type Head = { seq: number; hash: string | null; unsealed: number };

/** Options of a verification. */
export interface Options {
  url: string;
  key: string;
  from: Link;
  expect: Link | null;
  /** Takes each line of the report. */
  say: (line: string) => void;
  /** Shows how far it is. */
  progress?: Progress;
  /** Asks the service. */
  ask: (url: string, how: { headers: Record<string, string> }) => Promise<Response>;
}

const PAGE = 1000;
/** The link before the first. */
export const NOTHING: Link = { seq: 0, hash: "00".repeat(32) };
const USAGE = "usage: PURSER_KEY=<x-api-key> verify --url <base address> " +
  "[--from <seq>:<hash>] [--expect <seq>:<hash>]";
const PURPOSE = "verify: recomputes a realm's chain of hashes from the API alone";

/** Fields of a transaction that its hash covers as they are shown, where they are shown. */
const TRANSACTION_FIELDS =
  "address_data amount api_key asset created_at fiat id owner reference reverts salt seal seq " +
  "testnet type";
/** Fields of an event that its hash covers as they are shown. */
const EVENT_FIELDS = "at facts kind salt seq subject";

/** Marks a number that a double does not hold exactly as written. */
const EXACT = Symbol("exact");

if (import.meta.main) {
  if (Deno.args.some((arg) => arg === "--help" || arg === "-h")) {
    console.log(`${PURPOSE}\n${USAGE}`);
    Deno.exit();
  }
  const options = readOptions(Deno.args);
  try {
    Deno.exitCode = await verify(options).finally(() => options.progress?.end());
  } catch (error) {
    // Neither sound nor broken: the service could not be asked, or refused the key.
    console.error(`not verified: ${error instanceof Error ? error.message : error}`);
    Deno.exitCode = 3;
  }
}

/** Follows the chain to the head that the service named before, or beyond it; gives the exit code. */
export async function verify(options: Options): Promise<number> {
  const say = (line: string) => {
    options.progress?.end();
    options.say(line);
  };
  const fail = (seq: number, reason: string) => {
    say(`BROKEN at ${seq}: ${reason}`);
    return 1;
  };
  const refuse = (link: Link, named: Link) =>
    fail(
      link.seq,
      link === named ? "the service names another head" : "not the head that was kept",
    );
  const head = await get(options, "/v1/transactions/head") as Head;
  const named: Link = head.seq === 0 ? NOTHING : { seq: head.seq, hash: `${head.hash}` };
  if (named.seq < options.from.seq) {
    return fail(named.seq + 1, "the service names an earlier head");
  }
  let last = options.from;
  let [events, archived] = [0, 0];
  const archives = openArchives(options);
  const due = [named, ...(options.expect === null ? [] : [options.expect])];
  for (const link of due) {
    if (link.seq === last.seq && !matches(link, last)) return refuse(link, named);
  }
  options.progress?.part("Verifying", named.seq - last.seq, "links");
  for await (const shown of chain(options)) {
    options.progress?.add(1);
    const fault = follow(last, shown) ?? await archives.take(shown);
    if (fault !== null) return fail(last.seq + 1, fault);
    if ("kind" in shown) events++;
    if (shown.archived === true) archived++;
    last = shown;
    for (const link of due) {
      if (link.seq === last.seq && !matches(link, last)) return refuse(link, named);
    }
  }
  if (last.seq < named.seq) return fail(last.seq + 1, "the chain ends before the service's head");
  if (options.expect !== null && last.seq < options.expect.seq) {
    return fail(options.expect.seq, "the chain ends before the head that was kept");
  }
  if (options.expect !== null && options.expect.seq < options.from.seq) {
    return fail(options.expect.seq, "the head that was kept lies before the beginning");
  }
  const unsaid = archives.unsaid();
  if (unsaid > 0) {
    return fail(unsaid, "the transaction is archived, and no event in the chain says so");
  }
  const links = last.seq - options.from.seq - archived;
  say(`ok: ${links - events} transactions and ${events} events recomputed`);
  if (archived > 0) say(`${archived} archived transactions are taken by their hashes`);
  if (head.unsealed > 0) say(`${head.unsealed} more wait for their links`);
  say(`head ${last.seq}:${last.hash}`);
  return 0;
}

/**
 * Links in the order of the chain, until a page is empty: a short page is not the end. The next page
 * is requested while one is checked.
 */
async function* chain(options: Options): AsyncGenerator<Shown> {
  const ask = (after: number) =>
    get(options, `/v1/transactions/chain?after=${after}&limit=${PAGE}`);
  let coming: Promise<unknown> = ask(options.from.seq);
  while (true) {
    const page: unknown = await coming;
    if (!Array.isArray(page)) throw new Error("the service did not answer with a list");
    if (page.length === 0) return;
    coming = ask(page[page.length - 1].seq);
    coming.catch(() => {}); // a break that is found on this page does not wait for the next
    yield* page;
  }
}

/**
 * Follows which links are of archived transactions. Each event of a part that was archived names the last of its links with
 * its hash, which the chain shows; no other link may be archived.
 */
function openArchives(options: Options) {
  const ends = new Map<unknown, number>();
  let archivedTo = 0;
  return {
    /** Why an event does not fit the chain; null if it does, or tells of something else. */
    async take(shown: Shown): Promise<string | null> {
      if (shown.archived === true) archivedTo = shown.seq;
      if (shown.kind !== "archived_parts") return null;
      const facts = shown.facts as { last_seq: number; last_hash: string } | null;
      if (facts === null) {
        ends.delete(shown.subject);
        return null;
      }
      ends.set(shown.subject, facts.last_seq);
      if (facts.last_seq === 0) return null;
      const path = `/v1/transactions/chain?after=${facts.last_seq - 1}&limit=1`;
      const [end] = await get(options, path) as Link[];
      const same = end?.seq === facts.last_seq && `\\x${end.hash}` === facts.last_hash;
      return same ? null : `it names another hash of the archived link ${facts.last_seq}`;
    },
    /** The last archived link that no event tells of; 0 where there is none. */
    unsaid: () => archivedTo > Math.max(0, ...ends.values()) ? archivedTo : 0,
  };
}

/** Why a link does not continue the chain; null if it does. */
function follow(last: Link, shown: Shown): string | null {
  if (shown.seq !== last.seq + 1) return `number ${shown.seq} follows ${last.seq}`;
  if (shown.archived === true) return null;
  if ("missing" in shown) return `the ${shown.missing} ${shown.id} is missing`;
  const bytes = Buffer.concat([
    Buffer.from(last.hash, "hex"),
    Buffer.from(canonical(hashedForm(shown))),
  ]);
  const due = hash("sha256", bytes, "hex");
  return due === shown.hash ? null : `the hash should be ${due}`;
}

/** The fields of a transaction or an event that its hash covers. */
function hashedForm(shown: Shown): Record<string, unknown> {
  const form: Record<string, unknown> = {};
  if ("kind" in shown) {
    for (const field of EVENT_FIELDS.split(" ")) form[field] = shown[field];
    return form;
  }
  for (const field of TRANSACTION_FIELDS.split(" ")) if (field in shown) form[field] = shown[field];
  for (const side of ["source", "destination"]) {
    form[side] = (shown[side] as { account: string }).account;
  }
  return form;
}

/** Canonical JSON (RFC 8785); digits that a double would lose are kept. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (EXACT in value) return value[EXACT] as string;
  const members = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(",")}}`;
}

/** Parses JSON; a number whose double would print as another number keeps its digits. */
function parse(text: string): unknown {
  const exact = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ) => unknown;
  return exact(text, (_key, value, { source }) => {
    if (typeof value !== "number" || source === undefined) return value;
    const written = spellOut(source);
    return Number.isFinite(value) && spellOut(JSON.stringify(value)) === written
      ? value
      : { [EXACT]: written };
  });
}

/** Writes a number without exponent, leading or trailing zeros. */
function spellOut(literal: string): string {
  const [mantissa, exponent = "0"] = literal.toLowerCase().split("e");
  const sign = mantissa.startsWith("-") ? "-" : "";
  const [whole, fraction = ""] = mantissa.replace("-", "").split(".");
  const point = whole.length + Number(exponent);
  const digits = (whole + fraction).padEnd(point, "0");
  const padded = point > 0 ? digits : "0".repeat(1 - point) + digits;
  const at = Math.max(1, point);
  const before = padded.slice(0, at).replace(/^0+(?=\d)/, "");
  let end = padded.length; // a pattern would begin anew at each of a thousand zeros
  while (end > at && padded[end - 1] === "0") end--;
  const after = padded.slice(at, end);
  if (before === "0" && after === "") return "0";
  return sign + before + (after && `.${after}`);
}

async function get(options: Options, path: string): Promise<unknown> {
  const response = await options.ask(options.url + path, { headers: { "x-api-key": options.key } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return parse(text);
}

function matches(a: Link, b: Link): boolean {
  return a.seq === b.seq && a.hash === b.hash;
}

function readOptions(args: readonly string[]): Options {
  const given = new Map<string, string>();
  for (let i = 0; i < args.length; i += 2) {
    if (!/^--(url|key|from|expect)$/.test(args[i])) stop(`${args[i]} is not an option`);
    if (args[i + 1] === undefined) stop(`${args[i]} takes a value`);
    given.set(args[i].slice(2), args[i + 1]);
  }
  const url = given.get("url") ?? Deno.env.get("PURSER_URL");
  const key = given.get("key") ?? Deno.env.get("PURSER_KEY");
  if (!url) return stop("--url or PURSER_URL is needed");
  if (!key) return stop("PURSER_KEY is needed");
  return {
    url: url.replace(/\/+$/, ""),
    key,
    from: linkOf(given, "from") ?? NOTHING,
    expect: linkOf(given, "expect"),
    say: console.log,
    progress: openProgress(),
    ask: fetch,
  };
}

function linkOf(given: ReadonlyMap<string, string>, name: "from" | "expect"): Link | null {
  const text = given.get(name);
  if (text === undefined) return null;
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text);
  if (match === null) return stop(`--${name} is a head: <seq>:<hash>, as verify printed it`);
  return { seq: Number(match[1]), hash: match[2] };
}

function stop(why: string): never {
  console.error(why);
  console.error(USAGE);
  Deno.exit(2);
}
