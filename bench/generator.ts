/**
 * A load generator for machines without wrk: keep-alive connections over raw TCP, one request in
 * flight on each, in a process of its own. Prints one line of JSON.
 *
 * Arguments: port, connections, seconds, key, file of account ids, which accounts meet, transfers a request; and, for a
 * service that is not this one, the file of a request's form.
 *
 * @module
 */
import { quantile } from "./processes.ts";

/** Which accounts meet: any two; one hot account and any other, in either direction; or any other pays to the hot one. */
export type Choice = "uniform" | "hot" | "collect";

/** Result of a run of load. Times in milliseconds. */
export interface LoadFigures {
  requests: number;
  failed: number;
  seconds: number;
  p50: number;
  p99: number;
  max: number;
}

interface Plan {
  port: number;
  connections: number;
  seconds: number;
  key: string;
  accounts: string[];
  how: Choice;
  many: number;
  form: RequestForm | null;
}

/** A transfer's request elsewhere; SOURCE, DESTINATION and KEY stand for what differs. */
export interface RequestForm {
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Writes a form as the generators read it: the path, a line for each header, an empty one, and the body. */
export function formText({ path, headers, body }: RequestForm): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  return `${path}\n${lines.join("")}\n${body}`;
}

function readForm(text: string): RequestForm {
  const end = text.indexOf("\n\n");
  const [path, ...lines] = text.slice(0, end).split("\n");
  const headers = lines.map((line) => {
    const at = line.indexOf(": ");
    return [line.slice(0, at), line.slice(at + 2)];
  });
  return { path, headers: Object.fromEntries(headers), body: text.slice(end + 2) };
}

/** Bytes of a request; `next()` writes another one into the same bytes. */
type Requests = () => Uint8Array<ArrayBuffer>;

const ENCODER = new TextEncoder();
const LENGTH = "content-length: ";
/** Letters of {@link LENGTH} in lower and upper case: Deno and Go write it differently. */
const LETTERS = [LENGTH, LENGTH.toUpperCase()].map((text) => ENCODER.encode(text));
const [CR, NEWLINE, ZERO, TWO] = [..."\r\n02"].map((sign) => sign.charCodeAt(0));
/** Digits of a request's number at the end of its idempotency key. */
const DIGITS = 10;
const STATUS_AT = "HTTP/1.1 ".length;

/** Sends requests until the time is up. */
async function generate(plan: Plan): Promise<LoadFigures> {
  const times: number[] = [];
  const run = crypto.randomUUID().slice(0, 13);
  const start = performance.now();
  const until = start + plan.seconds * 1000;
  let failed = 0;
  let count = 0;
  const newKey = () => `${run}${String(count++).padStart(DIGITS, "0")}`;

  async function client(): Promise<void> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port: plan.port });
    conn.setNoDelay(true);
    const next = requestsOf(plan, newKey);
    const scratch = new Uint8Array(1 << (plan.many > 1 ? 22 : 14));
    let now = performance.now();
    while (now < until) {
      const bytes = next();
      // The write is not awaited before the answer is read: that would cost as much as the write.
      const sending = send(conn, bytes);
      if (!await readAnswer(conn, scratch)) failed++;
      await sending;
      const then = now;
      now = performance.now();
      times.push(now - then);
    }
    conn.close();
  }

  await Promise.all(Array.from({ length: plan.connections }, client));
  const seconds = (performance.now() - start) / 1000;
  const sorted = [...Float64Array.from(times).sort()];
  const [p50, p99, max] = [quantile(sorted, 0.5), quantile(sorted, 0.99), sorted.at(-1) ?? NaN];
  return { requests: times.length, failed, seconds, p50, p99, max };
}

async function send(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await conn.write(bytes.subarray(sent));
}

/** Makes the requests of one connection. */
function requestsOf(plan: Plan, newKey: () => string): Requests {
  if (plan.form !== null) return () => formed(plan, newKey());
  if (plan.many > 1) return () => ENCODER.encode(request(plan, newKey(), many(plan)));
  return patched(plan, newKey);
}

/** Writes each request over the one before: only the accounts and the key differ. */
function patched(plan: Plan, newKey: () => string): Requests {
  const key = newKey();
  const [source, destination] = plan.accounts;
  const text = request(plan, key, transfer(source, destination));
  const bytes = ENCODER.encode(text);
  const [sourceAt, destinationAt] = [text.indexOf(source), text.indexOf(destination)];
  const keyAt = text.indexOf(key);
  return () => {
    const pair = pairOf(plan);
    ENCODER.encodeInto(pair[0], bytes.subarray(sourceAt));
    ENCODER.encodeInto(pair[1], bytes.subarray(destinationAt));
    ENCODER.encodeInto(newKey(), bytes.subarray(keyAt));
    return bytes;
  };
}

function formed(plan: Plan, key: string): Uint8Array<ArrayBuffer> {
  const { path, headers, body } = plan.form!;
  const [source, destination] = pairOf(plan);
  const fill = (text: string) =>
    text.replace("SOURCE", source).replace("DESTINATION", destination).replace("KEY", key);
  const filled = fill(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${fill(value)}\r\n`);
  return ENCODER.encode(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
      `${lines.join("")}content-length: ${filled.length}\r\n\r\n${filled}`,
  );
}

function many(plan: Plan): string {
  const transfers = Array.from({ length: plan.many }, () => transfer(...pairOf(plan)));
  return `{"atomic":false,"transactions":[${transfers.join(",")}]}`;
}

function request(plan: Plan, key: string, body: string): string {
  const path = plan.many > 1 ? "/v1/transactions/batch" : "/v1/transactions";
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${plan.key}\r\n` +
    `content-type: application/json\r\nidempotency-key: ${key}\r\n` +
    `content-length: ${body.length}\r\n\r\n${body}`;
}

function transfer(source: string, destination: string): string {
  return `{"source":{"account":"${source}"},"destination":{"account":"${destination}"},"value":"1"}`;
}

/** Source and destination of a transfer. */
function pairOf({ accounts, how }: Plan): [string, string] {
  const n = accounts.length;
  if (how === "uniform") {
    const s = Math.floor(Math.random() * n);
    return [accounts[s], accounts[(s + 1 + Math.floor(Math.random() * (n - 1))) % n]];
  }
  const other = accounts[1 + Math.floor(Math.random() * (n - 1))];
  const isPaid = how === "collect" || Math.random() < 0.5;
  return isPaid ? [other, accounts[0]] : [accounts[0], other];
}

/** Reads one answer whole; tells whether it was a good one. */
export async function readAnswer(conn: Deno.Conn, scratch: Uint8Array): Promise<boolean> {
  let have = 0;
  for (let end = -1; end < 0 || have < end;) {
    const read = await conn.read(have === 0 ? scratch : scratch.subarray(have));
    if (read === null) throw new Error("the service closed the connection");
    have += read;
    if (end < 0) end = endOf(scratch, have);
  }
  return scratch[STATUS_AT] === TWO;
}

/** The length was last found here: nearly always it is there again. */
let lengthAt = 0;

/** Where an answer ends; -1 as long as its headers have not come whole. */
function endOf(bytes: Uint8Array, have: number): number {
  // Behind what has come lie answers before it, which may be longer.
  if (lengthAt >= have || !isLength(bytes, lengthAt)) {
    lengthAt = 0;
    while (lengthAt < have && !isLength(bytes, lengthAt)) lengthAt++;
  }
  let length = 0;
  let at = lengthAt + LENGTH.length;
  for (; at < have && bytes[at] !== CR; at++) length = length * 10 + bytes[at] - ZERO;
  const end = headEnd(bytes, lengthAt < have ? at : 0, have);
  if (end >= 0 && lengthAt >= have) throw new Error("an answer without a length");
  return end < 0 ? -1 : end + length;
}

/** Where the headers of an answer end, looked for from a place in them; -1 if not before `have`. */
function headEnd(bytes: Uint8Array, from: number, have: number): number {
  for (let at = from; at + 3 < have; at++) {
    if (bytes[at] === CR && bytes[at + 1] === NEWLINE && bytes[at + 2] === CR) return at + 4;
  }
  return -1;
}

function isLength(bytes: Uint8Array, at: number): boolean {
  const [small, large] = LETTERS;
  for (let i = 0; i < LENGTH.length; i++) {
    if (bytes[at + i] !== small[i] && bytes[at + i] !== large[i]) return false;
  }
  return true;
}

if (import.meta.main) {
  const [port, connections, seconds, key, file, how, many, form] = Deno.args;
  const figures = await generate({
    port: Number(port),
    connections: Number(connections),
    seconds: Number(seconds),
    key,
    accounts: (await Deno.readTextFile(file)).trim().split("\n"),
    how: how as Choice,
    many: Number(many),
    form: form === undefined ? null : readForm(await Deno.readTextFile(form)),
  });
  console.log(JSON.stringify(figures));
}
