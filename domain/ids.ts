/**
 * Ids: UUIDs of version 7, made by the service. The first 48 bits are the creation time in
 * milliseconds, and ids of one process ascend, so the order of ids is the order of creation and the
 * primary key serves every default listing.
 * @module
 */

const HEX = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Room for 2^26 ids in one millisecond: 12 bits beside the version, 14 beside the variant. */
const COUNTER_MAX = 0x3ffffff;

let lastMs = 0;
let counter = 0;
const random = new Uint8Array(6 * 256);
let used = random.length;
/** The beginning of the ids of a millisecond, which share its text. */
let [beginningMs, beginning] = [-1, ""];

/** Makes `count` ids that all carry the millisecond `at` (or the process's last one, if later). */
export function newIds(at: number, count: number): { ids: string[]; at: number } {
  if (at > lastMs || counter + count > COUNTER_MAX) {
    lastMs = Math.max(at, lastMs + 1);
    counter = 0;
  }
  const ids = new Array<string>(count);
  for (let i = 0; i < count; i++) ids[i] = format(lastMs, counter++);
  return { ids, at: lastMs };
}

/** Makes one id for the millisecond `at`. */
export function newId(at: number): string {
  return newIds(at, 1).ids[0];
}

/** Makes an id of exactly the millisecond `at`, out of the process's own order. */
export function randomId(at: number): string {
  const hex = crypto.randomUUID();
  const time = at.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(15)}`;
}

/** Whether `text` has the form of an id. Text without it names nothing and is not found. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** The milliseconds since the epoch at which an id was made. */
export function idTime(id: string): number {
  return parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The greatest id that can have been made at `at` (milliseconds) or before. */
export function idBound(at: number): string {
  const ms = Math.max(0, Math.min(at, 0xffffffffffff)).toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7fff-bfff-ffffffffffff`;
}

/** The least id that can be made at `at` (milliseconds) or later. */
export function idFrom(at: number): string {
  const ms = at.toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`;
}

function format(ms: number, n: number): string {
  if (used + 6 > random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  const r = used;
  used += 6;
  if (ms !== beginningMs) [beginningMs, beginning] = [ms, begin(ms)];
  const high = (n >>> 14).toString(16).padStart(3, "0");
  const low = n & 0x3fff;
  // In short parts: each text of 13 characters or more that is joined from others is an object of its own until it is read.
  const middle = high + "-" + HEX[0x80 | (low >>> 8)] + HEX[low & 0xff] + "-";
  const end = HEX[random[r]] + HEX[random[r + 1]] + HEX[random[r + 2]] +
    HEX[random[r + 3]] + HEX[random[r + 4]] + HEX[random[r + 5]];
  return beginning + middle + end;
}

/** Time and version of an id. */
function begin(ms: number): string {
  const time = ms.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7`;
}
