/**
 * The fixture on which plans are played: a realm, two serving processes' worth of app on its database,
 * and people who act. Each plan gets currencies and accounts of its own.
 *
 * @module
 */
import { openDatabase } from "../../db/database.ts";
import { expireDueBlocks } from "../../domain/ledger/blocks.ts";
import { newId } from "../../domain/ids.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { openRealmContexts } from "../../domain/realms/context.ts";
import { appendLinks } from "../../domain/audit/hash_chain.ts";
import { type App, createApp } from "../../routes/http/app.ts";
import { databaseClock } from "../support/clock.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { PLATFORM_KEY, type TestRealm, testRealm } from "../support/realm.ts";
import type { Ledger, Person, Seen } from "./ledger_model_state.ts";
import { emptyLedger, unitsOf, WORLD } from "./ledger_model_state.ts";
import { FUNDS } from "./random_plan.ts";
import { type Cut, startProxy } from "./cut_connection_proxy.ts";

/** A person of the fixture with a key. */
export interface Player extends Person {
  key: string;
}

/** One serving process's worth of the service. */
export interface Instance extends AsyncDisposable {
  send(key: string, method: string, path: string, body?: unknown, idem?: string): Promise<Seen>;
  /** Cuts its connections to the database, in whatever they are doing. */
  cut(which: Cut): number;
  /** How often a batch of its queues had to be run again because it lost a race. */
  retries(): number;
  /** How many batches its queues sent behind one in flight. */
  pipelined(): number;
}

/** The clock of a fixture: it goes on from age to age where a plan says so, and only there. */
export interface Clock {
  now(): number;
  /** The age that has certainly begun, and the one that may have. */
  age(): number;
  ageAtMost(): number;
  /** Goes on to the next age, also in the database. */
  pass(): Promise<void>;
  /** A time that is over so many ages from now. */
  after(ages: number): { due: number; expires_at: number };
}

/** Where plans are played. */
export interface Fixture extends AsyncDisposable {
  realm: TestRealm;
  instances: readonly Instance[];
  players: readonly Player[];
  clock: Clock;
  seal(): Promise<void>;
  /** Closes the blocks that are over, as the timetable does; tells how many, and in which age. */
  expire(): Promise<{ expired: number; age: number }>;
}

/** The scene of one plan. */
export interface Scene {
  accounts: readonly string[];
  /** Begins the aliases and addresses of the accounts. */
  prefix: string;
  /** The transactions that made it. */
  founding: readonly string[];
  /** Names of the two currencies, the one of most accounts first, and that one's id. */
  currencies: readonly string[];
  currency: string;
  start: Ledger;
}

const RICH = "1000000000000000000000000000000.000000000000000001";
/** Makes halves to round: 0.375 of 0.02 is 0.0075, and of dust next to nothing. */
const RATE = "0.375";

/** Opens a fixture with so many serving processes. */
export async function openFixture(instances: number): Promise<Fixture> {
  const realm = await testRealm();
  const clock = await startClock(realm);
  const opened = Array.from({ length: instances }, () => openInstance(realm, clock.now));
  const reader = await realm.user({ scope: "realm" });
  const owner = await realm.user();
  const player = (user: { id: string; key: string }, reads: boolean, writes: boolean) => ({
    id: user.id,
    key: user.key,
    reads,
    writes,
  });
  return {
    realm,
    instances: opened,
    players: [
      player(realm.admin, true, true),
      player(reader, true, false),
      player(owner, false, false),
    ],
    clock,
    expire: () =>
      realm.command(async (tx) => {
        const [{ age }] = await tx<{ age: number }[]>`select value::int as age from test_clock`;
        return { expired: await expireDueBlocks(tx), age };
      }, { lockLedger: true }),
    async seal() {
      const at = Date.now();
      await realm.command((tx) => appendLinks(tx, { ...realm.admin.actor, at }, 1000));
    },
    async [Symbol.asyncDispose]() {
      for (const instance of opened) await instance[Symbol.asyncDispose]();
      await realm[Symbol.asyncDispose]();
    },
  };
}

/** Short, so that keys outlive many of them. */
const AGE_MS = 4_000;

async function startClock(realm: TestRealm): Promise<Clock> {
  const start = Date.now();
  // Within an age it stands still in time, so that none is left before a plan says so.
  const set = await databaseClock(
    realm,
    `${start} + value * ${AGE_MS} + least(real - ${start}, ${AGE_MS / 4})`,
  );
  let age = 0;
  let ageAtMost = 0;
  let passing: Promise<void> = Promise.resolve();
  return {
    now: () => start + age * AGE_MS + Math.min(Date.now() - start, AGE_MS / 4),
    age: () => age,
    ageAtMost: () => ageAtMost,
    async pass() {
      passing = passing.then(async () => {
        await set(++ageAtMost);
        age = ageAtMost;
      });
      await passing;
    },
    after(ages) {
      const due = age + ages;
      return { due, expires_at: start + due * AGE_MS - AGE_MS / 2 };
    },
  };
}

/** So few clients would seldom have a batch sent behind another: whatever waits is. */
const PIPELINED = { mayPipeline: () => true };

/** The app on pools of its own, as another process would have it, behind a proxy of its own. */
function openInstance(realm: TestRealm, now: () => number): Instance {
  const proxy = startProxy(testDatabaseUrl());
  const database = openDatabase({ url: proxy.url, prepare: true, parseJson: parseStoredJson });
  const services = {
    ...realm.services,
    platform: database.platform,
    realms: openRealmContexts(database, now, { queues: PIPELINED }),
    now,
  };
  const sum = (of: "retries" | "pipelined") =>
    services.realms.queues().reduce((total, queue) => total + queue.stats()[of], 0);
  const app = createApp(services, PLATFORM_KEY);
  return {
    send: (key, method, path, body, idem) => send(app, { key, method, path, body, idem }),
    cut: proxy.cut,
    retries: () => sum("retries"),
    pipelined: () => sum("pipelined"),
    async [Symbol.asyncDispose]() {
      await database.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

async function send(
  app: App,
  asked: { key: string; method: string; path: string; body?: unknown; idem?: string },
): Promise<Seen> {
  const { key, method, path, body, idem } = asked;
  const request = new Request(`http://purser.test${path}`, {
    method,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: {
      "x-api-key": key,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idem === undefined ? {} : { "idempotency-key": idem }),
    },
  });
  const response = await app(request, "127.0.0.1");
  const text = await response.text();
  return {
    status: response.status,
    text,
    body: JSON.parse(text),
    replayed: response.headers.get("idempotency-replayed") === "true",
  };
}

/** Another name of an account of a scene, or, with a number below zero, of none. */
export function otherName(prefix: string, how: "alias" | "address", index: number): string {
  return `${prefix}-${how}-${index < 0 ? "nobody" : index}`;
}

/**
 * Makes what one plan needs: an account with more of a currency than 64 bits count, four with little
 * of it (one of them another person's), and one of another currency; each with an alias and an
 * assigned address. What earlier plans left blocked for a while is over by then.
 */
export async function openScene(fixture: Fixture): Promise<Scene> {
  const { realm, clock, players: [admin, , owner] } = fixture;
  await clock.pass();
  await clock.pass();
  await fixture.expire();
  const make = async (path: string, body: unknown, key = admin.key) => {
    const seen = await fixture.instances[0].send(key, "POST", path, body);
    if (seen.status !== 201) throw new Error(`${path}: ${seen.text}`);
    return seen.body;
  };
  const prefix = crypto.randomUUID().slice(0, 8);
  const terms = { supply: RICH, base: "USD", rate: RATE };
  const rich = await make("/v1/currencies", { name: `R${prefix}`, ...terms });
  const poor = await make("/v1/currencies", { name: `P${prefix}`, supply: FUNDS });
  const little: string[] = [];
  for (const key of [admin.key, admin.key, admin.key, owner.key]) {
    little.push((await make("/v1/accounts", { type: "virtual", asset: rich.name }, key)).id);
  }
  await realm.drain();
  const founding: string[] = [rich, poor].map(({ issuing }) => issuing[0].reference);
  for (const account of little) {
    const source = { account: rich.account };
    const move = { source, destination: { account }, value: FUNDS };
    founding.push((await make("/v1/transactions", move)).id);
  }
  const accounts = [rich.account, ...little, poor.account];
  for (const [i, account] of accounts.entries()) {
    const alias = otherName(prefix, "alias", i);
    await make("/v1/aliases", { type: "account", alias, account }, i === 4 ? owner.key : admin.key);
  }
  await assignAddresses(realm, accounts.map((_, i) => otherName(prefix, "address", i)), accounts);
  const scene = { accounts, prefix, founding, currencies: [rich.name, poor.name] };
  return { ...scene, currency: rich.id, start: startOf(scene, admin, owner) };
}

/** The rules of an address that those of the fixture break. */
const RULES = ["addresses_fit", "addresses_stock"];

/** Assigns addresses to accounts that are of no chain, which the API would not, and the database refuses. */
async function assignAddresses(
  realm: TestRealm,
  addresses: readonly string[],
  accounts: readonly string[],
): Promise<void> {
  const { schema_name } = realm.made.realm;
  await realm.database.platform.sql.begin(async (tx) => {
    await tx`set local search_path to ${tx(schema_name)}`;
    for (const rule of RULES) await tx.unsafe(`alter table addresses disable trigger ${rule}`);
    const at = Date.now();
    const ramp = newId(at);
    await tx`
      insert into ramps (account, chain, network, number, created_at)
      select ${ramp}, 'ETHEREUM', 'testnet', coalesce(max(number) + 1, 0), now() from ramps`;
    for (const [i, account] of accounts.entries()) {
      await tx`
        insert into addresses (id, account, ramp, target_account, chain, network, address, derivation_key,
          asset, created_at)
        values (${newId(at)}, ${newId(at)}, ${ramp}, ${account}, 'ETHEREUM', 'testnet',
          ${addresses[i]}, ${i}, 'ETH', now())`;
    }
    await tx`set constraints all immediate`;
    for (const rule of RULES) await tx.unsafe(`alter table addresses enable trigger ${rule}`);
  });
}

/** The model of a scene that nothing has been done with. */
function startOf(
  { accounts, founding, currencies: [rich, poor] }: Omit<Scene, "start" | "currency">,
  admin: Player,
  owner: Player,
): Ledger {
  const whole = unitsOf(RICH)!;
  const part = unitsOf(FUNDS)!;
  const totals = [whole - 4n * part, part, part, part, part, part];
  const states = accounts.map((id, i) =>
    [id, {
      asset: i === 5 ? poor : rich,
      owner: i === 4 ? owner.id : admin.id,
      total: totals[i],
      blocked: 0n,
      frozen: false,
      active: true,
    }] as const
  );
  const issue = {
    type: "issue",
    owner: admin.id,
    source: WORLD,
    destination: accounts[0],
    amount: whole,
    reverted: false,
  };
  return {
    ...emptyLedger(),
    accounts: new Map(states),
    moves: new Map([[founding[0], issue]]),
    issued: new Map([[rich, whole], [poor, part]]),
    rates: new Map([[rich, RATE]]),
  };
}
