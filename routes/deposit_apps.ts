/** Routes of deposit applications. @module */
import { z } from "zod";
import { findEntities, listEntities } from "../domain/collections/collection.ts";
import { PageFields, queriesOf } from "../domain/collections/collection_parameters.ts";
import {
  changeDepositApp,
  createDepositApp,
  DEPOSIT_APPS,
  DepositAppChange,
  NewDepositApp,
  removeDepositApp,
} from "../domain/deposits/deposit_app_collection.ts";
import type { Db } from "../domain/command.ts";
import { DepositAppView, findDepositApp } from "../domain/deposits/deposit_apps.ts";
import { LIMIT_MAX } from "../domain/collections/list_parameters.ts";
import { amongOf, collectionRoutes, pageView } from "./http/collection_routes.ts";
import { command, query, search } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const Paged = queriesOf(DEPOSIT_APPS).find.extend(PageFields);
const LIST = "/v1/apps/deposit";

/** The routes of deposit applications. */
export const depositAppRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: LIST,
    tag: "Deposit application",
    summary: "Make an address whose deposits go on to a virtual account",
    access: "user",
    body: NewDepositApp,
    status: 201,
    makes: "/v1/apps/deposit/{made}",
    answer: DepositAppView,
    errors: [
      "account.not_found",
      "alias.not_found",
      "address.not_found",
      "account.no_ramp",
      "chain.quarantined",
      "account.asset_mismatch",
      "account.not_enabled",
      "account.inactive",
      "asset.suspended",
      "permission.role",
      "permission.owner",
    ],
    handle: (call) =>
      command(call, (tx) => createDepositApp(tx, call.actor, call.body), {
        lockLedger: true,
        confirmed: true,
      }),
  }),
  route({
    method: "GET",
    path: LIST,
    tag: "Deposit application",
    operation: "listDepositApplications",
    summary: "Find deposit applications; with page or pageSize, page by page",
    access: "user",
    query: Paged,
    status: 200,
    answer: z.union([z.array(DepositAppView), pageView(DepositAppView)]),
    continues: { cursor: "id", usual: LIMIT_MAX },
    mayLag: true,
    errors: ["permission.scope"],
    handle: (call) => {
      const { page, pageSize, ...rest } = call.query;
      const among = amongOf(call, DEPOSIT_APPS);
      if (page === undefined && pageSize === undefined) {
        const find = (db: Db) => findEntities(db, call.actor, among, rest);
        return search(call, find, false, LIMIT_MAX);
      }
      return search(call, (db) => listEntities(db, call.actor, among, call.query), true);
    },
  }),
  ...collectionRoutes({
    collection: DEPOSIT_APPS,
    tag: "Deposit application",
    one: "a deposit application",
    view: DepositAppView,
    mayLag: true,
    remove: (tx, actor, id) => removeDepositApp(tx, actor, id, "delete"),
    restore: (tx, actor, id) => removeDepositApp(tx, actor, id, "undelete"),
  }).filter((one) => !(one.method === "GET" && [LIST, `${LIST}/{id}`].includes(one.path))),
  route({
    method: "GET",
    path: `${LIST}/{id}`,
    tag: "Deposit application",
    summary: "Read a deposit application with the ids of its latest deposits",
    access: "user",
    params: ById,
    status: 200,
    answer: DepositAppView,
    errors: ["deposit.not_found"],
    handle: (call) => query(call, (db) => findDepositApp(db, call.actor, call.params.id)),
  }),
  route({
    method: "PATCH",
    path: `${LIST}/{id}`,
    tag: "Deposit application",
    summary: "Change a deposit application's data",
    access: "user",
    params: ById,
    body: DepositAppChange,
    status: 200,
    answer: DepositAppView,
    errors: ["deposit.not_found", "permission.role", "permission.owner"],
    handle: (call) =>
      command(
        call,
        (tx) => changeDepositApp(tx, call.actor, { ...call.body, id: call.params.id }),
      ),
  }),
];
