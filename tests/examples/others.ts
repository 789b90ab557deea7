/**
 * Who may not do what a walk does. Before its request of an operation that changes something, others send the same: one who
 * sees everything of the realm and writes only its own, one who has every right over its own and sees nothing else, and a
 * manager where administrators are asked for. Each is refused and no row changes; that the walk's request succeeds
 * afterwards shows that they lacked nothing but a right.
 *
 * @module
 */
import postgres from "postgres";
import { locationOf } from "../../domain/realms/realms.ts";
import { operationId } from "../../routes/http/openapi_names.ts";
import type { AnyRoute } from "../../routes/http/route.ts";
import { allRoutes } from "../../routes/http/route_list.ts";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { superuserUrl } from "../support/database.ts";
import type { ExchangeFixture } from "../support/exchange_fixture.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import type { Answer, TestRealm, TestUser } from "../support/realm.ts";
import { expectedFor, expectedForTwin, type Outcomes } from "./refusals.ts";

/** A request of a walk. */
export interface Coming {
  readonly operation: string;
  readonly route: AnyRoute;
  readonly path: Readonly<Record<string, string>>;
  /** Its path and query with these parameters. */
  target(path: Readonly<Record<string, string>>): string;
  readonly body: unknown;
}

/** Others in a walk. */
export interface Others extends AsyncDisposable {
  /** Has others try a request of the walk that is about to be sent. */
  attempt(coming: Coming): Promise<void>;
  /** Gives one of them entities of its own, which it names together with those of others. */
  settle(asset: string): Promise<void>;
  /** Gives it a person too. */
  settlePerson(): Promise<void>;
  /** These entities, by the collections whose paths name them. */
  readonly own: Readonly<Record<string, string>>;
  /** What was not refused as it should be. */
  readonly faults: readonly string[];
  /** Operations that change something and that nobody has tried. */
  untried(): string[];
}

/** Opens them in the realm of an exchange. */
export async function openOthers(exchange: ExchangeFixture): Promise<Others> {
  const { realm } = exchange;
  const callers: Readonly<Record<keyof Outcomes, TestUser>> = {
    reader: await realm.user({ role: "user", scope: "realm" }),
    manager: await realm.user({ role: "manage", scope: "realm" }),
    outsider: await realm.user({ role: "admin", scope: "own" }),
  };
  const rows = await openRows(realm);
  const faults: string[] = [];
  const tried = new Set<string>();
  const own: Record<string, string> = { realms: realm.id };

  async function tryAs(
    { operation, route, body }: Coming,
    target: string,
    outcomes: Outcomes,
  ): Promise<void> {
    for (const [caller, wanted] of Object.entries(outcomes) as [keyof Outcomes, string][]) {
      const found = outcomeOf(await callers[caller].send(route.method, target, body));
      if (found === wanted) continue;
      faults.push(`${operation} ${target} by the ${caller}: ${found}, not ${wanted}`);
    }
  }

  return {
    ...{ faults, own },
    untried: () => changing().filter((operation) => !tried.has(operation)),
    async attempt(coming) {
      const { operation, route, path, target, body } = coming;
      if (!isTried(route)) return;
      tried.add(operation);
      const before = await rows.read();
      const expected = expectedFor(route, operation, body);
      await tryAs(coming, target(path), expected);
      const { [route.path.split("/")[2]]: twin } = own;
      if (twin !== undefined && twin !== path.id) {
        await tryAs(coming, target({ ...path, id: twin }), expectedForTwin(operation, body));
      }
      const swapped = swappedOf(coming, own);
      if (swapped !== null) {
        const { reader } = expected;
        await tryAs(swapped, target(swapped.path), reader === undefined ? {} : { reader });
      }
      const changed = differing(before, await rows.read());
      if (changed.length > 0) faults.push(`${operation}: refused, and has changed ${changed}`);
    },
    settle: async (asset) =>
      void Object.assign(own, await makeTwins(exchange, callers.reader, asset)),
    settlePerson: async () => void (own.person = await makePerson(callers.reader)),
    [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
  };
}

/** The same request, where the path names what is another's, and the rest of it, or the body, what is the caller's own. */
function swappedOf(coming: Coming, own: Readonly<Record<string, string>>): Coming | null {
  const { path, body } = coming;
  const { accounts: account, person } = own;
  if (account === undefined || path.id === undefined) return null;
  if (path.person !== undefined) {
    return person === undefined ? null : { ...coming, path: { ...path, person } };
  }
  const named = typeof body === "object" && body !== null && "account" in body;
  return named ? { ...coming, body: { ...body, account } } : null;
}

/** Entities of a user, by the collections whose paths name them. */
async function makeTwins(
  { realm, context }: ExchangeFixture,
  user: TestUser,
  asset: string,
): Promise<Record<string, string>> {
  const make = async (path: string, body: unknown) => (await makeAs(user, path, body)).id;
  const ramps = await make("/v1/ramps", {
    ramp: "binance",
    identity: user.identity,
    authentication: EXCHANGE_KEY,
  });
  await checkExternalRamp(context(), { ramp: ramps });
  return {
    currencies: await make("/v1/currencies", { name: "TWIN" }),
    accounts: await realm.account({ asset, by: user }),
    identities: await make("/v1/identities", {}),
    ramps,
    users: user.id,
    webhooks: await make("/v1/webhooks", {
      url: "http://127.0.0.1:9/",
      events: ["token.deployed"],
    }),
  };
}

async function makePerson(user: TestUser): Promise<string> {
  const { person } = await makeAs(user, "/v1/identities/person", { person: { firstName: "Eli" } });
  return `${person.id}`;
}

async function makeAs(user: TestUser, path: string, body: unknown): Promise<Answer["body"]> {
  const answer = await user.send("POST", path, body);
  if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
  return answer.body;
}

/** Whether a route changes something, for users or the operator. */
function isTried({ method, access }: AnyRoute): boolean {
  return method !== "GET" && (access === "platform" || access.endsWith("user"));
}

function changing(): string[] {
  return allRoutes().filter(isTried).map(operationId);
}

/** How a request has ended: with the code of a refusal, of which all of what is not found are one, or its status. */
function outcomeOf({ status, body }: Pick<Answer, "status" | "body">): string {
  if (Array.isArray(body?.results)) return [...new Set(body.results.map(outcomeOfItem))].join();
  if (status < 400) return `${status}`;
  return status === 404 ? body.code.replace(/^(?!route)\w+\./, "") : body.code;
}

function outcomeOfItem(item: Answer["body"]): string {
  return outcomeOf({ status: typeof item.status === "number" ? item.status : 201, body: item });
}

/** The rows of a realm, as far as one can tell whether any has changed. */
interface Rows extends AsyncDisposable {
  read(): Promise<Map<string, string>>;
}

/** What is kept of a transfer that is refused, and of reads after their answers. */
const KEPT = ["idempotency", "batches", "audit"];

/** Where it is noted after answers when a row was last used, its end is what counts. */
const USED: Readonly<Record<string, string>> = { logins: "ended_at", api_keys: "deleted_at" };

/** A row that is written anew has the number of another transaction. */
async function openRows(realm: TestRealm): Promise<Rows> {
  const sql = postgres(superuserUrl(), {
    ...{ max: 1, onnotice: () => {} },
    // To begin parallel workers, or to compile, takes longer than to read all of these tables.
    // deno-lint-ignore house/words -- PostgreSQL's name of the setting
    connection: { max_parallel_workers_per_gather: "0", jit: "off" },
  });
  const { schema } = locationOf(realm.made.realm);
  const tables = await sql<{ name: string; at: string }[]>`
    select relname as name, format('%I.%I', ${schema}::text, relname) as at from pg_class
    where relnamespace = ${schema}::regnamespace and relkind = 'r' and relname <> all (${KEPT})`;
  const text = tables.map(({ name, at }) => {
    const changes = name in USED ? `count(${USED[name]})` : "sum(xmin::text::bigint)";
    return `select '${name}' as name, concat(count(*), ' ', ${changes}) as state from ${at}`;
  }).join(" union all ");
  return {
    async read() {
      const found = await sql.unsafe<{ name: string; state: string }[]>(text, [], {
        prepare: true,
      });
      return new Map(found.map(({ name, state }) => [name, state]));
    },
    [Symbol.asyncDispose]: () => sql.end(),
  };
}

/** Names of the tables that differ. */
function differing(before: Map<string, string>, after: Map<string, string>): string[] {
  return [...after].flatMap(([name, state]) => state === before.get(name) ? [] : [name]);
}
