/** The walk through all operations, area by area. @module */
import type { Examples } from "../../routes/http/openapi_examples.ts";
import { walkChains, walkTokens } from "./chains.ts";
import { walkConsolidations, walkExchanges, walkSolvency, walkWriteOff } from "./exchanges.ts";
import { walkIdentity } from "./identity.ts";
import { walkLedger } from "./ledger.ts";
import { walkMessages } from "./messages.ts";
import { walkOperations } from "./operations.ts";
import { walkStatistics } from "./statistics.ts";
import { openWorld } from "./world.ts";

/** What a walk has shown. */
export interface Walked {
  readonly examples: Examples;
  /** Whether a node of Litecoin was there, without which nothing is consolidated. */
  readonly isWhole: boolean;
}

/** Walks through the API. */
export async function walkAll(): Promise<Walked> {
  await using world = await openWorld();
  await walkLedger(world);
  await walkIdentity(world);
  await walkMessages(world);
  await walkChains(world);
  await walkSolvency(world);
  await walkStatistics(world);
  await walkTokens(world);
  await walkExchanges(world);
  await walkWriteOff(world);
  const isWhole = world.coins !== null;
  if (isWhole) await walkConsolidations(world);
  await walkOperations(world);
  return { examples: world.examples(), isWhole };
}
