/** The command `rotate-platform-key`. @module */
import { reasonOf } from "../db/realms/realm_rounds.ts";
import { reencryptAll } from "../domain/realms/platform_key_rotation.ts";
import type { CommandContext } from "./context.ts";

/**
 * Encrypts under PLATFORM_KEY the texts that are still encrypted under PLATFORM_KEY_PREVIOUS; the exit code is 1 where
 * a realm has failed.
 */
export async function rotatePlatformKey(
  { database, provisioning }: CommandContext,
): Promise<void> {
  const failed: string[] = [];
  const count = await reencryptAll(
    database,
    provisioning.secrets,
    ({ id, name }, error) => failed.push(`  realm ${name} (${id}): FAILED: ${reasonOf(error)}`),
  );
  if (failed.length === 0) {
    console.log(`${count} texts are under PLATFORM_KEY.`);
    return;
  }
  Deno.exitCode = 1;
  console.error(
    `${count} texts are under PLATFORM_KEY. Keep PLATFORM_KEY_PREVIOUS, and run this again:` +
      ` realms that may still have texts under it: ${failed.length}`,
  );
  failed.forEach((line) => console.error(line));
}
