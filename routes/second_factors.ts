/** Routes of second factors. @module */
import { z } from "zod";
import { runQuery } from "../domain/command.ts";
import { tellSecurityChange } from "../domain/messages/notices.ts";
import { assertPlatformKey } from "../domain/security/platform_key.ts";
import {
  beginTotp,
  confirmTotp,
  endTotp,
  FirstCode,
  NewTotpView,
  readTotp,
  RecoveryView,
  TotpView,
} from "../domain/identity/second_factor_changes.ts";
import { readPlatformEarly } from "./http/early_reads.ts";
import { command, query } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const shared = {
  path: "/v1/users/{id}/totp",
  tag: "Users",
  access: "user",
  params: z.strictObject({ id: z.string() }),
} as const;

/** The routes of second factors. */
export const secondFactorRoutes: readonly AnyRoute[] = [
  route({
    ...shared,
    method: "POST",
    operation: "beginTotp",
    freshLogin: true,
    summary: "Begin one-time passwords for one's own logins",
    description: "`secret` and `uri` are shown this once. Logins ask for a `code` once a first " +
      "one has confirmed them. This takes a login of the last 10 minutes.",
    status: 201,
    answer: NewTotpView,
    errors: ["user.not_found", "permission.owner", "version.conflict"],
    handle: async (call) => {
      const { platform, secrets } = call.services;
      const check = () => runQuery(platform, (db) => assertPlatformKey(db, secrets));
      await readPlatformEarly(call, check);
      return await command(call, (tx) => beginTotp(tx, call.actor, call.params.id, secrets), {
        secret: true,
      });
    },
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/users/{id}/totp/confirm",
    freshLogin: true,
    summary: "Confirm one-time passwords by a first code",
    description: "The recovery codes are shown this once; each stands in for a code once.",
    body: FirstCode,
    status: 200,
    answer: RecoveryView,
    errors: ["user.not_found", "permission.owner", "version.conflict", "auth.credentials"],
    handle: (call) => {
      const given = { user: call.params.id, code: call.body.code };
      const { secrets } = call.services;
      return command(call, (tx) =>
        confirmTotp(tx, call.actor, given, {
          secrets,
          onChange: (user) =>
            tellSecurityChange(tx, call.actor, { user, change: "totp begun", secrets }),
        }), { secret: true });
    },
  }),
  route({
    ...shared,
    method: "GET",
    summary: "Read whether a user's logins take one-time passwords",
    status: 200,
    answer: TotpView,
    errors: ["user.not_found"],
    handle: (call) => query(call, (db) => readTotp(db, call.actor, call.params.id)),
  }),
  route({
    ...shared,
    method: "DELETE",
    freshLogin: true,
    summary: "End a user's one-time passwords",
    description: "One's own, or those of a user whom one may change. This takes a login of the " +
      "last 10 minutes.",
    status: 200,
    answer: TotpView,
    errors: ["user.not_found", "permission.role", "permission.scope", "permission.owner"],
    handle: (call) => {
      const { actor, params, services: { secrets } } = call;
      return command(
        call,
        (tx) =>
          endTotp(
            tx,
            actor,
            params.id,
            (user) => tellSecurityChange(tx, actor, { user, change: "totp ended", secrets }),
          ),
      );
    },
  }),
];
