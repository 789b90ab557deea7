/** The walk through all operations, area by area. @module */
import type { Examples } from "../../routes/http/openapi_examples.ts";
import { walkChains, walkTokens } from "./chains.ts";
import { walkConsolidations, walkExchanges, walkSolvency, walkWriteOff } from "./exchanges.ts";
import { walkIdentity } from "./identity.ts";
import { walkLedger } from "./ledger.ts";
import { walkMessages } from "./messages.ts";
import { walkHeld, walkNamed } from "./named.ts";
import { walkOperations } from "./operations.ts";
import { walkStatistics } from "./statistics.ts";
import { openWorld, type World } from "./world.ts";

/** What a walk has shown. */
export interface Walked {
  readonly examples: Examples;
  /** Whether a node of Litecoin was there, without which nothing is consolidated. */
  readonly isWhole: boolean;
  /** What was not refused to others as it should be, and what nobody has tried. */
  readonly others: { readonly faults: readonly string[]; readonly untried: readonly string[] };
}

/** Walks through the API. */
export async function walkAll(): Promise<Walked> {
  await using world = await openWorld();
  const { coins, others } = world;
  try {
    await walkThrough(world);
  } catch (error) {
    // What was done by somebody who may not is missing to the walk.
    if (others.faults.length > 0) throw new Error(others.faults.join("\n"), { cause: error });
    throw error;
  }
  return {
    examples: world.examples(),
    isWhole: coins !== null,
    others: { faults: others.faults, untried: others.untried() },
  };
}

async function walkThrough(world: World): Promise<void> {
  await walkLedger(world);
  await walkIdentity(world);
  await walkMessages(world);
  await walkChains(world);
  await walkSolvency(world);
  await walkStatistics(world);
  await walkTokens(world);
  await walkExchanges(world);
  await walkWriteOff(world);
  if (world.coins !== null) await walkConsolidations(world);
  await walkOperations(world);
  await walkNamed(world);
  await walkHeld(world);
}
