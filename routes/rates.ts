/** Routes of rates. @module */
import { z } from "zod";
import {
  listRates,
  NewRate,
  RateQuery,
  RateView,
  setRate,
  viewRate,
} from "../domain/currencies/rates.ts";
import { spreadRates } from "../domain/realms/rate_copies.ts";
import { command, query } from "./http/execution.ts";
import { type AnyRoute, type Call, type Reply, route } from "./http/route.ts";

/** The routes of rates. */
export const rateRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/rates",
    tag: "Rates",
    summary: "Read rates",
    description:
      "All of them, those of a base, those into a currency, or the one of a pair. With " +
      "the platform key: those of the installation.",
    access: "platform or user",
    query: RateQuery,
    status: 200,
    answer: z.array(RateView),
    errors: ["rate.not_found"],
    handle: (call) => query(call, (db) => listRates(db, call.actor, call.query)),
  }),
  route({
    method: "PUT",
    path: "/v1/rates",
    tag: "Rates",
    summary: "Set a rate",
    description: "For an administrator's realm; with the platform key, for all realms.",
    access: "platform or user",
    body: NewRate,
    status: 200,
    answer: RateView,
    errors: ["permission.role", "permission.scope", "asset.unknown"],
    handle: putRate,
  }),
];

async function putRate(
  call: Call<Record<string, never>, Record<string, never>, NewRate>,
): Promise<Reply> {
  let row: Awaited<ReturnType<typeof setRate>> | null = null;
  const reply = await command(call, async (tx) => {
    row = await setRate(tx, call.actor, call.body);
    return viewRate(row);
  });
  if (call.realm === null && row !== null) {
    await spreadRates(call.services.provisioning.database, [row]);
  }
  return reply;
}
