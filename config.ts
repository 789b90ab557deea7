/**
 * The environment as one frozen object. This module checks every setting once, and reports all faults at
 * the same time; nothing else in the project reads the environment.
 * @module
 */
import { parseEnv } from "node:util";
import { readMetricsNetworks, readOrigins } from "./config/callers.ts";
import { type ExchangeSettings, readExchanges } from "./config/exchanges.ts";
import { readAssets } from "./config/assets.ts";
import { type BackupConfig, readBackups } from "./config/backups.ts";
import { type DatabaseSettings, isOfTargets, readDatabases } from "./config/databases.ts";
import { type MessagesConfig, readMessages } from "./config/messages.ts";
import { type PeopleConfig, readPeople } from "./config/people.ts";
import { listOf, type Reader, reader } from "./config/reader.ts";
import type { AssetSetting } from "./domain/chains/asset_settings.ts";

/** A blockchain that can be configured. */
export const CHAIN_NAMES = [
  "BITCOIN",
  "LITECOIN",
  "BITCOIN_CASH",
  "DOGECOIN",
  "ETHEREUM",
  "POLYGON",
  "CELO",
  "BSC",
  "SOLANA",
  "TRON",
] as const;
/** A blockchain that can be configured. */
export type ChainName = typeof CHAIN_NAMES[number];

/** One network of a chain. */
export interface NetworkConfig {
  /** Addresses of nodes, the first preferred. Empty: not configured. */
  rpcUrls: readonly string[];
  /** Depth at which a deposit counts; null for the chain's own default. */
  confirmations: number | null;
  /** Nodes that must agree before value is credited or given back. */
  quorum: number;
}

/** The nodes of a chain. */
export interface ChainConfig {
  main: NetworkConfig;
  testnet: NetworkConfig;
  /** Address parameters of the test network (bitcoin family). */
  testnetNetwork: "testnet" | "signet" | "regtest";
  /** Milliseconds after which a node that is silent counts as away; null for the default. */
  timeoutMs: number | null;
  /**
   * First block of the main network, on chains that nodes do not name otherwise (Solana, Tron): null for
   * the public network's, `any` for a local one.
   */
  genesisHash: string | null;
}

/** All settings of a process. */
export interface Config extends MessagesConfig, ExchangeSettings, DatabaseSettings {
  port: number;
  host: string;
  baseUrl: string;
  adminUrl: string;
  dataDir: string;
  databasePrepare: boolean;
  /** Connections of the process, all realms together. */
  databaseConnections: number;
  /** Longest wait of an index that is made for one other transaction. */
  indexWaitMs: number;
  /** Rows of stored answers from which those of a realm leave as a whole table. */
  answerGenerationRows: number;
  /** Transactions of a realm from which on the newest part of its ledger is ended. */
  partRows: number;
  realmRoles: boolean;
  /** Whether the roles of realms log in themselves. */
  realmLogins: boolean;
  /** Null only with the embedded database, where it is generated. */
  platformKey: string | null;
  previousPlatformKey: string | null;
  /** 32 bytes, base64. Null with the embedded database, or in a process that runs no workers. */
  masterKey: string | null;
  /** The master key that `rotate-master-key` puts in its place. */
  newMasterKey: string | null;
  /** Names the epoch of the installation where hosts keep no records in files; null: they do. */
  installationEpoch: string | null;
  workers: boolean;
  pollIntervalMs: number;
  userKeyTtlS: number;
  /** Address of a CoinGecko-compatible price source; null: rates are set by hand. */
  ratesUrl: string | null;
  /** Whether webhooks are sent, and whether to private addresses and over plain HTTP too. */
  webhooks: { enabled: boolean; allowPrivate: boolean };
  people: PeopleConfig;
  backup: BackupConfig;
  logLevel: "debug" | "info" | "warn" | "error";
  logFormat: "json" | "pretty";
  /** Networks (CIDR) of proxies that tell the caller's address; that each is one is checked at start. */
  trustedProxies: readonly string[];
  /** Networks (CIDR) whose callers read `/metrics` without a key; checked as the proxies are. */
  metricsNetworks: readonly string[];
  /** Origins whose pages may call the API from a browser. */
  corsOrigins: readonly string[];
  /** Whether the audit trail shows whom those who work for a realm looked at. */
  auditReads: boolean;
  chains: Readonly<Record<ChainName, ChainConfig>>;
  /** A withdrawal never costs more than its charge times this factor. */
  hotFeeMaxFactor: number;
  /** By the code of the asset. */
  assets: Readonly<Record<string, AssetSetting>>;
}

/** The settings are wrong; `faults` names every one. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";

  /** Joins the faults into one message. */
  constructor(readonly faults: readonly string[]) {
    super(`the configuration has ${faults.length} fault(s):\n- ${faults.join("\n- ")}`);
  }
}

/** Shorter names are not suggested for misspelt ones. */
const SHORTEST = 6;
const SUFFIXES = [
  "RPC_URL",
  "TESTNET_RPC_URL",
  "CONFIRMATIONS",
  "TESTNET_CONFIRMATIONS",
  "QUORUM",
  "TESTNET_QUORUM",
  "TESTNET_NETWORK",
  "TIMEOUT_MS",
];
/** Chains whose main network is told by its first block. */
const WITH_GENESIS: readonly ChainName[] = ["SOLANA", "TRON"];
const CHAIN_VARIABLES = new Set([
  ...CHAIN_NAMES.flatMap((chain) => SUFFIXES.map((suffix) => `${chain}_${suffix}`)),
  ...WITH_GENESIS.map((chain) => `${chain}_GENESIS_HASH`),
]);
const LOOKS_LIKE_CHAIN = new RegExp(
  `^(CHAIN|${
    CHAIN_NAMES.join("|")
  })_|_(RPC_URL|CONFIRMATIONS|QUORUM|TESTNET_NETWORK|TIMEOUT_MS|GENESIS_HASH)$`,
);

/**
 * Checks the environment.
 *
 * @param terminal whether logs go to a person's terminal
 * @throws {ConfigError} naming every fault
 */
export function readConfig(
  env: Readonly<Record<string, string>>,
  terminal: boolean,
): Config {
  const { config, faults } = readSettings(env, terminal);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Reads the environment as {@link readConfig} does, for a caller that looks for more faults and tells all together. */
export function readSettings(
  env: Readonly<Record<string, string>>,
  terminal: boolean,
): { config: Config; faults: readonly string[] } {
  const read = reader(env);
  const config = configOf(read, env, terminal);
  for (const name of Object.keys(env)) {
    const meant = misspelt(name, read.known);
    if (meant !== null) read.faults.push(`${name} is not a setting: ${meant} is meant, it seems`);
  }
  return { config: deepFreeze(config), faults: read.faults };
}

/** Gives the names of all settings. */
export function settingNames(): ReadonlySet<string> {
  const read = reader({});
  configOf(read, {}, false);
  return read.known;
}

/** The environment, over a `.env` file; without the right to read the file only the environment. */
export async function readEnvironment(
  process: Pick<Deno.Env, "toObject"> = Deno.env,
): Promise<Record<string, string>> {
  const file = await Deno.readTextFile(".env").catch((error) => {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotCapable) return "";
    throw error;
  });
  return { ...parseEnv(file) as Record<string, string>, ...process.toObject() };
}

/** Variables that hold secrets: keys, and addresses that may contain a password or a key. */
const SECRET =
  /^(DATABASE_(READ_)?URL|REALM_DATABASE_URL(_\w+)?|RATES_URL|PLATFORM_KEY(_PREVIOUS)?|(NEW_)?MASTER_KEY|\w+_RPC_URL|INFOBIP_API_KEY|INFOBIP_WEBHOOK_SECRET|SMTP_URL|SMTP_DKIM_KEY)$/;

/** Reads the environment and removes the secrets from it: later readers find none. */
export async function takeEnvironment(
  process: Pick<Deno.Env, "toObject" | "delete"> = Deno.env,
): Promise<Record<string, string>> {
  const env = await readEnvironment(process);
  for (const name of Object.keys(process.toObject())) {
    if (SECRET.test(name)) process.delete(name);
  }
  return env;
}

function configOf(
  read: Reader,
  env: Readonly<Record<string, string>>,
  terminal: boolean,
): Config {
  const port = read.whole("PORT", 0, 65535, 8080);
  const host = read.text("HOST") ?? "127.0.0.1";
  const databases = readDatabases(read, env);
  const ownServer = databases.databaseUrl !== null;
  const workers = read.choice("WORKERS", ["on", "off"], "on") === "on";
  const baseUrl = read.url("BASE_URL", ["http:", "https:"]) ??
    `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    port,
    host,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    adminUrl: (read.url("ADMIN_URL", ["http:", "https:"]) ?? baseUrl).replace(/\/+$/, ""),
    ...databases,
    dataDir: read.text("DATA_DIR") ?? ".data",
    databasePrepare: read.choice("DATABASE_PREPARE", ["on", "off"], "on") === "on",
    databaseConnections: read.whole("DATABASE_CONNECTIONS", 10, 10_000, 40),
    partRows: read.whole("PART_ROWS", 100_000, 2_000_000_000, 50_000_000),
    indexWaitMs: 1000 * read.whole("INDEX_WAIT_SECONDS", 1, 86_400, 600),
    answerGenerationRows: read.whole("ANSWER_GENERATION_ROWS", 1, 1e12, 10_000_000),
    realmLogins: read.choice("REALM_LOGINS", ["on", "off"], "on") === "on",
    realmRoles: read.choice("REALM_ROLES", ["on", "off"], "on") === "on",
    platformKey: platformKey(read, ownServer),
    previousPlatformKey: read.text("PLATFORM_KEY_PREVIOUS"),
    masterKey: masterKey(read, "MASTER_KEY", ownServer && workers),
    newMasterKey: masterKey(read, "NEW_MASTER_KEY", false),
    installationEpoch: installationEpoch(read),
    workers,
    pollIntervalMs: read.whole("POLL_INTERVAL_MS", 100, 3_600_000, 5000),
    userKeyTtlS: read.whole("TOKEN_TTL_SECONDS", 1, 31_536_000, 86_400),
    ratesUrl: read.url("RATES_URL", ["http:", "https:"])?.replace(/\/+$/, "") ?? null,
    webhooks: {
      enabled: read.choice("WEBHOOKS", ["on", "off"], "on") === "on",
      allowPrivate: read.choice("WEBHOOKS_ALLOW_PRIVATE", ["true", "false"], "false") === "true",
    },
    ...readMessages(read),
    people: readPeople(read),
    backup: readBackups(read),
    logLevel: read.choice("LOG_LEVEL", ["debug", "info", "warn", "error"], "info"),
    logFormat: read.choice("LOG_FORMAT", ["json", "pretty"], terminal ? "pretty" : "json"),
    trustedProxies: listOf(read.text("TRUSTED_PROXIES")),
    metricsNetworks: readMetricsNetworks(read, baseUrl),
    corsOrigins: readOrigins(read),
    auditReads: read.choice("AUDIT_READS", ["on", "off"], "on") === "on",
    chains: readChains(read, env),
    hotFeeMaxFactor: read.whole("HOT_FEE_MAX_FACTOR", 1, 100, 3),
    ...readExchanges(read, env),
    assets: readAssets(read),
  };
}

function platformKey(read: Reader, required: boolean): string | null {
  const key = read.text("PLATFORM_KEY");
  if (key === null && required) {
    read.faults.push("PLATFORM_KEY is missing: the operator's key, at least 16 characters");
  }
  if (key !== null && key.length < 16) {
    read.faults.push("PLATFORM_KEY is too short: at least 16 characters are expected");
  }
  if (key !== null && key.length >= 16 && new Set(key).size < 6) {
    read.faults.push("PLATFORM_KEY is too simple: it repeats a few characters");
  }
  return key;
}

/** The setting of which a name is a slip of the pen: one character, or two that changed places. */
function misspelt(name: string, known: ReadonlySet<string>): string | null {
  if (known.has(name) || LOOKS_LIKE_CHAIN.test(name) || isOfTargets(name)) return null;
  return [...known].find((meant) => {
    if (meant.length < SHORTEST) return false; // HOST and PORT are too near to other words
    let from = 0;
    while (from < meant.length && meant[from] === name[from]) from++;
    const [a, b] = [name.slice(from), meant.slice(from)];
    return a.slice(1) === b || a === b.slice(1) || a.slice(1) === b.slice(1) ||
      (a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2));
  }) ?? null;
}

function installationEpoch(read: Reader): string | null {
  const label = read.text("INSTALLATION_EPOCH");
  if (label !== null && !/^[A-Za-z0-9._:-]{1,64}$/.test(label)) {
    read.faults.push("INSTALLATION_EPOCH is not 1 to 64 letters, digits, dots, colons or hyphens");
  }
  return label;
}

function masterKey(read: Reader, name: string, required: boolean): string | null {
  const key = read.text(name);
  if (key === null) {
    if (required) {
      read.faults.push(`${name} is missing: 32 bytes as base64 (openssl rand -base64 32)`);
    }
    return null;
  }
  if (!/^[A-Za-z0-9+/]{43}=$/.test(key)) {
    read.faults.push(`${name} is not the base64 form of 32 bytes (openssl rand -base64 32)`);
  } else if (new Set(atob(key)).size < 10) {
    read.faults.push(`${name} is no random key: it repeats a few bytes (openssl rand -base64 32)`);
  }
  return key;
}

function readChains(
  read: Reader,
  env: Readonly<Record<string, string>>,
): Readonly<Record<ChainName, ChainConfig>> {
  for (const name of Object.keys(env)) {
    if (LOOKS_LIKE_CHAIN.test(name) && !CHAIN_VARIABLES.has(name)) {
      read.faults.push(`${name} is not a known setting of a chain`);
    }
  }
  const network = (prefix: string): NetworkConfig => {
    const given = read.text(`${prefix}_CONFIRMATIONS`);
    const rpcUrls = (read.text(`${prefix}_RPC_URL`) ?? "").split(",").map((url) => url.trim())
      .filter((url) => url !== "" && checkRpcUrl(read, `${prefix}_RPC_URL`, url));
    return {
      rpcUrls,
      confirmations: given === null ? null : read.whole(`${prefix}_CONFIRMATIONS`, 0, 100_000, 0),
      quorum: quorumOf(read, prefix, rpcUrls),
    };
  };
  return Object.fromEntries(CHAIN_NAMES.map((chain) => [chain, {
    main: network(chain),
    testnet: network(`${chain}_TESTNET`),
    testnetNetwork: read.choice(
      `${chain}_TESTNET_NETWORK`,
      ["testnet", "signet", "regtest"],
      "testnet",
    ),
    timeoutMs: read.text(`${chain}_TIMEOUT_MS`) === null
      ? null
      : read.whole(`${chain}_TIMEOUT_MS`, 1, 600_000, 0),
    genesisHash: WITH_GENESIS.includes(chain) ? genesisHash(read, chain) : null,
  }])) as Record<ChainName, ChainConfig>;
}

function genesisHash(read: Reader, chain: ChainName): string | null {
  const name = `${chain}_GENESIS_HASH`;
  const given = read.text(name);
  if (given === null || /^(any|[0-9A-Za-z]{32,64})$/.test(given)) return given;
  read.faults.push(`${name} is neither the hash of a block nor "any"`);
  return null;
}

function checkRpcUrl(read: Reader, name: string, url: string): boolean {
  if (URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol)) return true;
  read.faults.push(`${name} holds an address that does not start with http:// or https://`);
  return false;
}

/** Two users or keys of one address reach one node. */
function withoutCredentials(address: string): string {
  const url = new URL(address);
  url.username = url.password = "";
  return url.href;
}

/** One node is never two witnesses, so none may be named twice. */
function quorumOf(read: Reader, prefix: string, urls: readonly string[]): number {
  if (new Set(urls.map(withoutCredentials)).size < urls.length) {
    read.faults.push(`${prefix}_RPC_URL names a node twice`);
  }
  const name = `${prefix}_QUORUM`;
  const quorum = read.whole(name, 1, 100, urls.length > 1 ? 2 : 1);
  if (read.text(name) !== null && quorum > urls.length) {
    read.faults.push(`${name} is ${quorum}, and ${prefix}_RPC_URL names ${urls.length} node(s)`);
  }
  return quorum;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze<object>(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
