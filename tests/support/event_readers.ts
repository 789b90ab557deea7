/** Users of each kind that reads events of a realm, each with a webhook. @module */
import { equal } from "node:assert/strict";
import type { TestRealm, TestUser } from "./realm.ts";

/** An administrator of the realm, and those who see less: by role, or by scope. */
export type EventReaders = Record<"admin" | "manage" | "user" | "own", TestUser>;

/**
 * Makes the users and their webhooks.
 *
 * @param to.url of the receiver, which hears each by its name as path
 */
export async function openEventReaders(
  realm: TestRealm,
  to: { url: string; events: string[] },
): Promise<EventReaders> {
  const readers = {
    admin: realm.admin,
    manage: await realm.user({ role: "manage", scope: "realm" }),
    user: await realm.user({ role: "user", scope: "realm" }),
    own: await realm.user({ role: "admin", scope: "own" }),
  };
  for (const [name, { send }] of Object.entries(readers)) {
    const input = { url: `${to.url}/${name}`, events: to.events };
    equal((await send("POST", "/v1/webhooks", input)).status, 201, name);
  }
  return readers;
}
