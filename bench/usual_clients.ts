/**
 * Clients that use what an installation offers, with a new value wherever a client may choose one: a process of their
 * own, as {@link keepUp} of the attackers. Arguments: kind, address of the service; the keys are in ATTACK_KEYS.
 *
 * @module
 */
import { type AttackKeys, type Clients, keepUp } from "./attack_clients.ts";

/** The user as whom clients log in. */
export const LOGIN = { username: "attacker", password: "an attacker's password" };

const HOUR_MS = 3_600_000;

/** Kinds of clients by name. */
export const USUAL: Readonly<Record<string, Clients>> = {
  lists: {
    clients: 4,
    pauseMs: 20,
    send: (url, { admin }, count) =>
      get(`${url}/v1/transactions/all?scope=all&limit=100&offset=${count % 900}`, admin),
  },
  "exports that are read": {
    clients: 1,
    pauseMs: 500,
    send(url, { admin }) {
      const to = Date.now();
      const range = `from=${to - HOUR_MS}&to=${to}`;
      return get(`${url}/v1/transactions/all?scope=all&format=csv&${range}`, admin);
    },
  },
  "streams that come and go": { clients: 10, pauseMs: 200, send: leaveStream },
  logins: {
    clients: 2,
    pauseMs: 300,
    send: (url, { application, realmKey }) =>
      post(`${url}/v1/auth/login`, application, { ...LOGIN, realm_key: realmKey }),
  },
  "accounts with names of their own": {
    clients: 2,
    pauseMs: 50,
    send: (url, { admin }, count) =>
      post(`${url}/v1/accounts`, admin, {
        type: "virtual",
        asset: "BENCH",
        data: { [`field${count}`]: count },
      }),
  },
  "keys and headers that nobody knows": {
    clients: 4,
    pauseMs: 20,
    send(url, { user }, count) {
      const unknown = `${count.toString(16).padStart(12, "0")}`;
      const key = count % 2 === 0 ? user : `key_01a1fb9d-f797-7000-8000-${unknown}_${unknown}`;
      return fetch(`${url}/v1/nothing${count}/${unknown}`, {
        method: count % 3 === 0 ? "POST" : "GET",
        headers: {
          "x-api-key": key,
          "x-request-id": crypto.randomUUID(),
          "user-agent": `client ${count}`,
          [`x-unknown-${count}`]: unknown,
        },
      });
    },
  },
};

function get(url: string, key: string): Promise<Response> {
  return drained(fetch(url, { headers: { "x-api-key": key } }));
}

function post(url: string, key: string, body: unknown): Promise<Response> {
  const headers = {
    "x-api-key": key,
    "content-type": "application/json",
    "idempotency-key": crypto.randomUUID(),
  };
  return drained(fetch(url, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** An answer that was read to its end. */
async function drained(asked: Promise<Response>): Promise<Response> {
  const { body, status } = await asked;
  for await (const _ of body ?? []);
  return new Response(null, { status });
}

/** Listens to events for a moment. */
async function leaveStream(url: string, { admin }: AttackKeys): Promise<Response> {
  const answer = await fetch(`${url}/v1/events`, { headers: { "x-api-key": admin } });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return answer; // whose body is canceled
}

if (import.meta.main) {
  const [name, url] = Deno.args;
  await keepUp(USUAL[name], url, JSON.parse(Deno.env.get("ATTACK_KEYS")!));
}
