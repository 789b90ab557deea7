/**
 * Permissions of each command of the service, as flags of Deno: its listener, its database, the nodes
 * and prices that are configured, its migrations, and the record of the host. It runs no program.
 *
 * @module
 */
import type { Config } from "../config.ts";
import { type CommandName, mayOpenSecrets } from "../config/usages.ts";
import exchangeList from "../domain/exchanges/exchange_list.json" with { type: "json" };

/** A command of main.ts. */
export type Command = CommandName;

/** Inputs of the flags beside the settings. */
export interface Needs {
  readonly command: Command;
  readonly config: Config;
  /** Address of the database, with its port. */
  readonly databaseUrl: string;
  /** Folder of the code that talks with exchanges, which a thread of its own loads. */
  readonly exchangeClient: string;
  /** Folder of the migrations. */
  readonly migrations: string;
  /** Folder of the host's record. */
  readonly records: string;
  /** File that takes the keys of the sandbox; null where none is made. */
  readonly sandbox: string | null;
  /** Folder that takes backups, or archived parts; null for every other command. */
  readonly backups: string | null;
  /** Files and folders that a restore, or a command about archived parts, reads. */
  readonly restored: readonly string[];
}

const LISTENS: readonly Command[] = ["start", "worker"];
/** Commands that talk to the chains, sign, and keep the host's record. */
const WORKS: readonly Command[] = ["start", "worker", "reconcile"];
const PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "https:": "443",
  "smtp:": "587",
  "smtps:": "465",
  "postgres:": "5432",
  "postgresql:": "5432",
};

/** Tells whether a command needs the master key. */
export function needsMasterKey(command: Command, config: Config): boolean {
  return mayOpenSecrets(command) && (command !== "start" || config.workers);
}

/** Tells whether a command serves until it is told to end. */
export function isService(command: Command): boolean {
  return LISTENS.includes(command);
}

/** Spells out the flags of a command. */
export function permissionsOf(needs: Needs): string[] {
  const { command, config, exchangeClient, migrations, records, sandbox, backups, restored } =
    needs;
  const works = WORKS.includes(command) && (command !== "start" || config.workers);
  const asks = isService(command) && works && exchangeHosts(config).length > 0;
  const written = [
    ...(works && config.installationEpoch === null ? [records] : []),
    ...(sandbox === null ? [] : [sandbox]),
    ...(backups === null ? [] : [backups]),
  ];
  return [
    "--no-prompt",
    "--deny-import", // modules of other hosts, which Deno would load from some without being told
    "--allow-env", // which holds the settings and nothing else: see launch.ts
    // Receivers of webhooks may be anywhere in the internet; which addresses are refused is checked
    // where they are connected to.
    works && command !== "reconcile" && config.webhooks.enabled
      ? "--allow-net"
      : `--allow-net=${hostsOf(needs, works).join()}`,
    `--allow-read=${
      [migrations, ...(asks ? [exchangeClient] : []), ...restored, ...written].map(escaped).join()
    }`,
    ...(written.length === 0 ? [] : [`--allow-write=${written.map(escaped).join()}`]),
  ];
}

function hostsOf({ command, config, databaseUrl }: Needs, works: boolean): string[] {
  const chains = Object.values(config.chains).flatMap(({ main, testnet }) => [
    ...main.rpcUrls,
    ...testnet.rpcUrls,
  ]);
  const { host, port } = config;
  const hosts = [
    ...(isService(command) ? [`${host.includes(":") ? `[${host}]` : host}:${port}`] : []),
    hostOf(databaseUrl),
    ...config.databaseHosts,
    ...(command === "start" && config.replica !== null ? [hostOf(config.replica.url)] : []),
    ...(isService(command) && config.people.account !== null
      ? [hostOf(config.people.account.baseUrl)]
      : []),
    ...(works ? chains.map(hostOf) : []),
    ...(works && config.ratesUrl !== null ? [hostOf(config.ratesUrl)] : []),
    ...(works && config.infobip !== null ? [hostOf(config.infobip.baseUrl)] : []),
    ...(works && config.smtp !== null ? [hostOf(config.smtp.url)] : []),
    ...(works && isService(command) ? exchangeHosts(config) : []),
  ];
  return [...new Set(hosts)];
}

/** Hosts of the exchanges that workers may reach. */
function exchangeHosts({ exchanges, exchangeUrls }: Config): string[] {
  return exchangeList.filter(({ id }) => exchanges === null || exchanges.includes(id))
    .flatMap(({ id, hosts }) =>
      Object.hasOwn(exchangeUrls, id)
        ? [hostOf(exchangeUrls[id])]
        : hosts.map((host) => `${host}:443`)
    );
}

function hostOf(address: string): string {
  const url = new URL(address);
  return `${url.hostname || "localhost"}:${url.port || PORTS[url.protocol]}`;
}

/** A comma parts two paths of a list; two stand for one in a path. */
function escaped(path: string): string {
  return path.replaceAll(",", ",,");
}
