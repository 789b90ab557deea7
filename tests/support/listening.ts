/** Listening to the events of a realm, which are written only then. @module */
import { locationOf } from "../../domain/realms/realms.ts";
import type { TestRealm } from "./realm.ts";

/** Has all events of a realm written, as a reader of streams has. */
export async function listen({ made, database }: TestRealm): Promise<void> {
  const { schema } = locationOf(made.realm);
  await database.platform.sql.begin(async (tx) => {
    await tx`set local search_path to ${tx(schema)}`;
    await tx`insert into event_listeners values ('*', 'infinity') on conflict do nothing`;
  });
}
