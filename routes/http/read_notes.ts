/** Which reads are noted in the audit trail: those of a customer's data, and lists of all customers'. @module */
import { asksForAll } from "../../domain/collections/scope.ts";
import { isId } from "../../domain/ids.ts";
import type { ReadSubject } from "../../domain/realms/read_notes.ts";
import type { AnyRoute, Call } from "./route.ts";
import type { Services } from "./services.ts";

/** Routes below one entity of a customer. */
const OF_ONE = /^\/v1\/(accounts|deposits|identities|users|withdrawals)\/\{id\}/;
/** Lists of what customers have. */
const LISTS =
  /^\/v1\/(accounts|aliases|deposits|identities|messages|transactions|users|withdrawals)(\/all)?$/;
/** Routes that find among what all customers have, and what the trail calls them. */
const FINDERS: ReadonlyMap<string, string> = new Map([
  ["/v1/search", "search"],
  ["/v1/addresses/{address}", "addresses"],
  ["/v1/deposits/explain", "explanations"],
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

/** Tells what a request of a route looks at; null where no request of it is noted. */
function subjectOf(
  { method, path }: AnyRoute,
): ((call: Call<unknown, unknown, unknown>) => ReadSubject | null) | null {
  if (method !== "GET") return null;
  if (OF_ONE.test(path)) return ({ params }) => ofEntity((params as { id: string }).id);
  if (path === "/v1/notes") {
    return ({ query }) => {
      const { entity } = query as { entity?: string };
      return entity === undefined ? { list: "notes" } : ofEntity(entity);
    };
  }
  const finder = FINDERS.get(path);
  if (finder !== undefined) return () => ({ list: finder });
  if (path === "/v1/identities/persons") return () => ({ list: "persons" });
  const [, list] = LISTS.exec(path) ?? [];
  if (list === undefined) return null;
  return ({ query }) => {
    const { scope } = query as { scope?: string | string[] };
    return asksForAll(scope) ? { list } : null;
  };
}

function ofEntity(id: string | undefined): ReadSubject | null {
  return id !== undefined && isId(id) ? { entity: id } : null;
}
