/**
 * Finds the realm of a request that users send with their key and the operator with the platform
 * key. @module
 */
import type { RequestActor } from "../../domain/actor.ts";
import { DomainError } from "../../domain/errors.ts";
import type { RealmContext } from "../../domain/realms/context.ts";
import type { Call } from "./route.ts";

/**
 * Finds the realm of a request: the user's own, or the one that the operator names.
 *
 * @param part the part of the request that names it, if not the body
 * @throws {DomainError} realm.not_found, request.invalid
 */
export async function namedRealm<P, Q, B>(
  call: Call<P, Q, B>,
  named: string | undefined,
  part?: "query",
): Promise<{ realm: RealmContext; actor: RequestActor }> {
  const { services, actor, realm: own } = call;
  const refused = (code: "realm.not_found" | "request.invalid", message: string) => {
    const fault = { path: "/realm", ...part && { in: part }, message };
    return new DomainError(code, message, { errors: [fault] });
  };
  const unknown = () => refused("realm.not_found", "there is no such realm");
  if (own !== null) {
    if (named !== undefined && named !== own.id) throw unknown();
    return { realm: own, actor };
  }
  if (named === undefined) {
    throw refused("request.invalid", "the platform key needs the realm to be named");
  }
  const realm = await services.realms.find(named);
  if (realm === null) throw unknown();
  return { realm, actor: { ...actor, realm: realm.defaults() } };
}
