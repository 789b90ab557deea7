/**
 * A people API as strict as Infobip's public description: unknown fields and parameters, a wrong key
 * or content type, and duplicates are refused with its codes.
 *
 * @module
 */

/** A profile as the server has it. */
export type Profile = Record<string, unknown> & { id: number };

/** The server. */
export interface InfobipServer extends AsyncDisposable {
  url: string;
  persons: Profile[];
  companies: Profile[];
  events: Record<string, unknown>[];
  /** Requests so far: method and path. */
  log: string[];
  /** Answers the next request in place of the server. */
  next: (() => Response | Promise<Response>) | null;
  /** Answers all further ones. */
  always?: (() => Response) | null;
}

/** The key that the server takes. */
export const INFOBIP_KEY = "infobip-key-of-the-tests";

const PERSON = "externalId firstName lastName address city country gender birthDate middleName " +
  "profilePicture tags customAttributes contactInformation";
const COMPANY = "name notes country region accountManager customerStage industry vatNumber " +
  "customAttributes domains";

class Refused extends Error {
  constructor(readonly status: number, readonly code: string, text: string) {
    super(text);
  }
}

/** Starts a server. */
export function startInfobip(): InfobipServer {
  const server = { persons: [], companies: [], events: [], log: [], next: null } as Pick<
    InfobipServer,
    "persons" | "companies" | "events" | "log" | "next" | "always"
  >;
  const listener = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      server.log.push(`${request.method} ${pathname}`);
      const next = server.next ?? server.always ?? null;
      if (next !== null) {
        server.next = null;
        await request.body?.cancel();
        return await next();
      }
      try {
        const body = await bodyOf(request);
        return Response.json(answer(server, request.method, pathname, searchParams, body));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const serviceException = { messageId: error.code, text: error.message };
        return Response.json({ requestError: { serviceException } }, { status: error.status });
      }
    },
  );
  return Object.assign(server, {
    url: `http://127.0.0.1:${listener.addr.port}`,
    [Symbol.asyncDispose]: () => listener.shutdown(),
  });
}

async function bodyOf(request: Request): Promise<Record<string, unknown> | null> {
  if (request.headers.get("authorization") !== `App ${INFOBIP_KEY}`) {
    throw new Refused(401, "UNAUTHORIZED", `wrong key ${request.headers.get("authorization")}`);
  }
  const text = await request.text();
  if (text === "") return null;
  if (request.headers.get("content-type") !== "application/json") {
    throw new Refused(415, "UNSUPPORTED_MEDIA_TYPE", "JSON is expected");
  }
  return JSON.parse(text);
}

function answer(
  server: Pick<InfobipServer, "persons" | "companies" | "events">,
  method: string,
  path: string,
  query: URLSearchParams,
  body: Record<string, unknown> | null,
): unknown {
  if (path === "/people/2/persons") return persons(server.persons, method, query, body);
  if (path === "/people/2/companies") return companies(server.companies, method, query, body);
  const event = /^\/peopleevents\/2\/persons\/(\d+)\/definitions\/([\w-]+)\/events$/.exec(path);
  if (event === null || method !== "POST") throw new Refused(404, "NOT_FOUND", path);
  only(query, ["identifierType", "createPerson"]);
  if (!server.persons.some(({ id }) => `${id}` === event[1])) missing("40401");
  fields(body, "eventId properties");
  const occurredTime = "2026-01-02T03:04:05";
  const known = server.events.find(({ eventId }) => eventId === body!.eventId);
  if (known === undefined) server.events.push({ ...body, person: event[1] });
  return { eventId: body!.eventId, definitionId: event[2], occurredTime, properties: {} };
}

function persons(
  all: Profile[],
  method: string,
  query: URLSearchParams,
  body: Record<string, unknown> | null,
): unknown {
  if (method === "POST") {
    only(query, []);
    fields(body, PERSON);
    assertFree(all, null, body!);
    const at = "2026-01-02T03:04:05";
    const made = { ...body, id: 9_000 + all.length + 1, createdAt: at, modifiedAt: at };
    all.push({ ...made, origin: "API", modifiedFrom: "API" });
    return all.at(-1);
  }
  if (method === "GET" && !query.has("identifier")) {
    only(query, ["limit", "page", "filter", "orderBy"]);
    return { persons: pageOf(all, query) };
  }
  only(query, ["type", "identifier"]);
  const field = { ID: "id", EXTERNAL_ID: "externalId" }[query.get("type")!];
  if (field === undefined) throw new Refused(400, "40019", "type");
  const index = all.findIndex((one) => `${one[field]}` === query.get("identifier"));
  if (index < 0) missing("40401");
  if (method === "GET") return all[index];
  if (method === "DELETE") return all.splice(index, 1) && {};
  fields(body, PERSON);
  assertFree(all, all[index], body!);
  const { tags = [], contactInformation: more = {}, ...rest } = body as Partial<Profile>;
  const before = all[index];
  const contacts: Record<string, unknown[]> = { ...before.contactInformation as object };
  for (const [channel, list] of Object.entries(more as Record<string, unknown[]>)) {
    contacts[channel] = [...contacts[channel] ?? [], ...list];
  }
  const merged = [...new Set([...(before.tags ?? []) as string[], ...tags as string[]])];
  Object.assign(all[index], rest, { tags: merged, contactInformation: contacts });
  return all[index];
}

function companies(
  all: Profile[],
  method: string,
  query: URLSearchParams,
  body: Record<string, unknown> | null,
): unknown {
  if (method === "POST") {
    only(query, []);
    fields(body, COMPANY);
    const { domains = [] } = body as { domains?: string[] };
    const taken = all.some((one) => (one.domains as string[])?.some((d) => domains.includes(d)));
    if (taken) throw new Refused(400, "40002", "duplicate domain");
    all.push({ ...body, id: 70 + all.length });
    return all.at(-1);
  }
  if (method === "GET" && !query.has("id")) {
    only(query, ["limit", "page", "filter"]);
    return { companies: pageOf(all, query) };
  }
  only(query, ["id"]);
  const index = all.findIndex(({ id }) => `${id}` === query.get("id"));
  if (index < 0) missing("40405");
  if (method === "GET") return all[index];
  if (method === "DELETE") return all.splice(index, 1) && {};
  fields(body, COMPANY);
  return Object.assign(all[index], body);
}

/** A page, of those that equal every condition of the filter. */
function pageOf(all: Profile[], query: URLSearchParams): Profile[] {
  const [limit, page] = [Number(query.get("limit") ?? 20), Number(query.get("page") ?? 1)];
  if (!(limit >= 1 && limit <= 1000 && page >= 1)) throw new Refused(400, "40019", "page");
  const filter = JSON.parse(query.get("filter") ?? "{}");
  const conditions: Record<string, Record<string, unknown>>[] = filter["#and"] ?? [filter];
  const found = all.filter((one) =>
    conditions.every((condition) =>
      Object.entries(condition).every(([operator, equal]) => {
        if (operator !== "#eq") throw new Refused(400, "40019", "operator");
        return Object.entries(equal).every(([name, value]) => `${one[name]}` === `${value}`);
      })
    )
  );
  return found.slice((page - 1) * limit, page * limit);
}

function assertFree(all: Profile[], own: Profile | null, body: Record<string, unknown>): void {
  const mails = (one: Record<string, unknown>) =>
    ((one.contactInformation as { email?: { address: string }[] })?.email ?? [])
      .map(({ address }) => address);
  const others = all.filter((one) => one !== own);
  if (others.some((one) => mails(one).some((mail) => mails(body).includes(mail)))) {
    throw new Refused(400, "40005", `duplicate e-mail ${mails(body)}`);
  }
  const named = (one: Record<string, unknown>) =>
    typeof one.externalId === "string" && one.externalId === body.externalId;
  if (others.some(named)) throw new Refused(400, "40003", "duplicate external id");
}

function fields(body: Record<string, unknown> | null, known: string): void {
  const unknown = Object.keys(body ?? { body: 1 }).find((name) => !known.split(" ").includes(name));
  if (unknown !== undefined) throw new Refused(400, "40015", `unknown property ${unknown}`);
}

function only(query: URLSearchParams, known: readonly string[]): void {
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Refused(400, "40019", `unknown parameter ${unknown}`);
}

function missing(code: string): never {
  throw new Refused(404, code, "there is none");
}
