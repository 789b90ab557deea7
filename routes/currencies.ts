/** HTTP face of virtual currencies. @module */
import { z } from "zod";
import {
  createCurrency,
  CurrencyView,
  findCurrency,
  NewCurrency,
  viewCurrency,
} from "../domain/currencies.ts";
import { command, query } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

const ById = z.strictObject({ id: z.string() });

/** The routes of virtual currencies. */
export const currencyRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/currencies",
    tag: "Currencies",
    summary: "Create a virtual currency",
    description: "Makes an account that holds the initial supply, owned by the caller.",
    access: "user",
    body: NewCurrency,
    status: 201,
    answer: CurrencyView,
    errors: ["currency.taken"],
    handle: (call) =>
      command(
        call,
        async (tx) => viewCurrency(await createCurrency(tx, call.actor, call.body)),
        { gate: true },
      ),
  }),
  route({
    method: "GET",
    path: "/v1/currencies/{id}",
    tag: "Currencies",
    summary: "Read a virtual currency",
    access: "user",
    params: ById,
    status: 200,
    answer: CurrencyView,
    errors: ["currency.not_found"],
    handle: (call) =>
      query(
        call,
        async (db) => viewCurrency(await findCurrency(db, call.actor, call.params.id)),
      ),
  }),
];
