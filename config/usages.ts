/** How each command is called: shown by `--help`, and where arguments are wrong. @module */

/** Every command of main.ts: its purpose, and its forms. */
export const COMMANDS = {
  start: ["serves the API and, unless WORKERS=off, runs the workers", ""],
  worker: ["runs the workers without the API", ""],
  migrate: [
    "applies migrations to the platform and every realm, and states rights and passwords of all roles anew",
    "[--new-logins]",
  ],
  realm: [
    "creates a realm, lists realms with their sizes and places, or moves one to another database",
    "create --name … --email … [--country US] [--currency USD] [--zone US] [--tier unlimited]" +
    " [--username …] [--database-url postgres://…], with the password on standard input",
    'create -, with the request on standard input: {"name": "…", "admin": {…}}',
    "list",
    "move <id> --to -, with the address (postgres://…) on standard input, or --to platform",
    "move <id>, to carry a move on; with --cancel to take it back, with --drop-old to drop the old copy",
    "move <id> --repair [--to -], where the platform's database has lost a move: finds where the realm lives",
  ],
  "rotate-master-key": ["puts every seed's key under NEW_MASTER_KEY", ""],
  "rotate-platform-key": [
    "encrypts stored texts under PLATFORM_KEY that are still under PLATFORM_KEY_PREVIOUS",
    "",
  ],
  reconcile: [
    "after a restore: recovers transactions that the chains show and the database has lost",
    "[--list] [--paid <withdrawal>]… [--unpaid <withdrawal>]… [--loss <transaction>]… [--payment <transaction>=<withdrawal>]… [--gap 10000] [--back 5000] [--behind]",
    "--join",
  ],
  networks: [
    "lists which networks the nodes of chains were found to be of, where several would do, or forgets one",
    "",
    "--forget <chain> <network>, where a test network was begun anew",
  ],
  audit: [
    "recomputes every balance, block, supply and hash and reports differences",
    "[--realm <id>] [--expect <seq>:<hash>] [--rebuild] [--archive <folder>]",
  ],
  archive: [
    "takes the oldest parts of a realm's ledger out of the database, into files, or puts the last one back",
    "<realm> --before <YYYY-MM-DD> --to <folder> [--plain]",
    "<realm> --drop --to <folder>",
    "<realm> --attach",
  ],
  backup: [
    "writes an encrypted backup of the installation or of one realm, or draws a key for backups",
    "[--realm <id> | --without <id> …] [--keep <count>]",
    "--new-key > <file>",
  ],
  restore: [
    "restores a backup with sending halted and audits it, or reads it all and restores nothing",
    "<file> [--realm <id> | --without <id> …] [--to platform|origin|-] [--expect <seq>:<hash>] [--stop] [--end-keys]," +
    " with the address (postgres://…) for --to - on standard input; with --stop each restored realm" +
    " begins with stops of moves and of signing, with --end-keys without a machine key",
    "<file> --check",
  ],
} as const satisfies Readonly<Record<string, readonly [string, ...string[]]>>;

/** A command of main.ts. */
export type CommandName = keyof typeof COMMANDS;

/** Every command of main.ts. */
export const COMMAND_NAMES = Object.keys(COMMANDS) as readonly CommandName[];

/** Whether there is such a command. */
export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}

/** Commands that sign, or open the seeds. */
const OPEN_SECRETS: readonly string[] = ["start", "worker", "reconcile", "rotate-master-key"];

/** Whether a command may need the master key; the others run where there is none. */
export function mayOpenSecrets(name: string): boolean {
  return OPEN_SECRETS.includes(name);
}

/** Whether the arguments ask how the command is called; such a call does nothing else. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes("--help") || args.includes("-h");
}

/** The forms of a command, a line each. */
function usageOf(name: CommandName): string {
  const [, ...forms] = COMMANDS[name];
  return forms.map((form, index) =>
    `${index === 0 ? "usage:" : "      "} ${name} ${form}`.trimEnd()
  )
    .join("\n");
}

/** The answer to `--help`. */
export function helpOf(name: CommandName): string {
  return `${name}: ${COMMANDS[name][0]}\n${usageOf(name)}`;
}

/** The arguments of a command are wrong; the message ends with its forms. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(command: CommandName, fault: string | null = null) {
    super(fault === null ? usageOf(command) : `${fault}\n${usageOf(command)}`);
  }
}

/** Refuses arguments where a command takes none but those that the launcher adds. @throws {UsageError} */
export function refuseArguments(
  command: CommandName,
  args: readonly string[],
  known: readonly string[] = [],
): void {
  const [other] = args.filter((arg) => !known.includes(arg));
  if (other !== undefined) throw new UsageError(command, `${command} takes no ${other}`);
}
