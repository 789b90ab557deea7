/** Route of the search. @module */
import { z } from "zod";
import { FoundView, SearchQuery, searchRealm } from "../domain/search/search.ts";
import { query } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

/** The route of the search. */
export const searchRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/search",
    tag: "Search",
    operation: "findEntities",
    summary: "Find entities by an id, a name or an exact key",
    description: "Finds what the caller may see: users, identities and aliases by the beginning " +
      "of their names, others by whole keys. A part from the middle of a name finds nothing. " +
      "Exact matches come first.",
    access: "user",
    query: SearchQuery,
    status: 200,
    answer: z.array(FoundView),
    errors: ["query.invalid"],
    handle: async (call) => {
      const people = await call.services.people.of(call.realm!.id);
      const contacts = people?.name === "local" ? { secrets: call.services.secrets } : null;
      return await query(call, (db) => searchRealm(db, call.actor, call.query, contacts));
    },
  }),
];
