/**
 * A lean load generator for machines without wrk: keep-alive connections over raw TCP, one request in
 * flight on each, in a process of its own. Prints one line of JSON.
 *
 * Arguments: port, connections, seconds, key, file of account ids, uniform or hot, transfers a request; and, for a
 * service that is not this one, the file of a request's form.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { quantile } from "./processes.ts";

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
  hot: boolean;
  many: number;
  form: RequestForm | null;
}

/** A transfer's request elsewhere; SOURCE, DESTINATION and KEY stand for what differs. */
export interface RequestForm {
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

const HEAD_END = Buffer.from("\r\n\r\n");
/** As Deno writes it, and as Go does. */
const LENGTHS = ["content-length: ", "Content-Length: "].map((text) => Buffer.from(text));

/** Sends requests until the time is up. */
async function generate(plan: Plan): Promise<LoadFigures> {
  const times: number[] = [];
  const run = crypto.randomUUID().slice(0, 13);
  const start = performance.now();
  const until = start + plan.seconds * 1000;
  let failed = 0;
  let count = 0;

  async function client(): Promise<void> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port: plan.port });
    conn.setNoDelay(true);
    const scratch = Buffer.alloc(1 << (plan.many > 1 ? 22 : 14));
    let now = performance.now();
    while (now < until) {
      const bytes = requestOf(plan, `${run}${count++}`);
      for (let sent = 0; sent < bytes.length;) sent += await conn.write(bytes.subarray(sent));
      if (!await readAnswer(conn, scratch)) failed++;
      const then = now;
      now = performance.now();
      times.push(now - then);
    }
    conn.close();
  }

  await Promise.all(Array.from({ length: plan.connections }, client));
  const seconds = (performance.now() - start) / 1000;
  times.sort((a, b) => a - b);
  const [p50, p99, max] = [quantile(times, 0.5), quantile(times, 0.99), times.at(-1) ?? NaN];
  return { requests: times.length, failed, seconds, p50, p99, max };
}

function requestOf(plan: Plan, key: string): Buffer {
  const { form } = plan;
  if (form === null) return request(plan, key);
  const [source, destination] = pairOf(plan);
  const fill = (text: string) =>
    text.replace("SOURCE", source).replace("DESTINATION", destination).replace("KEY", key);
  const body = fill(form.body);
  const headers = Object.entries(form.headers).map(([name, value]) =>
    `${name}: ${fill(value)}\r\n`
  );
  return Buffer.from(
    `POST ${form.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
      `${headers.join("")}content-length: ${body.length}\r\n\r\n${body}`,
    "latin1",
  );
}

function request(plan: Plan, key: string): Buffer {
  let body = transfer(plan);
  if (plan.many > 1) {
    for (let i = 1; i < plan.many; i++) body += "," + transfer(plan);
    body = `{"atomic":false,"transactions":[${body}]}`;
  }
  const path = plan.many > 1 ? "/v1/transactions/batch" : "/v1/transactions";
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${plan.key}\r\n` +
      `content-type: application/json\r\nidempotency-key: ${key}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
    "latin1",
  );
}

function transfer(plan: Plan): string {
  const [source, destination] = pairOf(plan);
  return `{"source":{"account":"${source}"},"destination":{"account":"${destination}"},"value":"1"}`;
}

/** Source and destination of a transfer. */
function pairOf({ accounts, hot }: Plan): [string, string] {
  const n = accounts.length;
  let s = Math.floor(Math.random() * n);
  let d = (s + 1 + Math.floor(Math.random() * (n - 1))) % n;
  if (hot && s !== 0 && d !== 0) {
    if (Math.random() < 0.5) s = 0;
    else d = 0;
  }
  return [accounts[s], accounts[d]];
}

/** Reads one answer whole; tells whether it was a good one. */
export async function readAnswer(conn: Deno.Conn, scratch: Buffer): Promise<boolean> {
  let have = 0;
  let end = -1;
  let good = false;
  for (;;) {
    const read = await conn.read(end >= 0 ? scratch : scratch.subarray(have));
    if (read === null) throw new Error("the service closed the connection");
    have += read;
    if (end < 0) {
      const head = scratch.subarray(0, have).indexOf(HEAD_END);
      if (head < 0) continue;
      const at = Math.max(...LENGTHS.map((name) => scratch.subarray(0, head).indexOf(name)));
      if (at < 0) throw new Error("an answer without a length");
      end = head + 4 + parseInt(scratch.toString("latin1", at + LENGTHS[0].length, at + 32), 10);
      good = scratch[9] === 0x32;
    }
    if (have >= end) return good;
  }
}

if (import.meta.main) {
  const [port, connections, seconds, key, file, how, many, form] = Deno.args;
  const figures = await generate({
    port: Number(port),
    connections: Number(connections),
    seconds: Number(seconds),
    key,
    accounts: (await Deno.readTextFile(file)).trim().split("\n"),
    hot: how === "hot",
    many: Number(many),
    form: form === undefined ? null : JSON.parse(await Deno.readTextFile(form)),
  });
  console.log(JSON.stringify(figures));
}
