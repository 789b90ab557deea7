/** The sandbox realm, which the first start creates for trying out the service. @module */
import { countAllRealms, NewRealm } from "../domain/realms/realms.ts";
import { check } from "../routes/http/validation.ts";
import type { CommandContext } from "./context.ts";
import { writeSecret } from "./output.ts";
import { makeRealm } from "./realm.ts";

/** On the very first start, makes the realm `sandbox` and shows its keys, once. */
export async function welcome(
  context: CommandContext,
  file: string,
  platformKeyFile: string | null,
): Promise<void> {
  if (await countAllRealms(context.database.platform) > 0) return;
  const password = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(15))));
  const admin = { email: "admin@sandbox.local", password };
  const made = await makeRealm(
    context,
    check(NewRealm, { name: "sandbox", admin }, "request.invalid"),
  );
  const keys = `
  realm key            ${made.realm_key}
  application key      ${made["x-api-key"]}
  administrator        ${admin.email}
  password             ${password}
`;
  // Output that is not a terminal may be kept for years: a journal, the log of a build.
  const terminal = Deno.stdout.isTerminal();
  if (!terminal) await writeKeys(file, keys);
  const shown = writeSecret(`
Purser is ready.

  address              ${context.config.baseUrl}
  reference            ${context.config.baseUrl}/docs${terminal ? keys : "\n"}
The keys of the realm "sandbox" ${terminal ? "are shown this once" : `are in ${file}`}.${
    platformKeyFile === null ? "" : `\nThe platform key is in ${platformKeyFile}.`
  }

`);
  if (terminal) return await shown;
  // The keys are in the file: a reader that stands still, or a full disk, keeps nothing from starting.
  shown.catch((error) => context.log("warn", "the first lines could not be written", { error }));
}

/** Writes a file that its owner alone can read; replaces one that an older database left. */
async function writeKeys(file: string, text: string): Promise<void> {
  await Deno.remove(file).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.writeTextFile(file, text, { createNew: true, mode: 0o600 });
}
