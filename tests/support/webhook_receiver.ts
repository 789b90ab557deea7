/**
 * A receiver of webhooks on the loopback interface, and the workers that publish and deliver, driven
 * by a test.
 * @module
 */
import { equal } from "node:assert/strict";
import { emit } from "../../domain/events.ts";
import { randomId } from "../../domain/ids.ts";
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import { createLog, type Log } from "../../log.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { openWebhookClient } from "../../workers/gateways/outbound/webhook_client.ts";
import type { DatabaseClock } from "../../workers/installation/database_clock.ts";
import {
  type Deliverer,
  type DelivererOptions,
  openDeliverer,
} from "../../workers/webhooks/deliverer.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";
import { PLATFORM_KEY, type TestRealm } from "./realm.ts";

/** A request that came in. */
export interface Received {
  path: string;
  headers: Headers;
  text: string;
  // Tests look into bodies freely.
  // deno-lint-ignore no-explicit-any
  body: any;
  /** The order of arrival, from 0. */
  n: number;
}

/** A receiver. */
export interface Receiver extends AsyncDisposable {
  url: string;
  received: Received[];
  /** What it answers from now on. */
  answer: (received: Received) => Response | Promise<Response>;
}

/** Opens a receiver that takes everything. */
export function openReceiver(): Receiver {
  const received: Received[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const text = await request.text();
      const { pathname: path } = new URL(request.url);
      const one = {
        ...{ path, text, headers: request.headers, n: received.length },
        body: text === "" ? null : JSON.parse(text),
      };
      received.push(one);
      return await receiver.answer(one);
    },
  );
  const receiver: Receiver = {
    url: `http://127.0.0.1:${server.addr.port}`,
    received,
    answer: () => new Response("thanks"),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return receiver;
}

/** A process that delivers, with a clock of its own. */
export interface TestDeliverer extends AsyncDisposable {
  deliverer: Deliverer;
  /** Publishes and delivers until nothing is due. */
  run(): Promise<void>;
  /** Moves the clock. */
  later(ms: number): void;
  now(): number;
}

/** The settings that let a test's webhooks reach the loopback interface. */
export const PRIVATE = { env: { WEBHOOKS_ALLOW_PRIVATE: "true" } };

/** Options of a process that delivers. */
export interface TestDelivererOptions {
  timeoutMs?: number;
  isApart?: DelivererOptions["isApart"];
  isCrowded?: DelivererOptions["isCrowded"];
  /** Its clock; the machine's unless given. */
  clock?: DatabaseClock;
  log?: Log;
}

/** Opens a process that delivers in a realm. */
export function openTestDeliverer(
  realm: TestRealm,
  { timeoutMs = 60_000, isApart, isCrowded, clock, log }: TestDelivererOptions = {},
): TestDeliverer {
  let ahead = 0;
  const now = () => (clock ?? Date).now() + ahead;
  const deliverer = openDeliverer({
    log: log ?? createLog({ level: "error", format: "pretty" }),
    secrets: openSecrets(PLATFORM_KEY),
    client: openWebhookClient({ allowPrivate: true, timeoutMs }),
    ...{ isApart, isCrowded, now },
    compare: clock?.compare,
  });
  const { signal } = new AbortController();
  return {
    deliverer,
    now,
    later: (ms) => void (ahead += ms),
    async run() {
      const { pool } = realm;
      await extendHashChain(pool, now);
      await publishEvents(pool, now);
      deliverer.deliver({ realm: realm.made.realm, pool, signal });
      await deliverer.settle(60_000);
    },
    [Symbol.asyncDispose]: () => deliverer.stop(),
  };
}

/** Creates a webhook of the administrator for stops. */
export async function hook(realm: TestRealm, receiver: Receiver, path = "") {
  const input = { url: `${receiver.url}${path}`, events: ["stop.set"] };
  const made = await realm.admin.send("POST", "/v1/webhooks", input);
  equal(made.status, 201, made.text);
  const { id, secret } = made.body;
  const at = `/v1/webhooks/${id}`;
  return {
    id,
    secret,
    at,
    read: async () => (await realm.admin.send("GET", at)).body,
    deliveries: async () => (await realm.admin.send("GET", `${at}/deliveries`)).body,
    end: () => realm.admin.send("DELETE", at),
  };
}

/** Emits events about an entity, one transaction each. */
export async function tell(realm: TestRealm, entity: string, ...notes: string[]): Promise<void> {
  for (const note of notes) {
    const view = { id: entity, note };
    await realm.command((tx) => {
      return emit(tx, { at: Date.now() }, "stop.set", { id: entity, owner: null, view });
    });
  }
}

/** The id of an entity that nothing else is told of. */
export const newEntity = () => randomId(Date.now());
/** Answers with a failure. */
export const fail = (status: number) => () => new Response("no", { status });
