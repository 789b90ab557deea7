/**
 * The stage on which plans are played: a realm, two serving processes' worth of app on its database,
 * and people who act. Each plan gets currencies and accounts of its own.
 *
 * @module
 */
import { openDatabase } from "../../db/database.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { openRealmContexts } from "../../domain/realm_context.ts";
import { sealNext } from "../../domain/seals.ts";
import { type App, createApp } from "../../routes/app.ts";
import { PLATFORM_KEY, testDatabaseUrl, type TestRealm, testRealm } from "../support/realm.ts";
import type { Ledger, Person, Seen } from "../support/model_book.ts";
import { emptyLedger, unitsOf } from "../support/model_book.ts";
import { FUNDS } from "./plan.ts";
import { type Cut, startProxy } from "./proxy.ts";

/** A person of the stage with a key. */
export interface Player extends Person {
  key: string;
}

/** One serving process's worth of the service. */
export interface Instance extends AsyncDisposable {
  send(key: string, method: string, path: string, body?: unknown, idem?: string): Promise<Seen>;
  /** Cuts its connections to the database, in whatever they are doing. */
  cut(which: Cut): number;
  /** How often a batch of its lanes had to be run again because it lost a race. */
  retries(): number;
}

/** Where plans are played. */
export interface Stage extends AsyncDisposable {
  realm: TestRealm;
  instances: readonly Instance[];
  players: readonly Player[];
  seal(): Promise<void>;
}

/** What one plan is played with. */
export interface Scene {
  accounts: readonly string[];
  /** Names of the two currencies, the one of most accounts first, and that one's id. */
  currencies: readonly string[];
  currency: string;
  start: Ledger;
}

const RICH = "1000000000000000000000000000000.000000000000000001";
/** Makes halves to round: 0.375 of 0.02 is 0.0075, and of dust next to nothing. */
const RATE = "0.375";

/** Opens a stage with so many serving processes. */
export async function openStage(instances: number): Promise<Stage> {
  const realm = await testRealm();
  const opened = Array.from({ length: instances }, () => openInstance(realm));
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
    async seal() {
      const at = Date.now();
      await realm.command((tx) => sealNext(tx, { ...realm.admin.actor, at }, 1000));
    },
    async [Symbol.asyncDispose]() {
      for (const instance of opened) await instance[Symbol.asyncDispose]();
      await realm[Symbol.asyncDispose]();
    },
  };
}

/** The app on pools of its own, as another process would have it, behind a proxy of its own. */
export function openInstance(realm: TestRealm): Instance {
  const proxy = startProxy(testDatabaseUrl());
  const database = openDatabase({ url: proxy.url, prepare: true, parseJson: parseStoredJson });
  const services = {
    ...realm.services,
    platform: database.platform,
    realms: openRealmContexts(database, Date.now),
  };
  const app = createApp(services, PLATFORM_KEY);
  return {
    send: (key, method, path, body, idem) => send(app, { key, method, path, body, idem }),
    cut: proxy.cut,
    retries: () => services.realms.lanes().reduce((sum, lane) => sum + lane.stats().retries, 0),
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

/**
 * Makes what one plan needs: an account with more of a currency than 64 bits count, four with little
 * of it (one of them another person's), and one of another currency.
 */
export async function openScene(stage: Stage): Promise<Scene> {
  const { realm, players: [admin, , owner] } = stage;
  const make = async (path: string, body: unknown, key = admin.key) => {
    const seen = await stage.instances[0].send(key, "POST", path, body);
    if (seen.status !== 201) throw new Error(`${path}: ${seen.text}`);
    return seen.body;
  };
  const [rich, poor] = ["R", "P"].map((letter) => letter + crypto.randomUUID().slice(0, 8));
  const terms = { supply: RICH, base: "USD", rate: RATE };
  const { id, account: first } = await make("/v1/currencies", { name: rich, ...terms });
  const { account: last } = await make("/v1/currencies", { name: poor, supply: FUNDS });
  const little: string[] = [];
  for (const key of [admin.key, admin.key, admin.key, owner.key]) {
    little.push((await make("/v1/accounts", { type: "virtual", asset: rich }, key)).id);
  }
  await realm.drain();
  for (const account of little) {
    await make("/v1/transactions", {
      source: { account: first },
      destination: { account },
      value: FUNDS,
    });
  }
  const whole = unitsOf(RICH)!;
  const part = unitsOf(FUNDS)!;
  const state = (asset: string, by: Player, total: bigint) => ({
    asset,
    owner: by.id,
    total,
    blocked: 0n,
    frozen: false,
    active: true,
  });
  return {
    accounts: [first, ...little, last],
    currencies: [rich, poor],
    currency: id,
    start: {
      ...emptyLedger(),
      accounts: new Map([
        [first, state(rich, admin, whole - 4n * part)],
        ...little.map((id, i) => [id, state(rich, i < 3 ? admin : owner, part)] as const),
        [last, state(poor, admin, part)],
      ]),
      issued: new Map([[rich, whole], [poor, part]]),
      rates: new Map([[rich, RATE]]),
    },
  };
}
