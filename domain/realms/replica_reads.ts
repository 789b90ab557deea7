/** Reads of a realm that its installation's replica may answer. @module */
import type { Database, Db, RealmLocation } from "../../db/database.ts";
import type { FromReplica, Position, Replica, ReplicaReading } from "../../db/replica.ts";

export type { FromReplica, Position, Replica };

/** The replica as a realm uses it. */
export interface RealmReplica {
  /** Runs reads; null where the primary must answer. */
  read<T>(work: (db: Db) => Promise<T>, how: ReplicaReading): Promise<FromReplica<T> | null>;
  /** Waits a moment until it shows all that was answered; null where it does not. */
  catchUp(): Promise<Position | null>;
  /** Notes that a user may have changed something: what the user reads next shows it. */
  noteWrite(user: string): void;
}

/** Opens the replica for a realm; null where there is none. */
export function openRealmReplica(
  database: Database,
  id: string,
  locate: () => RealmLocation,
): RealmReplica | null {
  const { replica } = database;
  if (replica === null) return null;
  return {
    async read(work, how) {
      const location = locate();
      // A realm that has moved meanwhile, or waits for its migration.
      if (database.realm(location).place !== location.place) return null;
      return await replica.read(location, work, how);
    },
    async catchUp() {
      return locate().encryptedUrl === null ? await replica.catchUp() : null;
    },
    noteWrite: (user) => replica.noteWrite(id, user),
  };
}
