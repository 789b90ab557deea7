/**
 * Texts of failures as administrators of a realm are shown them. A failure may come from a node, a gateway or a
 * library, and may name addresses of the installation, a credential or a person: these are left out.
 * @module
 */
import { ERROR_CODES } from "./errors.ts";
import { EVENT_TYPES } from "./events.ts";

const LEFT_OUT = "…";
/** Longest text that is shown. */
const SHOWN_MAX = 500;
/** Names with a dot that are no hosts. */
const WORDS: ReadonlySet<string> = new Set([...ERROR_CODES, ...EVENT_TYPES]);

const URLS = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>)\]]+/gi;
const CREDENTIALS =
  /(?<![a-z0-9])(?:(?:basic|bearer)\s+|(?:(?:x-)?api[-_ ]?key|authorization|password|secret|token)["']?\s*[=:]\s*)["']?[\w+/.~=-]{8,}/gi;
/** Longer than any hash or address: signed bytes, or a key. */
const BYTES = /[0-9a-z+/=_-]{130,}/gi;
/** Addresses of e-mail, and telephone numbers: of whom a message was for. */
const PERSONS = /[^\s<>"'(),;:]{1,100}@[^\s<>"'(),;:]{1,253}|\+\d[\d ()-]{5,18}\d/g;
/** All eight groups, or some and `::`: a time of day has neither. */
const IPV6 =
  /(?<![\w:.[])(?=(?:[0-9a-f]{0,4}:){1,7}:|(?:[0-9a-f]{1,4}:){7})[0-9a-f:]*[0-9a-f](?:\.\d{1,3}){0,3}(?!\w)(?:%[\w.-]+)?/gi;
const ADDRESSES =
  /\[[0-9a-f:.]{2,45}(?:%[\w.-]{1,40})?\](?::\d{1,5})?|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/gi;
/**
 * All that may be a name, with its port. A name takes a whole run of such characters, and what is one is looked for at its
 * end: a search from each of its dots would take the time of a second for a text that a node, or a contract, chose.
 */
const RUNS = /[\p{L}\p{N}_.-]+(?::\d{1,5}(?![\p{L}\p{N}_.-]*[\p{L}\p{N}_]))?/gu;
/** A name with a dot whose last part begins with a letter and has another, or a name with a port. */
const NAME =
  /[\p{L}\p{N}_-]\.\p{L}[\p{L}\p{N}-]{1,62}[.-]*(?::\d+)?$|(?<![\p{L}\p{N}_-])\p{L}[\p{L}\p{N}_-]{0,39}:\d{2,}$/u;
/** What follows a host may hold a credential too. */
const PATHS = new RegExp(String.raw`${LEFT_OUT}[/?#][^\s"'<>)\]]*`, "g");

/** Prepares the text of a failure to be shown: without addresses of hosts and persons, and without credentials. */
export function shownText(text: string): string {
  return text.slice(0, 4 * SHOWN_MAX)
    .replace(URLS, LEFT_OUT)
    .replace(CREDENTIALS, LEFT_OUT)
    .replace(BYTES, LEFT_OUT)
    .replace(PERSONS, LEFT_OUT)
    .replace(IPV6, LEFT_OUT)
    .replace(ADDRESSES, LEFT_OUT)
    .replace(RUNS, withoutName)
    .replace(PATHS, LEFT_OUT)
    .slice(0, SHOWN_MAX);
}

function withoutName(run: string): string {
  let end = run.length;
  while (end > 0 && (run[end - 1] === "." || run[end - 1] === "-")) end--;
  const name = run.slice(0, end);
  return NAME.test(name) && !WORDS.has(name) ? LEFT_OUT + run.slice(end) : run;
}
