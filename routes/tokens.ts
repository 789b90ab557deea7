/** Routes of fungible tokens. @module */
import type { ErrorCode } from "../domain/errors.ts";
import {
  deployedAmong,
  deployToken,
  findDeployed,
  findRegistered,
  NewToken,
  registeredAmong,
  registerToken,
  TokenRegistration,
} from "../domain/currencies/tokens.ts";
import { removeToken, TOKEN_COLLECTION } from "../domain/currencies/token_collection.ts";
import {
  DeployedView,
  RegisteredView,
  TokenView,
  viewDeployed,
  viewRegistered,
} from "../domain/currencies/token_views.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command, type ExecutionOptions } from "./http/execution.ts";
import { type AnyRoute, type Call, type Reply, route } from "./http/route.ts";
import type { LedgerTx } from "../domain/command.ts";

/** Longest wait of an answer for the worker, unless the caller sets one. */
const WAIT_S = 10;
const ERRORS: readonly ErrorCode[] = [
  "account.not_found",
  "account.not_enabled",
  "account.inactive",
  "account.frozen",
  "permission.owner",
  "permission.role",
  "token.unsupported_chain",
  "currency.taken",
  "chain.not_configured",
];

/** The routes of fungible tokens. */
export const fungibleTokenRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/fungible/token/deploy",
    tag: "Fungible tokens",
    summary: "Deploy a token",
    description: "The answer has the transaction's hash if it was sent within 10 s; else it is " +
      "empty and shown later. A user without write permission for the realm pays the chain's fee out of the " +
      "ramp's account, and gets the unused part back.",
    access: "user",
    cost: "chain",
    body: NewToken,
    waits: true,
    status: 201,
    makes: "/v1/fungible/token/{made}",
    answer: DeployedView,
    errors: [
      ...ERRORS,
      "chain.stale",
      "ramp.gas_insufficient",
      "balance.insufficient",
      "stop.active",
    ],
    handle: (call) =>
      commandAndWait(
        call,
        async (tx) => viewDeployed(await deployToken(tx, call.actor, call.body)),
        { ready: { among: deployedAmong, view: findDeployed }, lockLedger: true },
      ),
  }),
  route({
    method: "POST",
    path: "/v1/fungible/token/register",
    tag: "Fungible tokens",
    summary: "Register a token as a virtual currency",
    description: "One that was deployed here is found by its symbol. A third party's token is " +
      "named by its contract, and checked first.",
    access: "user",
    body: TokenRegistration,
    waits: true,
    status: 201,
    makes: "/v1/fungible/token/{made}",
    answer: RegisteredView,
    errors: [
      ...ERRORS,
      "identity.not_found",
      "token.not_found",
      "token.pending",
      "token.invalid",
      "address.invalid",
    ],
    handle: (call) =>
      commandAndWait(
        call,
        async (tx) => viewRegistered(await registerToken(tx, call.actor, call.body)),
        { ready: { among: registeredAmong, view: findRegistered }, lockLedger: true },
      ),
  }),
  ...collectionRoutes({
    collection: TOKEN_COLLECTION,
    tag: "Fungible tokens",
    one: "a fungible token",
    view: TokenView,
    remove: (tx, actor, id) => removeToken(tx, actor, id, "delete"),
    restore: (tx, actor, id) => removeToken(tx, actor, id, "undelete"),
  }),
];

/** Waits for the worker, also if the caller did not ask for it. */
async function commandAndWait<P, Q, B>(
  call: Call<P, Q, B>,
  work: (tx: LedgerTx) => Promise<unknown>,
  options: ExecutionOptions<true>,
): Promise<Reply> {
  if (call.preferWaitS > 0) return await command(call, work, options);
  const reply = await command({ ...call, preferWaitS: WAIT_S }, work, options);
  const { "preference-applied": _, ...headers } = reply.headers ?? {};
  return { ...reply, headers };
}
