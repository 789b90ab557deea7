/** Speeds of payments: how soon a transaction should be mined. @module */

/** The speeds, slowest first. */
export const SPEEDS = ["slow", "medium", "fast"] as const;

/** How soon a transaction should be mined. */
export type Speed = typeof SPEEDS[number];
