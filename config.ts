/**
 * The environment as one frozen object. Everything is checked here, once, and every fault is told at
 * the same time; nothing else in the project reads the environment.
 * @module
 */

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
}

/** Which way the value of an asset may move between its chain and the ledger. */
export const ASSET_STATES = ["active", "deposit-only", "withdraw-only", "suspended"] as const;

/** What an operator says of an asset; whether it fits the registry is found out at start. */
export interface AssetSetting {
  /** Another contract or mint than the registry's, on the asset's main network. */
  readonly contract?: string;
  /** What that contract's `symbol()` answers, where it is not what the registry expects. */
  readonly symbol?: string;
  /** Which way its value may move. */
  readonly state?: typeof ASSET_STATES[number];
  /** Why the state is not active; shown to callers. */
  readonly reason?: string;
}

/** All settings of a process. */
export interface Config {
  port: number;
  host: string;
  baseUrl: string;
  adminUrl: string;
  /** Null: a PostgreSQL of our own is run in `dataDir`. */
  databaseUrl: string | null;
  dataDir: string;
  databasePrepare: boolean;
  /** Connections of the process, all realms together. */
  databaseConnections: number;
  realmRoles: boolean;
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
  tokenTtlS: number;
  /** Address of a CoinGecko-compatible price source; null: rates are set by hand. */
  ratesUrl: string | null;
  logLevel: "debug" | "info" | "warn" | "error";
  logFormat: "json" | "pretty";
  /** Networks (CIDR) of proxies that tell the caller's address; that each is one is checked at start. */
  trustedProxies: readonly string[];
  chains: Readonly<Record<ChainName, ChainConfig>>;
  /** A withdrawal never costs more than so many times what its user was charged. */
  hotFeeMaxFactor: number;
  /** By the code of the asset. */
  assets: Readonly<Record<string, AssetSetting>>;
}

/** The settings are wrong; `faults` names every one. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";

  /** Gathers the faults into one message. */
  constructor(readonly faults: readonly string[]) {
    super(`the configuration has ${faults.length} fault(s):\n- ${faults.join("\n- ")}`);
  }
}

/** Reads variables one by one and gathers what is wrong with them. */
interface Reader {
  readonly faults: string[];
  /** The settings that were asked for. */
  readonly known: ReadonlySet<string>;
  text(name: string): string | null;
  choice<const T extends string>(name: string, choices: readonly T[], otherwise: T): T;
  whole(name: string, min: number, max: number, otherwise: number): number;
  url(name: string, protocols: readonly string[]): string | null;
}

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
const CHAIN_VARIABLES = new Set(
  CHAIN_NAMES.flatMap((chain) => SUFFIXES.map((suffix) => `${chain}_${suffix}`)),
);
const LOOKS_LIKE_CHAIN = new RegExp(
  `^(CHAIN|${CHAIN_NAMES.join("|")})_|_(RPC_URL|CONFIRMATIONS|QUORUM|TESTNET_NETWORK|TIMEOUT_MS)$`,
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
  const read = reader(env);
  const port = read.whole("PORT", 0, 65535, 8080);
  const host = read.text("HOST") ?? "127.0.0.1";
  const databaseUrl = read.url("DATABASE_URL", ["postgres:", "postgresql:"]);
  const workers = read.choice("WORKERS", ["on", "off"], "on") === "on";
  const baseUrl = read.url("BASE_URL", ["http:", "https:"]) ??
    `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const config: Config = {
    port,
    host,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    adminUrl: (read.url("ADMIN_URL", ["http:", "https:"]) ?? baseUrl).replace(/\/+$/, ""),
    databaseUrl,
    dataDir: read.text("DATA_DIR") ?? ".data",
    databasePrepare: read.choice("DATABASE_PREPARE", ["on", "off"], "on") === "on",
    databaseConnections: read.whole("DATABASE_CONNECTIONS", 10, 10_000, 40),
    realmRoles: read.choice("REALM_ROLES", ["on", "off"], "on") === "on",
    platformKey: platformKey(read, databaseUrl !== null),
    previousPlatformKey: read.text("PLATFORM_KEY_PREVIOUS"),
    masterKey: masterKey(read, "MASTER_KEY", databaseUrl !== null && workers),
    newMasterKey: masterKey(read, "NEW_MASTER_KEY", false),
    installationEpoch: installationEpoch(read),
    workers,
    pollIntervalMs: read.whole("POLL_INTERVAL_MS", 100, 3_600_000, 5000),
    tokenTtlS: read.whole("TOKEN_TTL_SECONDS", 1, 31_536_000, 86_400),
    ratesUrl: read.url("RATES_URL", ["http:", "https:"])?.replace(/\/+$/, "") ?? null,
    logLevel: read.choice("LOG_LEVEL", ["debug", "info", "warn", "error"], "info"),
    logFormat: read.choice("LOG_FORMAT", ["json", "pretty"], terminal ? "pretty" : "json"),
    trustedProxies: listOf(read.text("TRUSTED_PROXIES")),
    chains: readChains(read, env),
    hotFeeMaxFactor: read.whole("HOT_FEE_MAX_FACTOR", 1, 100, 3),
    assets: readAssets(read),
  };
  for (const name of Object.keys(env)) {
    const meant = misspelt(name, read.known);
    if (meant !== null) read.faults.push(`${name} is not a setting: ${meant} is meant, it seems`);
  }
  if (read.faults.length > 0) throw new ConfigError(read.faults);
  return deepFreeze(config);
}

function reader(env: Readonly<Record<string, string>>): Reader {
  const faults: string[] = [];
  const known = new Set<string>();
  const text = (name: string) => {
    known.add(name);
    return env[name]?.trim() || null;
  };
  return {
    faults,
    known,
    text,
    choice(name, choices, otherwise) {
      const given = text(name);
      const found = choices.find((choice) => choice === given?.toLowerCase());
      if (given !== null && found === undefined) {
        faults.push(
          `${name} is ${JSON.stringify(given)}; one of ${choices.join(", ")} is expected`,
        );
      }
      return found ?? otherwise;
    },
    whole(name, min, max, otherwise) {
      const given = text(name);
      if (given === null) return otherwise;
      const number = /^\d{1,10}$/.test(given) ? Number(given) : NaN;
      if (number >= min && number <= max) return number;
      faults.push(
        `${name} is ${JSON.stringify(given)}; a whole number from ${min} to ${max} is expected`,
      );
      return otherwise;
    },
    url(name, protocols) {
      const given = text(name);
      if (given === null) return null;
      if (URL.canParse(given) && protocols.includes(new URL(given).protocol)) return given;
      // The value itself may hold a password, so it is not shown.
      faults.push(`${name} is not an address that starts with ${protocols.join("// or ")}//`);
      return null;
    },
  };
}

function listOf(text: string | null): string[] {
  return (text ?? "").split(",").map((part) => part.trim()).filter((part) => part !== "");
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
  if (name.length < 8 || known.has(name) || LOOKS_LIKE_CHAIN.test(name)) return null;
  return [...known].find((meant) => {
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
  }])) as Record<ChainName, ChainConfig>;
}

function checkRpcUrl(read: Reader, name: string, url: string): boolean {
  if (URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol)) return true;
  read.faults.push(`${name} holds an address that does not start with http:// or https://`);
  return false;
}

/** One node is never two witnesses, so none may be named twice. */
function quorumOf(read: Reader, prefix: string, urls: readonly string[]): number {
  if (new Set(urls.map((url) => new URL(url).href)).size < urls.length) {
    read.faults.push(`${prefix}_RPC_URL names a node twice`);
  }
  const name = `${prefix}_QUORUM`;
  const quorum = read.whole(name, 1, 100, urls.length > 1 ? 2 : 1);
  if (read.text(name) !== null && quorum > urls.length) {
    read.faults.push(`${name} is ${quorum}, and ${prefix}_RPC_URL names ${urls.length} node(s)`);
  }
  return quorum;
}

/** What may be set of an asset, and what it must look like. */
const ASSET_FIELDS: Readonly<Record<keyof AssetSetting, { is: RegExp; expected: string }>> = {
  contract: { is: /^\S{1,128}$/, expected: "an address" },
  symbol: { is: /^\S.{0,63}$/, expected: "1 to 64 characters" },
  state: {
    is: new RegExp(`^(${ASSET_STATES.join("|")})$`),
    expected: `one of ${ASSET_STATES.join(", ")}`,
  },
  reason: { is: /^\S.{0,499}$/, expected: "1 to 500 characters in one line" },
};

function readAssets(read: Reader): Readonly<Record<string, AssetSetting>> {
  const text = read.text("ASSETS");
  if (text === null) return {};
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    given = null;
  }
  if (!isObject(given)) {
    read.faults.push('ASSETS is not a JSON object such as {"USDC": {"state": "suspended"}}');
    return {};
  }
  for (const key of repeatedKeys(text)) read.faults.push(`ASSETS: ${key} is named twice`);
  for (const [code, setting] of Object.entries(given)) {
    for (const fault of faultsOfAsset(setting)) read.faults.push(`ASSETS: ${code}${fault}`);
  }
  return given as Record<string, AssetSetting>;
}

/** Lists the keys that an object of a JSON text has more than once; parsing keeps the last. */
function repeatedKeys(text: string): string[] {
  const open: Set<string>[] = [];
  const repeated: string[] = [];
  let last = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (token !== ":") last = JSON.parse(token);
    else if (open.at(-1)!.has(last)) repeated.push(last);
    else open.at(-1)!.add(last);
  }
  return repeated;
}

function faultsOfAsset(setting: unknown): string[] {
  if (!isObject(setting)) return [" is not an object of contract, symbol, state, reason"];
  return Object.entries(setting).flatMap(([field, value]) => {
    if (!Object.hasOwn(ASSET_FIELDS, field)) return [`.${field} is not a known setting`];
    const { is, expected } = ASSET_FIELDS[field as keyof AssetSetting];
    if (typeof value === "string" && is.test(value)) return [];
    return [`.${field} is ${JSON.stringify(value)}; ${expected} is expected`];
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
