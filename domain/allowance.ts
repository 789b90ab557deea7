/** Allowances: the rest of a realm's limits. @module */

/** The rest of a realm's limits. Null: without limit. */
export interface Allowance {
  /** Requests that a full bucket holds, those it holds now, and whole seconds until it is full. */
  limit: number | null;
  remaining: number;
  resetS: number;
  credits: number | null;
}
