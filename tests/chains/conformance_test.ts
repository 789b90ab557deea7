/** The suite of all chains, for a family whose node cannot do everything. */
import { deepEqual, equal } from "node:assert/strict";
import type { Chain } from "../../workers/chains/chain.ts";
import type { Inputs } from "../../workers/chains/outgoing.ts";
import { type Fixture, suite } from "./conformance.ts";

/** A family without nonces leaves these members out: a compiler reads this. */
export const WITHOUT_NONCES = {
  inputs: { coins: [] } satisfies Inputs,
  // @ts-expect-error a chain may have no nonces
  count: (chain: Chain) => chain.nonces.count(""),
};

/** A fixture without `reorganise()` is one: a compiler reads this. */
export const PLAIN = (fixture: Omit<Fixture, "reorganise">): Fixture => fixture;

Deno.test("a chain whose node replaces no blocks skips the tests that need it, and names them", () => {
  const start = () => Promise.reject(new TypeError("not started"));
  const whole = suite("CHAIN", start, {});
  const part = suite("CHAIN", start, { reorganises: false });
  equal(part.length, whole.length);
  equal(whole.some(({ ignore }) => ignore), false);
  deepEqual(part.filter(({ ignore }) => ignore).map(({ name }) => name), [
    "CHAIN: recheck() confirms what is there and denies what a reorganisation took (its node replaces no blocks)",
    "CHAIN: a payment that a reorganisation dropped is sent again with the same bytes (its node replaces no blocks)",
  ]);
});
