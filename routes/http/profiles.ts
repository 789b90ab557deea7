/**
 * How handlers reach the customer-data platform. A remote one is asked outside of any transaction,
 * after the checks that need no platform; the change is completed in the request's own transaction.
 * @module
 */
import type { Db } from "../../domain/command.ts";
import { answerable, openAnswer } from "../../domain/answers.ts";
import { invalidQuery } from "../../domain/collections/filter.ts";
import { DomainError } from "../../domain/errors.ts";
import { parseStoredJson } from "../../domain/json.ts";
import type { ProfileCommand } from "../../domain/people/commands.ts";
import { noPlatform } from "../../domain/people/people.ts";
import { markProfile } from "../../domain/people/erasure.ts";
import type { PeopleProvider, Prepared, ProfileQuery } from "../../domain/people/provider.ts";
import { listing } from "./concurrency_limit.ts";
import { isRepeat, readEarly } from "./early_reads.ts";
import { command, query, readMany } from "./execution.ts";
import type { AnyRoute, Call, Reply } from "./route.ts";

/** Profiles of a list that a remote platform is asked for. */
const REMOTE_MAX = 100;
/** Filters that at most one profile meets, found by an index. */
const BY_KEY = /^(contactInformation\.)?(phone(\.number)?|email(\.address)?)$/;

/** The platform of the call's realm. @throws {DomainError} extension.disabled */
export async function platformOf<P, Q, B>(call: Call<P, Q, B>): Promise<PeopleProvider> {
  const people = await call.services.people.of(call.realm!.id);
  if (people === null) throw noPlatform();
  return people;
}

/** Runs a change of a profile and answers with its view, whose stored copy is encrypted. */
export async function changeProfile<P, Q, B, C, R>(
  call: Call<P, Q, B>,
  make: (people: PeopleProvider) => ProfileCommand<C, R>,
): Promise<Reply> {
  const people = await platformOf(call);
  const made = make(people);
  let ready: Prepared<R> | null = null;
  if (people.remote && !await isRepeat(call)) {
    ready = await made.prepare(await readEarly(call, (db) => made.check(db)));
  }
  return await command(call, async (tx) => {
    const found = await made.check(tx);
    if (people.remote && ready === null) {
      throw new DomainError("service.overloaded", "send the request again", { retryAfterS: 1 });
    }
    const complete = ready ?? await made.prepare(found);
    const result = await complete(tx);
    const view = await made.finish(tx, found, result);
    const person = made.person(found, result);
    if (person !== null && call.idempotency !== null) {
      await markProfile(tx, call.idempotency.key, person);
    }
    return view;
  }, { secret: true });
}

/** How many profiles a request may read. */
export interface ProfileReading {
  /**
   * A list. One that the own tables filter by more than a number or an e-mail address reads every profile, with
   * attributes of any size, and waits for its turn among searches.
   */
  list?: ProfileQuery;
  /** Its answer is as long as that of a long list, and waits for its turn among those. */
  isLong?: boolean;
}

/** Reads profiles: what is asked of the platform is found first. */
export async function readProfiles<P, Q, B, F, T>(
  call: Call<P, Q, B>,
  find: (db: Db) => Promise<F>,
  ask: (people: PeopleProvider, found: F) => Promise<(db: Db) => Promise<T>>,
  { list, isLong = (list?.limit ?? 0) > FEW }: ProfileReading = {},
): Promise<Reply> {
  const people = await platformOf(call);
  const found = await readEarly(call, find);
  const read = await ask(people, found);
  const show = async (db: Db) => {
    const view = await read(db);
    return Array.isArray(view) ? await answerable(view, openAnswer()) : view;
  };
  const searches = list !== undefined && !people.remote && !isFoundByKey(list);
  if (searches) return await readMany(call, show);
  return await (isLong ? inTurn : atOnce)(call, () => query(call, show));
}

/** Profiles hold hundreds of kilobytes: those of a few are read at once, more keep the process busy. */
const FEW = 20;

/** Reads many profiles, in its turn among long lists. */
function inTurn<T, P, Q, B>(call: Call<P, Q, B>, work: () => Promise<T>): Promise<T> {
  return listing(call.realm!.pool, work, { user: call.actor.user, signal: call.signal() });
}

function atOnce<T, P, Q, B>(_call: Call<P, Q, B>, work: () => Promise<T>): Promise<T> {
  return work();
}

/** Whether a list has no filter, or one by which an index finds its profiles. */
function isFoundByKey({ filters, filter }: ProfileQuery): boolean {
  const names = Object.keys(filters);
  return filter === null && (names.length === 0 || names.some((name) => BY_KEY.test(name)));
}

/** Lets routes of identities show persons and companies in place of their ids. */
export function withProfiles(routes: readonly AnyRoute[]): AnyRoute[] {
  return routes.map((route) =>
    route.method === "GET" && !route.path.endsWith("/count")
      ? { ...route, handle: async (call) => await populated(call, await route.handle(call)) }
      : route
  );
}

async function populated(
  call: Call<unknown, { populate?: string | string[] }, unknown>,
  reply: Reply,
): Promise<Reply> {
  const names = [call.query.populate ?? []].flat().flatMap((part) => part.split(/[\s,]+/));
  const asked = { person: names.includes("person"), company: names.includes("company") };
  const people = asked.person || asked.company
    ? await call.services.people.of(call.realm!.id)
    : null;
  if (people === null || reply.status !== 200) return reply;
  const body = parseStoredJson(reply.body) as Record<string, unknown>;
  const list = Array.isArray(body) ? body : Array.isArray(body.rows) ? body.rows : [body];
  const some = list.filter(({ person, company }) => (person ?? company ?? null) !== null);
  await put(call, people, asked, { list, wait: some.length > FEW ? inTurn : atOnce });
  const rows = await answerable(list, openAnswer());
  const whole = Array.isArray(body) ? rows : Array.isArray(body.rows) ? { ...body, rows } : rows[0];
  const { etag: _unpopulated, ...headers }: Record<string, string> = reply.headers ?? {};
  return { ...reply, body: JSON.stringify(whole), headers };
}

async function put(
  call: Call<unknown, unknown, unknown>,
  people: PeopleProvider,
  asked: { person: boolean; company: boolean },
  { list: rows, wait }: { list: Record<string, unknown>[]; wait: typeof atOnce },
): Promise<void> {
  const persons = asked.person
    ? rows.flatMap(({ person }) => typeof person === "string" ? [person] : [])
    : [];
  const companies = asked.company
    ? rows.flatMap(({ company }) => typeof company === "number" ? [company] : [])
    : [];
  if (people.remote && persons.length + new Set(companies).size > REMOTE_MAX) {
    const message = `at most ${REMOTE_MAX} profiles are populated at once: ask for smaller pages`;
    throw invalidQuery("/populate", message);
  }
  const { actor } = call;
  // A remote platform is asked before it is its turn, which others would wait for with it.
  const readPersons = await people.persons.read(actor, persons);
  const readCompanies = await people.companies.read(actor, [...new Set(companies)]);
  const read = async (db: Db) => [await readPersons(db), await readCompanies(db)] as const;
  const [wholePersons, wholeCompanies] = await wait(call, () => readEarly(call, read));
  for (const row of rows) {
    if (asked.person) row.person = wholePersons.get(row.person as string) ?? row.person;
    if (asked.company) row.company = wholeCompanies.get(row.company as number) ?? row.company;
  }
}
