/** How long a quarantine lasts for what may be in flight: by the time of blocks, whatever clocks and lagging nodes tell. */
import { equal, match } from "node:assert/strict";
import type { Quarantine } from "../../db/accounts/ramps.ts";
import { waitForInFlight } from "../../workers/recovery/unknown_signatures.ts";

const NOW = Date.UTC(2026, 10, 27);
const MINUTE = 60_000;
const MINED_WITHIN_MS = 5 * MINUTE;
const VALIDITY = {
  ...{ signWithinMs: 1, minedWithinMs: MINED_WITHIN_MS, scannedWithin: 1 },
  minedWithinBlocks: null as number | null,
};
const CHAIN = { traits: { validity: VALIDITY } } as Parameters<typeof waitForInFlight>[0];

/** Whether a quarantine waits; times in milliseconds from now. */
function wait(of: { at: number; block?: number; head: number }): string | null {
  const block = of.block === undefined ? {} : { block_time: (NOW + of.block) / 1000 };
  const quarantined: Quarantine = { detail: "a trial", at: NOW + of.at, ...block };
  return waitForInFlight(CHAIN, [{ quarantined }], { time: (NOW + of.head) / 1000 }, NOW);
}

Deno.test("a quarantine lasts while all nodes lag: what lies above the blocks that they know was not searched", () => {
  const lag = -60 * MINUTE;
  const at = -10 * MINUTE;
  match(wait({ at, block: at + lag, head: lag }) ?? "", /may be mined until/);
  equal(wait({ at, block: at + lag, head: at + MINED_WITHIN_MS + 1_000 }), null);
});

Deno.test("a quarantine lasts by the blocks where the clock that began it was behind, and for hours at most where it was ahead", () => {
  match(wait({ at: -1e9, block: -MINUTE, head: 0 }) ?? "", /may be mined until/);
  equal(wait({ at: -1e9, block: -6 * MINUTE, head: 0 }), null);
  equal(wait({ at: 1e12, block: -6 * MINUTE, head: 0 }), null);
  match(wait({ at: -1e9, head: 0 }) ?? "", /no block was read yet/);
});

Deno.test("a quarantine lasts for the blocks in which a transaction may be mined, however slowly they are made", () => {
  const chain = { traits: { validity: { ...VALIDITY, minedWithinBlocks: 200 } } } as typeof CHAIN;
  const at = NOW - 60 * MINUTE;
  const told = (count: number, from?: number) => {
    const begun = from === undefined ? {} : { block_count: from };
    const quarantined: Quarantine = { detail: "a trial", at, block_time: at / 1000, ...begun };
    return waitForInFlight(chain, [{ quarantined }], { time: NOW / 1000, count }, NOW);
  };
  match(told(1_200, 1_000) ?? "", /may be mined in the next 1 blocks/);
  equal(told(1_201, 1_000), null);
  match(told(1_201) ?? "", /no block was read yet/);
});
