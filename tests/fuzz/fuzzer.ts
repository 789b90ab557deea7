/**
 * The fuzzer: requests of every operation of the OpenAPI document, valid, nearly valid and nasty, and
 * each answer judged by the document. The same seed sends the same kinds of requests.
 * @module
 */
import type { Answer, Send } from "../support/realm.ts";
import { type Json, type Judge, judgeOf, type Operation, operationsOf } from "./document.ts";
import { type Random, randomFrom } from "./random.ts";
import { compose, type Request } from "./requests.ts";
import type { Known, Mood } from "./values.ts";

/** The parts of a run. */
export interface Fuzz {
  document: Json;
  seed: number;
  requests: number;
  known: Known;
  /** Chooses who sends an operation. */
  senderOf(operation: Operation, random: Random): { name: string; send: Send };
  /** Changes or drops (null) a request that would end the run's own means. */
  guard(request: Request, operation: Operation): Request | null;
  /** Runs now and then: jobs, and what keeps the realm usable. */
  between(sent: number): Promise<void>;
}

/** The findings of a run. */
export interface Findings {
  sent: number;
  statuses: Record<string, number>;
  /** Faults by kind, each with how often and its first request. */
  faults: Record<string, { times: number; example: string }>;
  /** Requests that the document allows and the service calls invalid. */
  narrower: Record<string, { times: number; example: string }>;
  /** Operations that were never sent, and those that never succeeded. */
  unreached: string[];
  failing: string[];
}

/** Operations that cost much: an argon2 digest, or a schema of a realm's own. */
const DEAR: Readonly<Record<string, number>> = {
  createRealm: 0.02,
  createUser: 0.3,
  createRealmUser: 0.2,
  updateUser: 0.4,
  changePassword: 0.1,
  logIn: 0.15,
  logInUser: 0.15,
  logInAdministrator: 0.15,
  logOut: 0.1,
  getReferenceAsset: 0.1,
  getOpenapi: 0.1,
};
const LEAK =
  /argon2|\bselect\s+\w+\s|\binsert into|\bat .*\.(ts|js):|\/work\/|\/tmp\/|postgres(?!ql?:\/\/)|violates|node_modules/i;

/** Runs. */
export async function fuzz(run: Fuzz): Promise<Findings> {
  const random = randomFrom(run.seed);
  const operations = operationsOf(run.document);
  const judge = judgeOf(run.document);
  const findings: Findings = {
    sent: 0,
    statuses: {},
    faults: {},
    narrower: {},
    unreached: [],
    failing: [],
  };
  const reached = new Set<string>();
  const succeeded = new Set<string>();
  while (findings.sent < run.requests) {
    // Each operation once in every round, so that short runs reach all.
    const operation = operations[findings.sent % operations.length];
    const dear = DEAR[operation.id];
    const skip = dear !== undefined && reached.has(operation.id) && !random.chance(dear);
    const chosen = skip ? random.pick(operations.filter(({ id }) => !DEAR[id])) : operation;
    const mood: Mood = random.chance(0.6) ? "valid" : random.chance(0.6) ? "near" : "nasty";
    const maker = { document: run.document, random, known: run.known, mood };
    const request = run.guard(compose(maker, chosen), chosen);
    findings.sent++;
    if (findings.sent % 100 === 0) await run.between(findings.sent);
    if (request === null) continue;
    const { method, path, body, headers } = request;
    const { send, name } = run.senderOf(chosen, random);
    const answer = await sent(send, request);
    reached.add(chosen.id);
    findings.statuses[answer.status] = (findings.statuses[answer.status] ?? 0) + 1;
    if (answer.status < 400) {
      succeeded.add(chosen.id);
      learn(run.known, chosen, answer.body);
    }
    const example = `${name}: ${method} ${path.slice(0, 300)} ${JSON.stringify(headers)} ` +
      `${body?.slice(0, 400) ?? ""} -> ${answer.status} ${answer.text.slice(0, 400)}`;
    for (const fault of faultsOf(judge, chosen, request, answer)) {
      note(findings.faults, fault, example);
    }
    if (isNarrower(judge, chosen, request, answer, mood)) {
      note(findings.narrower, `${chosen.id}: ${answer.body.detail.slice(0, 80)}`, example);
    }
  }
  findings.unreached = operations.map(({ id }) => id).filter((id) => !reached.has(id));
  findings.failing = operations.map(({ id }) => id).filter((id) => !succeeded.has(id));
  return findings;
}

async function sent(send: Send, { method, path, body, headers }: Request): Promise<Answer> {
  try {
    return await send(method, path, body, headers);
  } catch (error) {
    const text = `the answer cannot be read: ${error}`;
    return { status: 0, headers: new Headers(), text, body: null };
  }
}

function note(list: Findings["faults"], kind: string, example: string): void {
  const before = list[kind];
  if (before === undefined) list[kind] = { times: 1, example };
  else before.times++;
}

/** The faults of an answer by the document and the contract. */
function faultsOf(
  judge: Judge,
  operation: Operation,
  request: Request,
  { status, headers, text, body }: Answer,
): string[] {
  const { id } = operation;
  const faults: string[] = [];
  const documented = operation.responses[status];
  // A path that its parameters have changed is another one, or none.
  const elsewhere = status === 404 && body?.code === "route.not_found";
  const isProblem = (headers.get("content-type") ?? "").includes("problem+json");
  if (status === 0) return [`${id}: ${text.slice(0, 100)}`];
  if (status >= 500 && status !== 503) faults.push(`${id}: ${status} ${body?.code}`);
  if (status === 503 && isProblem && body?.code === undefined) {
    faults.push(`${id}: 503 without code`);
  }
  if (documented === undefined) {
    if (!elsewhere) faults.push(`${id}: undocumented status ${status} ${body?.code ?? ""}`);
  } else if (documented.content !== undefined && !elsewhere) {
    const type = (headers.get("content-type") ?? "").split(";")[0];
    const media = documented.content[type] ?? documented.content["text/html"];
    if (media === undefined) faults.push(`${id}: undocumented type ${type} of ${status}`);
    else if (/json/.test(type)) {
      const fault = judge.answer(media.schema, body, request.reduced);
      const code = isProblem ? ` ${body?.code}` : "";
      if (fault !== null) faults.push(`${id}: ${status}${code} breaks its schema: ${fault}`);
    }
  }
  if (isProblem && body.status !== status) faults.push(`${id}: a problem of another status`);
  // A read without a body has its faults in the path, the query or a header.
  const isOfBody = body?.code === "request.invalid" && body.errors?.[0]?.in !== "header";
  if (operation.method === "GET" && isOfBody) faults.push(`${id}: a fault of no body`);
  const isNowhere = body?.code === "query.invalid" && operation.method === "GET" &&
    body.errors === undefined && !/^more than|^the answer/.test(body.detail);
  if (isNowhere) faults.push(`${id}: a fault without its place`);
  if (!headers.get("x-request-id")) faults.push(`${id}: no x-request-id`);
  if (!headers.get("cache-control")) faults.push(`${id}: no cache-control`);
  const leak = LEAK.exec(text)?.[0];
  const own = `${request.path} ${request.body}`;
  if (leak !== undefined && !/openapi|Reference|Problem/i.test(id) && !own.includes(leak)) {
    faults.push(`${id}: tells ${leak}`);
  }
  return faults;
}

/** Whether a request that the document allows was called invalid. */
function isNarrower(
  judge: Judge,
  operation: Operation,
  request: Request,
  { status, body }: Answer,
  mood: Mood,
): boolean {
  if (mood !== "valid" || status !== 400) return false;
  if (body?.code === "query.invalid") return !request.path.includes("query=");
  if (body?.code !== "request.invalid" || request.body === undefined) return false;
  return operation.body !== null && judge.accepts(operation.body, JSON.parse(request.body));
}

/** Keeps ids and names of what was made or listed. */
function learn(known: Known, { path }: Operation, body: Json): void {
  const parts = path.split("/").filter((part) => part !== "v1" && part !== "");
  const noun = { apps: "applications", fungible: "tokens" }[parts[0]] ?? parts[0];
  const rows: Json[] = Array.isArray(body) ? body.slice(0, 5) : body?.rows?.slice(0, 5) ?? [body];
  for (const row of rows) {
    if (typeof row?.id !== "string") continue;
    if (path.includes("/blocks")) keep(known, "blocks", `${row.account}/${row.id}`);
    else if (path.includes("/consolidat")) keep(known, "consolidations", row.id);
    else if (path === "/v1/realms/{id}/keys") keep(known, "application keys", row.id);
    else if (parts.length < 2 || parts.at(-1) === "all" || parts.at(-1) === "{id}") {
      keep(known, noun, row.id);
    } else if (/^\/v1\/(apps|fungible)\/\w+$|\/deploy$/.test(path)) keep(known, noun, row.id);
    if (path.endsWith("/realm-key") && typeof row.realm_key === "string") {
      known.set("realm keys", [row.realm_key]);
    }
    if (noun === "currencies" && typeof row.name === "string") keep(known, "assets", row.name);
    if (noun === "aliases" && typeof row.alias === "string") keep(known, "names", row.alias);
  }
}

/** So many of a kind are known at most; older ones give way. */
const KEPT = 60;

function keep(known: Known, noun: string, id: string): void {
  const list = known.get(noun) ?? [];
  known.set(noun, list);
  if (list.includes(id)) return;
  list.push(id);
  if (list.length > KEPT) list.splice(3, 1); // the first ones are the run's own
}
