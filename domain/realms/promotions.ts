/** What workers wait for after a promotion of the server, as the database tells it to every process. @module */
import type { Pool } from "../../db/database.ts";
import { findPromotion } from "../../db/realms/installation.ts";
import { describeOwed, describePromotion } from "./installation.ts";

/** Nothing is signed until records of hosts have been compared with a server that was promoted. */
export interface Waiting {
  detail: string;
  /** How many have not been compared; 0: the first worker goes on. */
  owed: number;
  /** The first of them, the longest unseen first: each id is a random name, which the log of its host shows. */
  records: { record: string; seen_at: string }[];
}

/** Finds out whether nothing is signed because hosts have not compared since a promotion; null where they have. */
export async function findWaiting(platform: Pool): Promise<Waiting | null> {
  const found = await findPromotion(platform);
  if (found === null) return null;
  const { owed, named } = found;
  return {
    detail: `chain.quarantined: ${describeOwed(describePromotion(found), owed)}`,
    owed,
    records: named.map(({ id, seen_at }) => ({
      record: id,
      seen_at: new Date(seen_at).toISOString(),
    })),
  };
}
