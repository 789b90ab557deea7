/** The command `networks`: which networks the nodes of chains were found to be of. @module */
import { parseArgs } from "node:util";
import { UsageError } from "../config/usages.ts";
import {
  deleteIdentity,
  type NetworkKey,
  selectIdentities,
} from "../db/chains/network_identities.ts";
import { reading, writing } from "../db/transaction.ts";
import { CHAINS } from "../domain/assets.ts";
import { NETWORKS } from "../domain/chains/addresses.ts";
import type { CommandContext, Invocation } from "./context.ts";

/** Lists what was decided, a line each, or forgets one: the exit code is 1 where there is nothing to forget. */
export async function networks(
  { database: { platform } }: CommandContext,
  { args }: Invocation,
): Promise<void> {
  const forgotten = readNetworksArguments(args);
  if (forgotten === null) {
    for (const one of await reading(platform, selectIdentities)) {
      const at = new Date(one.decided_at).toISOString();
      console.log(`${one.chain} ${one.network}: ${one.identity}, since ${at}`);
    }
    return;
  }
  const place = `${forgotten.chain} ${forgotten.network}`;
  const was = await writing(platform, (db) => deleteIdentity(db, forgotten));
  if (was === null) {
    Deno.exitCode = 1;
    console.error(`nothing was decided of ${place}`);
    return;
  }
  console.log(
    `${place} was ${was}. Its nodes decide anew: in processes that run, once one is refused.`,
  );
}

/** Reads the arguments of the command: what is to be forgotten; null: nothing. @throws {UsageError} */
export function readNetworksArguments(args: readonly string[]): NetworkKey | null {
  const { forget, places } = parse(args);
  if (!forget && places.length === 0) return null;
  const [chain = "", network = "", ...rest] = places;
  if (!forget || rest.length > 0) throw new UsageError("networks");
  if (!CHAINS.some(({ id }) => id === chain)) fail(`${chain} is no chain`);
  if (!NETWORKS.some((known) => known === network)) fail(`${network} is no network`);
  return { chain, network };
}

function parse(args: readonly string[]): { forget: boolean; places: readonly string[] } {
  try {
    const options = { forget: { type: "boolean" } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { forget: values.forget ?? false, places: positionals };
  } catch (error) {
    return fail((error as Error).message);
  }
}

function fail(why: string): never {
  throw new UsageError("networks", why);
}
