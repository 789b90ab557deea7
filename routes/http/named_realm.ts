/**
 * Finds the realm of a request that users send with their key and the operator with the platform
 * key. @module
 */
import type { RequestActor } from "../../domain/actor.ts";
import { invalidField } from "../../domain/errors.ts";
import { notFound } from "../../domain/permissions.ts";
import type { RealmContext } from "../../domain/realms/context.ts";
import type { Call } from "./route.ts";

/**
 * Finds the realm of a request: the user's own, or the one that the operator names.
 *
 * @throws {DomainError} realm.not_found, request.invalid
 */
export async function namedRealm<P, Q, B>(
  call: Call<P, Q, B>,
  named: string | undefined,
): Promise<{ realm: RealmContext; actor: RequestActor }> {
  const { services, actor, realm: own } = call;
  if (own !== null) {
    if (named !== undefined && named !== own.id) throw notFound("realm.not_found", "/realm");
    return { realm: own, actor };
  }
  if (named === undefined) {
    throw invalidField("/realm", "the platform key needs the realm to be named");
  }
  const realm = await services.realms.find(named);
  if (realm === null) throw notFound("realm.not_found", "/realm");
  return { realm, actor: { ...actor, realm: realm.defaults() } };
}
