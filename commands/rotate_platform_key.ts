/** The command `rotate-platform-key`. @module */
import { reencryptAll } from "../domain/realms/platform_key_rotation.ts";
import type { CommandContext } from "./context.ts";

/** Encrypts under PLATFORM_KEY the texts that are still encrypted under PLATFORM_KEY_PREVIOUS. */
export async function rotatePlatformKey(
  { database, provisioning }: CommandContext,
): Promise<void> {
  const count = await reencryptAll(database, provisioning.secrets);
  console.log(`${count} texts are under PLATFORM_KEY.`);
}
