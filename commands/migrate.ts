/** The command `migrate`. Every command migrates first; this one also restates the rights of all realms. @module */
import { restateAll } from "../domain/realms/migrations.ts";
import { type CommandContext, type Invocation, StartError } from "./context.ts";
import { reduceRights } from "./database.ts";

/** Restates the rights of all realms; with `--new-logins` also logins whose secrets do not open. */
export async function migrate(context: CommandContext, { args }: Invocation): Promise<void> {
  const { database, migrations, log, progress } = context;
  const newLogins = args.includes("--new-logins");
  const left = await restateAll(database, migrations, log, { every: true, newLogins, progress });
  if (left.length > 0) throw new StartError(`without rights: ${left}`);
  if (newLogins) await reduceRights(context, true);
}
