/**
 * Recomputes a realm's chain of hashes on an auditor's own machine, from what the API shows, with
 * nothing of the service's own code. Needs a user key with the scope realm.
 *
 *     deno task verify --url https://purser.example --key <x-api-key>
 *     deno task verify --from 1200:5f0c… --expect 3400:9a17…
 *
 * `--from` begins behind a head that was verified before, `--expect` is a head that was kept
 * elsewhere and must be found again. PURSER_URL and PURSER_KEY stand in for the first two.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";

/** A link of the chain. */
interface Link {
  seq: number;
  hash: string;
}

/** A transaction as the API shows it. */
type Shown = Link & Record<string, unknown>;

/** What is asked for. */
interface Options {
  url: string;
  key: string;
  from: Link;
  expect: Link | null;
}

const PAGE = 1000;
const NOTHING: Link = { seq: 0, hash: "00".repeat(32) };
const USAGE = "usage: verify --url <base address> --key <x-api-key> " +
  "[--from <seq>:<hash>] [--expect <seq>:<hash>]";

/** Fields of a transaction that are sealed as they are shown, where they are shown. */
const SEALED = "address_data amount asset created_at fiat id owner reference reverts seal seq type";

/** Marks a number that a double does not hold exactly as written. */
const EXACT = Symbol("exact");

if (import.meta.main) Deno.exitCode = await verify(readOptions(Deno.args));

/** Follows the chain to its end; gives the exit code. */
async function verify(options: Options): Promise<number> {
  let last = options.from;
  let met = options.expect === null || matches(options.expect, last);
  for await (const shown of chain(options)) {
    const fault = follow(last, shown);
    if (fault !== null) return fail(last.seq + 1, fault);
    last = shown;
    if (options.expect?.seq === last.seq) {
      if (!matches(options.expect, last)) return fail(last.seq, "not the head that was kept");
      met = true;
    }
  }
  if (!met) return fail(options.expect!.seq, "the chain ends before the head that was kept");
  const head = await get(options, "/v1/transactions/head") as Link & { unsealed: number };
  if (head.seq === last.seq && last.seq > 0 && head.hash !== last.hash) {
    return fail(last.seq, "the service names another head");
  }
  if (head.seq < last.seq) return fail(head.seq + 1, "the service names an earlier head");
  console.log(`ok: ${last.seq - options.from.seq} transactions recomputed`);
  if (head.unsealed > 0) console.log(`${head.unsealed} more wait to be sealed`);
  console.log(`head ${last.seq}:${last.hash}`);
  return 0;
}

/** Transactions in the order of the chain; the next page is on its way while one is looked at. */
async function* chain(options: Options): AsyncGenerator<Shown> {
  const ask = (after: number) =>
    get(options, `/v1/transactions/chain?after=${after}&limit=${PAGE}`);
  let coming: Promise<unknown> | null = ask(options.from.seq);
  while (coming !== null) {
    const page: unknown = await coming;
    if (!Array.isArray(page)) throw new Error("the service did not answer with a list");
    coming = page.length < PAGE ? null : ask(page[PAGE - 1].seq);
    coming?.catch(() => {}); // whoever finds a break on this page does not wait for the next
    yield* page;
  }
}

/** Why a transaction does not continue the chain; null if it does. */
function follow(last: Link, shown: Shown): string | null {
  if (shown.seq !== last.seq + 1) return `number ${shown.seq} follows ${last.seq}`;
  const bytes = Buffer.concat([
    Buffer.from(last.hash, "hex"),
    Buffer.from(canonical(sealedForm(shown))),
  ]);
  const due = hash("sha256", bytes, "hex");
  return due === shown.hash ? null : `the hash should be ${due}`;
}

/** The fields of a transaction that its hash covers. */
function sealedForm(shown: Shown): Record<string, unknown> {
  const form: Record<string, unknown> = {};
  for (const field of SEALED.split(" ")) if (field in shown) form[field] = shown[field];
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

/** Parses JSON; a number whose double would print as another number stays as it is written. */
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
  const after = padded.slice(at).replace(/0+$/, "");
  if (before === "0" && after === "") return "0";
  return sign + before + (after && `.${after}`);
}

async function get(options: Options, path: string): Promise<unknown> {
  const response = await fetch(options.url + path, { headers: { "x-api-key": options.key } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return parse(text);
}

function matches(a: Link, b: Link): boolean {
  return a.seq === b.seq && a.hash === b.hash;
}

function fail(seq: number, reason: string): number {
  console.log(`BROKEN at ${seq}: ${reason}`);
  return 1;
}

function readOptions(args: readonly string[]): Options {
  const given = new Map<string, string>();
  for (let i = 0; i < args.length; i += 2) {
    if (!/^--(url|key|from|expect)$/.test(args[i]) || args[i + 1] === undefined) stop();
    given.set(args[i].slice(2), args[i + 1]);
  }
  const url = given.get("url") ?? Deno.env.get("PURSER_URL");
  const key = given.get("key") ?? Deno.env.get("PURSER_KEY");
  if (!url || !key) return stop();
  return {
    url: url.replace(/\/+$/, ""),
    key,
    from: linkOf(given.get("from")) ?? NOTHING,
    expect: linkOf(given.get("expect")),
  };
}

function linkOf(text: string | undefined): Link | null {
  if (text === undefined) return null;
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text);
  return match === null ? stop() : { seq: Number(match[1]), hash: match[2] };
}

function stop(): never {
  console.error(USAGE);
  Deno.exit(2);
}
