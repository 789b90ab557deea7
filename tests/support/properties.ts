/**
 * fast-check with the same values in every run: a run fails for what was changed, and not for what chance finds in
 * something else. `PROPERTY_SEED=random` looks for that, a number repeats it: a failure prints its seed and its path.
 *
 * @module
 */
import fc from "fast-check";

const seed = Deno.env.get("PROPERTY_SEED") ?? "1";
if (seed !== "random") fc.configureGlobal({ seed: Number(seed) });

export { fc };
