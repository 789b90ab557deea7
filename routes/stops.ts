/** Routes of stops: set, read, lifted. @module */
import { z } from "zod";
import {
  liftStop,
  NewStop,
  readDestination,
  setStop,
  STOPS,
  StopView,
  viewStop,
} from "../domain/stops/stops.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command } from "./http/execution.ts";
import { namedRealm } from "./http/named_realm.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const OfRealm = z.strictObject({
  realm: z.string().optional().meta({ description: "With the platform key: the stop's realm." }),
});

/** The routes of stops. */
export const stopRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/stops",
    tag: "Stops",
    summary: "Stop moves, or signing, at once",
    description: "For users with role manage or admin and scope realm, and for the operator. " +
      "`moves` refuses every posting that users ask for with `stop.active`; `signing` keeps " +
      "workers from signing anything that is not signed yet. Fields beside narrow it; without " +
      "them it holds for the realm. Deposits are credited all the while, and signed bytes go on " +
      "being sent.",
    access: "platform or user",
    body: NewStop,
    status: 201,
    makes: "/v1/stops/{made}",
    answer: StopView,
    errors: [
      "permission.role",
      "permission.scope",
      "realm.not_found",
      "asset.unknown",
      "account.not_found",
      "user.not_found",
      "address.invalid",
    ],
    handle: async (call) => {
      const whose = await namedRealm(call, call.body.realm);
      const target = await readDestination(call.body);
      return await command({ ...call, ...whose }, async (tx) => {
        const { actor } = whose;
        return viewStop(actor, await setStop(tx, actor, { ...call.body, target }));
      }, { lockLedger: true });
    },
  }),
  ...collectionRoutes({ collection: STOPS, tag: "Stops", one: "a stop", view: StopView }),
  route({
    method: "DELETE",
    path: "/v1/stops/{id}",
    tag: "Stops",
    operation: "liftStop",
    summary: "Lift a stop",
    description: "For administrators of the realm with a login of the last 10 minutes, and for " +
      "the operator. One that a restored realm began with the operator alone lifts. The record stays.",
    access: "platform or user",
    freshLogin: true,
    params: ById,
    query: OfRealm,
    status: 200,
    answer: StopView,
    errors: [
      "permission.role",
      "permission.scope",
      "permission.owner",
      "realm.not_found",
      "stop.not_found",
    ],
    handle: async (call) => {
      const whose = await namedRealm(call, call.query.realm, "query");
      return await command({ ...call, ...whose }, async (tx) => {
        const { actor } = whose;
        return viewStop(actor, await liftStop(tx, actor, call.params.id));
      }, { lockLedger: true });
    },
  }),
];
