/** Zones, in which realms are placed. @module */

/** Every zone. */
export const ZONES = ["US", "EU"] as const;
/** A zone. */
export type Zone = typeof ZONES[number];

/** The database in which new realms of a zone are made. */
export interface RealmTarget {
  /** Its address, which holds a password. */
  readonly url: string;
  /** The setting that names it, for messages. */
  readonly setting: string;
}

/** The database in which new realms of each zone are made; null for the platform's. */
export type RealmTargets = Readonly<Record<Zone, RealmTarget | null>>;
