/**
 * Seeds of histories by chance that are the same in every run. PROPERTY_RUNS, a factor, plays more of them.
 * @module
 */

const SEEDS = 2;

/** The seeds of a test: the first ones, from 1 on. */
export function seeds(): number[] {
  const factor = Number(Deno.env.get("PROPERTY_RUNS") ?? 1);
  return Array.from({ length: Math.ceil(SEEDS * factor) }, (_, n) => n + 1);
}
