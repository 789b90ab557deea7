import { deepEqual, equal, match, throws } from "node:assert/strict";
import { ConfigError, readConfig, takeEnvironment } from "../../config.ts";
import { taskArgs } from "../support/tasks.ts";

const KEYS = {
  DATABASE_URL: "postgres://purser:secret@db.example/purser?sslmode=verify-full",
  PLATFORM_KEY: "0123456789abcdef",
  MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
};

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env, false);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

Deno.test("readConfig() needs nothing", () => {
  const config = readConfig({}, true);
  equal(config.port, 8080);
  equal(config.baseUrl, "http://127.0.0.1:8080");
  equal(config.adminUrl, config.baseUrl);
  equal(config.databaseUrl, null);
  equal(config.logFormat, "pretty");
  deepEqual(config.chains.ETHEREUM.main.rpcUrls, []);
});

Deno.test("readConfig() gives an object that nobody can change", () => {
  const config = readConfig(KEYS, false);
  throws(() => (config as { port: number }).port = 1, TypeError);
  throws(() => (config.chains.TRON.main.rpcUrls as string[]).push("x"), TypeError);
});

Deno.test("readConfig() names every fault at once and shows no secret", () => {
  const faults = faultsOf({
    ...KEYS,
    DATABASE_URL: "mysql://root:hunter2@db",
    PLATFORM_KEY: "hunter2",
    MASTER_KEY: "hunter2",
    PORT: "99999",
    WORKERS: "perhaps",
    DATABASE_CONNECTIONS: "9",
    ETHEREUM_TIMEOUT_MS: "0",
    LOG_LEVEL: "loud",
    TOKEN_TTL_SECONDS: "0",
    ETHEREUM_RPC_URL: "ftp://user:hunter2@node",
    BITCOIN_TESTNET_NETWORK: "moon",
    TRON_GENESIS_HASH: "the first",
  });
  const named = faults.map((fault) => fault.split(" ")[0]).sort();
  deepEqual(named, [
    "BITCOIN_TESTNET_NETWORK",
    "DATABASE_CONNECTIONS",
    "DATABASE_URL",
    "ETHEREUM_RPC_URL",
    "ETHEREUM_TIMEOUT_MS",
    "LOG_LEVEL",
    "MASTER_KEY",
    "PLATFORM_KEY",
    "PORT",
    "TOKEN_TTL_SECONDS",
    "TRON_GENESIS_HASH",
    "WORKERS",
  ]);
  equal(faults.join().includes("hunter2"), false);
});

Deno.test("readConfig() refuses names that resemble a chain's setting", () => {
  for (
    const name of [
      "CHAIN_RPC_URL",
      "ETHERUM_RPC_URL",
      "ETHEREUM_RCP_URL",
      "BITCOINCASH_CONFIRMATIONS",
      "ETHEREUM_GENESIS_HASH",
    ]
  ) {
    deepEqual(faultsOf({ [name]: "1" }), [`${name} is not a known setting of a chain`]);
  }
});

Deno.test("readConfig() reads chains with fallbacks, depths and networks", () => {
  const { BITCOIN, BITCOIN_CASH } = readConfig({
    BITCOIN_RPC_URL: "http://one.example, https://two.example",
    BITCOIN_CONFIRMATIONS: "3",
    BITCOIN_TESTNET_NETWORK: "regtest",
    BITCOIN_CASH_TESTNET_RPC_URL: "http://three.example",
    BITCOIN_CASH_TESTNET_CONFIRMATIONS: "0",
  }, false).chains;
  deepEqual(BITCOIN.main, {
    rpcUrls: ["http://one.example", "https://two.example"],
    confirmations: 3,
    quorum: 2,
  });
  equal(BITCOIN.testnetNetwork, "regtest");
  deepEqual(BITCOIN_CASH.testnet, {
    rpcUrls: ["http://three.example"],
    confirmations: 0,
    quorum: 1,
  });
});

Deno.test("readConfig() refuses more witnesses than there are nodes, and a node named twice", () => {
  const three = "http://one.example,http://two.example,http://three.example";
  const { ETHEREUM } = readConfig({ ETHEREUM_RPC_URL: three, ETHEREUM_QUORUM: "3" }, false).chains;
  equal(ETHEREUM.main.quorum, 3);
  deepEqual(
    faultsOf({
      ETHEREUM_RPC_URL: "http://one.example,http://two.example",
      ETHEREUM_QUORUM: "3",
      ETHEREUM_TESTNET_QUORUM: "1",
      BITCOIN_RPC_URL: "http://one.example,http://one.example/",
      TRON_RPC_URL: "https://key-1@grid.example,https://key-2@grid.example",
      CELO_RPC_URL: "http://one.example",
      CELO_QUORUM: "0",
    }),
    [
      "BITCOIN_RPC_URL names a node twice",
      "ETHEREUM_QUORUM is 3, and ETHEREUM_RPC_URL names 2 node(s)",
      "ETHEREUM_TESTNET_QUORUM is 1, and ETHEREUM_TESTNET_RPC_URL names 0 node(s)",
      'CELO_QUORUM is "0"; a whole number from 1 to 100 is expected',
      "TRON_RPC_URL names a node twice",
    ],
  );
});

Deno.test("readConfig() requires keys with a database of one's own, but no master key to serve", () => {
  const { DATABASE_URL, PLATFORM_KEY } = KEYS;
  equal(faultsOf({ DATABASE_URL }).length, 2);
  equal(faultsOf({ DATABASE_URL, WORKERS: "off" }).length, 1);
  equal(faultsOf({ DATABASE_URL, PLATFORM_KEY, WORKERS: "off" }).length, 0);
});

Deno.test("readConfig() reads the settings of assets", () => {
  const set = { USDC: { state: "suspended", reason: "under review" }, GMC: { contract: "0x1" } };
  deepEqual(readConfig({ ASSETS: JSON.stringify(set) }, false).assets, set);
  deepEqual(readConfig({}, false).assets, {});
});

Deno.test("readConfig() names every fault of the settings of assets", () => {
  for (const text of ["{", "[]", "null", '"USDC"', "1"]) {
    deepEqual(faultsOf({ ASSETS: text }), [
      'ASSETS is not a JSON object such as {"USDC": {"state": "suspended"}}',
    ]);
  }
  const twice =
    '{"USDC": {"reason": "a: {\\"USDC\\": 1}", "state": "active", "state": "suspended"}, ' +
    '"USDT": {"state": "active"}, "\\u0055SDC": {"state": "suspended"}}';
  deepEqual(faultsOf({ ASSETS: twice }), [
    "ASSETS: state is named twice",
    "ASSETS: USDC is named twice",
  ]);
  const set = {
    USDC: { state: "off", decimals: 6, reason: "" },
    USDT: "suspended",
    BAT: { contract: 7, symbol: "two\nlines" },
  };
  deepEqual(faultsOf({ ASSETS: JSON.stringify(set) }), [
    'ASSETS: USDC.state is "off"; one of active, deposit-only, withdraw-only, suspended is expected',
    "ASSETS: USDC.decimals is not a known setting",
    'ASSETS: USDC.reason is ""; 1 to 500 characters in one line is expected',
    "ASSETS: USDT is not an object of contract, symbol, state, reason",
    "ASSETS: BAT.contract is 7; an address is expected",
    'ASSETS: BAT.symbol is "two\\nlines"; 1 to 64 characters is expected',
  ]);
});

Deno.test("keys that nobody has drawn at random are refused", () => {
  for (
    const [name, key] of [
      ["MASTER_KEY", btoa("\0".repeat(32))],
      ["MASTER_KEY", btoa("ab".repeat(16))],
      ["PLATFORM_KEY", "a".repeat(16)],
      ["PLATFORM_KEY", "abababababababababab"],
    ]
  ) {
    const [fault, ...more] = faultsOf({ ...KEYS, [name]: key });
    equal(fault?.split(" ")[0], name);
    deepEqual(more, []);
    equal(fault.includes(key), false);
  }
});

Deno.test("a setting whose name is misspelt is reported, and a foreign variable is not", () => {
  for (
    const [given, meant] of [
      ["PLATFROM_KEY", "PLATFORM_KEY"],
      ["MASTER_KEYS", "MASTER_KEY"],
      ["TRUSTED_PROXY_S", null],
      ["TRUSTED_PROXIE", "TRUSTED_PROXIES"],
      ["DATABASEURL", "DATABASE_URL"],
      ["TOKEN_TTL_SECOND", "TOKEN_TTL_SECONDS"],
      ["LOG_LEVEk", "LOG_LEVEL"],
      ["WORKER", "WORKERS"],
      ["ASSET", "ASSETS"],
      ["HOSTS", null],
      ["PATH", null],
      ["HOSTNAME", null],
      ["KUBERNETES_PORT", null],
    ] as const
  ) {
    const faults = faultsOf({ ...KEYS, [given]: "x" });
    const expected = meant === null
      ? []
      : [`${given} is not a setting: ${meant} is meant, it seems`];
    deepEqual(faults, expected);
  }
});

Deno.test("a database on another machine is not spoken to in plain text unless that is said", () => {
  const at = (DATABASE_URL: string) => faultsOf({ ...KEYS, DATABASE_URL });
  for (const url of ["postgres://u:p@db.example/purser", "postgresql://10.0.0.5:6432/purser"]) {
    const [fault, ...more] = at(url);
    equal(/^DATABASE_URL names another machine and no sslmode/.test(fault), true, fault);
    deepEqual(more, []);
    equal(fault.includes("p@"), false);
  }
  for (
    const url of [
      "postgres://u:p@db.example/purser?sslmode=verify-full",
      "postgres://u:p@database/purser?sslmode=disable",
      "postgres://u:p@localhost/purser",
      "postgres://u:p@127.0.0.1:5433/purser",
      "postgres://u:p@[::1]/purser",
    ]
  ) deepEqual(at(url), [], url);
});

Deno.test("further database servers are named with their port", () => {
  deepEqual(readConfig({ DATABASE_HOSTS: "a.example:5432, [::1]:1" }, false).databaseHosts, [
    ...["a.example:5432", "[::1]:1"],
  ]);
  for (const host of ["a.example", "*:1", "a.example:5432/x", "a b:1"]) {
    deepEqual(faultsOf({ DATABASE_HOSTS: host }), [
      `DATABASE_HOSTS: ${JSON.stringify(host)} is not a host with its port`,
    ]);
  }
});

const TARGETS = {
  DATABASE_URL: "postgres://u:p@127.0.0.1/purser",
  PLATFORM_KEY: "0123456789abcdef",
  WORKERS: "off",
  DATABASE_HOSTS: "eu.example:6432,All.example:5432",
};

Deno.test("new realms are made in the database of their zone, else in the one for all", () => {
  const at = (env: Record<string, string>) =>
    readConfig({ ...TARGETS, ...env }, false).realmTargets;
  const eu = "postgres://u:p@eu.example:6432/realms?sslmode=verify-full";
  const all = "postgresql://u:p@all.example/realms?sslmode=require";
  const forAll = { url: all, setting: "REALM_DATABASE_URL" };
  const forEu = { url: eu, setting: "REALM_DATABASE_URL_EU" };
  deepEqual(at({}), { US: null, EU: null });
  deepEqual(at({ REALM_DATABASE_URL: all }), { US: forAll, EU: forAll });
  deepEqual(at({ REALM_DATABASE_URL: all, REALM_DATABASE_URL_EU: eu }), { US: forAll, EU: forEu });
  deepEqual(at({ REALM_DATABASE_URL: all, REALM_DATABASE_URL_US: "platform" }), {
    ...{ US: null, EU: forAll },
  });
  // Another database of the platform's server is reached without being named.
  const beside = "postgres://u:p@127.0.0.1:5432/realms";
  equal(at({ REALM_DATABASE_URL_EU: beside }).EU?.url, beside);
});

Deno.test("a database for new realms that cannot be meant is refused, and its password is not shown", () => {
  const at = (env: Record<string, string>) => faultsOf({ ...TARGETS, ...env });
  const secret = "p4ssw0rd";
  const eu = `postgres://u:${secret}@eu.example:6432/realms?sslmode=verify-full`;
  for (
    const [env, expected] of [
      [
        { REALM_DATABASE_URL_ASIA: eu },
        /^REALM_DATABASE_URL_ASIA names no zone: there are US and EU$/,
      ],
      [{ REALM_DATABASE_URL_UE: eu }, /^REALM_DATABASE_URL_UE names no zone/],
      [
        { REALM_DATABSE_URL: eu },
        /^REALM_DATABSE_URL is not a setting: REALM_DATABASE_URL is meant/,
      ],
      [
        { REALM_DATABASE_URL: `mysql://u:${secret}@eu.example` },
        /^REALM_DATABASE_URL is not an address/,
      ],
      [
        { REALM_DATABASE_URL_EU: eu.replace(/\?.*/, "") },
        /^REALM_DATABASE_URL_EU names another machine and no sslmode/,
      ],
      [{ REALM_DATABASE_URL_EU: eu.replace("6432", "6433") }, /add eu\.example:6433 there$/],
      [
        { REALM_DATABASE_URL: `postgres://x:${secret}@127.0.0.1:5432/purser` },
        /the platform's own database/,
      ],
    ] as const
  ) {
    const [fault, ...more] = at(env);
    match(fault, expected);
    deepEqual(more, []);
    equal(fault.includes(secret), false);
  }
  // The same database by another name of this machine is not let through, nor is it another database.
  const [own, host] = at({ REALM_DATABASE_URL_US: `postgres://x:${secret}@localhost/purser` });
  match(
    own,
    /^REALM_DATABASE_URL_US names the platform's own database: leave it out, or say platform$/,
  );
  match(host, /add localhost:5432 there$/);
});

Deno.test("a replica has an address as the database has, a bound, and is none of an embedded database", () => {
  const replica = "postgres://u:p@127.0.0.1:5433/purser";
  equal(readConfig(KEYS, false).replica, null);
  deepEqual(readConfig({ ...KEYS, DATABASE_READ_URL: replica }, false).replica, {
    ...{ url: replica, lagMaxMs: 10_000 },
  });
  const longer = { DATABASE_READ_URL: replica, DATABASE_READ_LAG_SECONDS: "60" };
  equal(readConfig({ ...KEYS, ...longer }, false).replica!.lagMaxMs, 60_000);
  for (
    const [settings, expected] of [
      [{ DATABASE_READ_URL: "postgres://u:hunter2@replica.example/purser" }, /no sslmode/],
      [{ DATABASE_READ_URL: "mysql://u:hunter2@127.0.0.1/purser" }, /is not an address/],
      [{ DATABASE_READ_LAG_SECONDS: "4" }, /from 5 to 300/],
      [{ DATABASE_READ_LAG_SECONDS: "301" }, /from 5 to 300/],
    ] as const
  ) {
    const [fault, ...more] = faultsOf({ ...KEYS, ...settings });
    match(fault, expected);
    match(fault, /^DATABASE_READ_/);
    deepEqual([more, fault.includes("hunter2")], [[], false]);
  }
  match(faultsOf({ DATABASE_READ_URL: replica })[0], /^DATABASE_READ_URL needs DATABASE_URL/);
});

Deno.test("secrets are taken out of the environment where they were read, and settings stay", async () => {
  const secrets = [
    ...["DATABASE_URL", "PLATFORM_KEY", "PLATFORM_KEY_PREVIOUS", "MASTER_KEY", "NEW_MASTER_KEY"],
    ...["ETHEREUM_RPC_URL", "LITECOIN_TESTNET_RPC_URL", "RATES_URL"],
    ...["REALM_DATABASE_URL", "REALM_DATABASE_URL_US", "REALM_DATABASE_URL_EU"],
    "DATABASE_READ_URL",
  ];
  const names = [...secrets, "BASE_URL", "PORT", "DENO_DIR"];
  const held = new Map(names.map((name) => [name, `value of ${name}`]));
  const process = {
    toObject: () => Object.fromEntries(held),
    delete: (name: string) => void held.delete(name),
  };
  const env = await takeEnvironment(process);
  for (const name of names) equal(env[name], `value of ${name}`);
  deepEqual([...held.keys()], ["BASE_URL", "PORT", "DENO_DIR"]);
});

Deno.test("every setting of the documentation is in .env.example", async () => {
  const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
  const [page, example] = [
    await read("docs/operations/configuration.md"),
    await read(".env.example"),
  ];
  const cells = page.split("\n").filter((line) => line.startsWith("| `")).map((line) =>
    line.split("|")[1]
  );
  const names = cells.flatMap((cell) => cell.match(/(?<=`)[A-Z][A-Z0-9_]*(?=`)/g) ?? []);
  equal(names.includes("AUDIT_READS"), true);
  const known = new Set([...example.matchAll(/^#? ?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name));
  deepEqual(names.filter((name) => !known.has(name)), []);
});

Deno.test("the launcher names all faults of settings at once, before it starts anything", async () => {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: await taskArgs("start"),
    env: {
      DATA_DIR: "/nowhere/at/all",
      PORT: "eighty",
      ASSETS: `{"NOPE":{}}`,
      TRUSTED_PROXIES: "nowhere",
    },
  }).output();
  equal(success, false);
  const said = new TextDecoder().decode(stderr);
  for (const fault of ["PORT ", "TRUSTED_PROXIES: ", "ASSETS: NOPE is"]) {
    match(said, new RegExp(`- ${fault}`));
  }
});
