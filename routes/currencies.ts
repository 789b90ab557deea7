/** Routes of virtual currencies. @module */
import {
  createCurrency,
  CurrencyView,
  NewCurrency,
  viewCurrency,
} from "../domain/currencies/currencies.ts";
import { CURRENCY_COLLECTION, removeCurrency } from "../domain/currencies/currency_collection.ts";
import { DryRun } from "../domain/entity.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

/** The routes of virtual currencies. */
export const currencyRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/currencies",
    tag: "Currencies",
    summary: "Create a virtual currency",
    description: "Makes an account that holds the initial supply, owned by the caller.",
    access: "user",
    query: DryRun,
    body: NewCurrency,
    status: 201,
    makes: "/v1/currencies/{made}",
    answer: CurrencyView,
    errors: ["currency.taken", "asset.unknown", "identity.not_found", "stop.active"],
    handle: (call) =>
      command(
        call,
        async (tx) => viewCurrency(await createCurrency(tx, call.actor, call.body)),
        { lockLedger: true, dryRun: call.query.dry_run },
      ),
  }),
  ...collectionRoutes({
    collection: CURRENCY_COLLECTION,
    tag: "Currencies",
    one: "a virtual currency",
    view: CurrencyView,
    lockLedger: true,
    remove: (tx, actor, id) => removeCurrency(tx, actor, id, "delete"),
    restore: (tx, actor, id) => removeCurrency(tx, actor, id, "undelete"),
    errors: ["account.not_empty"],
  }),
];
