/**
 * Which reads are noted in the audit trail: those of a customer's data, also where `populate` shows it in the place of
 * an id, and lists of all customers'.
 * @module
 */
import { asksForAll } from "../../domain/collections/scope.ts";
import { isId } from "../../domain/ids.ts";
import type { ReadSubject } from "../../domain/realms/read_notes.ts";
import type { AnyRoute, Call } from "./route.ts";
import type { Services } from "./services.ts";

/** Routes below one entity of a customer. */
const OF_ONE =
  /^\/v1\/(accounts|aliases|apps\/deposit|deposits|identities|messages|ramps|users|withdrawals)\/\{id\}/;
/** Lists of what customers have. */
const LISTS =
  /^\/v1\/(accounts|aliases|apps\/deposit|deposits|identities|messages|ramps|transactions|users|withdrawals)(\/all)?$/;
/** Routes that find among what all customers have, and what the trail calls them. */
const FINDERS: ReadonlyMap<string, string> = new Map([
  ["/v1/search", "search"],
  ["/v1/addresses/{address}", "addresses"],
  ["/v1/deposits/explain", "explanations"],
  ["/v1/deposits/unmatched", "unmatched_deposits"],
  ["/v1/identities/persons", "persons"],
  ["/v1/identities/companies", "companies"],
  ["/v1/transactions/chain", "chain"],
]);
/** Routes of what happened with all entities, or with one. */
const OF_ENTITIES: ReadonlyMap<string, string> = new Map([
  ["/v1/notes", "notes"],
  ["/v1/events", "events"],
  ["/v1/events/all", "events"],
]);

/** The handler of a route, with a note of each read that is noted. */
export function withReadNotes({ config }: Services, route: AnyRoute): AnyRoute["handle"] {
  const find = config.auditReads ? subjectOf(route) : null;
  if (find === null) return (call) => route.handle(call);
  return async (call) => {
    const reply = await route.handle(call);
    const subject = reply.status < 400 ? find(call) : null;
    if (subject !== null) call.realm?.noteRead(call.actor, subject);
    return reply;
  };
}

/** Notes entities that a request shows in the place of their ids; a list of all is noted as such. */
export function noteViews<P, Q, B>(call: Call<P, Q, B>, ids: readonly string[]): void {
  if (!call.services.config.auditReads || ids.length === 0) return;
  const subject = subjectOf(call.route)?.(call as Call<unknown, unknown, unknown>) ?? null;
  if (subject !== null && "list" in subject) return;
  for (const entity of ids) call.realm?.noteRead(call.actor, { entity });
}

/** Tells what a request of a route looks at; null where no request of it is noted. */
function subjectOf(
  { method, path }: AnyRoute,
): ((call: Call<unknown, unknown, unknown>) => ReadSubject | null) | null {
  if (method !== "GET") return null;
  if (OF_ONE.test(path)) return ({ params }) => ofEntity((params as { id: string }).id);
  const stream = OF_ENTITIES.get(path);
  if (stream !== undefined) {
    return ({ query }) => {
      const { entity } = query as { entity?: string };
      return entity === undefined ? { list: stream } : ofEntity(entity);
    };
  }
  const finder = FINDERS.get(path);
  if (finder !== undefined) return () => ({ list: finder });
  const [, list] = LISTS.exec(path) ?? [];
  if (list === undefined) return null;
  return ({ query }) => {
    const { scope } = query as { scope?: string | string[] };
    return asksForAll(scope) ? { list: list.replace("/", "_") } : null;
  };
}

function ofEntity(id: string | undefined): ReadSubject | null {
  return id !== undefined && isId(id) ? { entity: id } : null;
}
