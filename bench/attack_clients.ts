/**
 * Attackers, in a process of their own so that what they cost is not the probe's: keeps one attack up
 * until it is told to end (SIGTERM), then prints how often it was answered, by status.
 *
 * Arguments: attack, address of the service; the keys are in ATTACK_KEYS.
 *
 * @module
 */

/** Means of an attacker. */
export interface AttackKeys {
  /** Of a user of role user and scope own. */
  user: string;
  /** Of the realm's administrator, for searches over all that the realm has. */
  admin: string;
  application: string;
  realmKey: string;
  realm: string;
}

/** Clients of one kind: each sends again as soon as it is answered, after a pause. */
export interface Clients {
  clients: number;
  pauseMs: number;
  send(url: string, keys: AttackKeys, count: number): Promise<Response>;
}

const MEGABYTE = 1_000_000;
const DIGITS = `{"a":[${"1,".repeat(MEGABYTE / 2 - 8)}1]}`;
const LONG_NUMBERS = `{"data":{"a":[${`${"123456789.".padEnd(900, "1")},`.repeat(1100)}1]}}`;
const WORDS = Array.from({ length: 100 }, (_, i) => ({ "data.text": { $contains: `zzz${i}` } }));
const SEARCH = encodeURIComponent(JSON.stringify({ $or: WORDS }));

/** The attacks by name. */
export const ATTACKS: Readonly<Record<string, Clients>> = {
  "1 MB bodies without a key": {
    clients: 4,
    pauseMs: 20,
    send: (url) => post(`${url}/v1/auth/login`, "x", DIGITS),
  },
  "1 MB of digits, by a user": {
    clients: 4,
    pauseMs: 500,
    send: (url, { user }) => post(`${url}/v1/transactions`, user, LONG_NUMBERS),
  },
  "passwords to digest": {
    clients: 32,
    pauseMs: 250,
    send: (url, { user, realm }, count) => {
      const body = JSON.stringify({ username: "x", password: `a long enough password ${count}` });
      const id = `01a1fb9d-f797-7000-8000-${count.toString(16).padStart(12, "0")}`;
      return count % 2 === 0
        ? post(`${url}/v1/users/${id}`, user, body, { method: "PATCH" })
        : post(`${url}/v1/realms/${realm}/users`, user, body);
    },
  },
  "searches through everything": {
    clients: 12,
    pauseMs: 5,
    send: (url, { admin }) =>
      fetch(`${url}/v1/transactions/count?scope=all&query=${SEARCH}`, {
        headers: { "x-api-key": admin },
      }),
  },
  "creates that wait": {
    clients: 300,
    pauseMs: 50,
    send: (url, { user }) =>
      post(`${url}/v1/accounts`, user, '{"type":"ramp","asset":"ETH"}', {
        headers: { prefer: "wait=30" },
      }),
  },
  "wrong logins": {
    clients: 50,
    pauseMs: 5,
    send: (url, { application, realmKey }, count) => {
      const login = { realm_key: realmKey, username: `nobody${count}`, password: "wrong" };
      return post(`${url}/v1/auth/login`, application, JSON.stringify(login));
    },
  },
  "bodies that never end": {
    clients: 500,
    pauseMs: 1000,
    send: (url, { user }) => post(`${url}/v1/transactions`, user, endless()),
  },
  "unknown paths": {
    clients: 32,
    pauseMs: 5,
    send: (url, _keys, count) => fetch(`${url}/v1/nothing/${count}`),
  },
  "lists that nobody reads": {
    clients: 100,
    pauseMs: 50,
    send: (url, { admin }) => leaveUnread(url, "/v1/transactions/all?scope=all&limit=500", admin),
  },
};

/** How long an answer is left unread. */
const UNREAD_MS = 5000;
/** Requests of a connection whose answers are left unread: more than the system's buffers take. */
const UNREAD = 20;

/** Sends requests over a connection of its own, reads no byte of the answers, and leaves. */
async function leaveUnread(url: string, path: string, key: string): Promise<Response> {
  const { hostname, port, host } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const request = `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${key}\r\n\r\n`;
  const requests = new TextEncoder().encode(request.repeat(UNREAD));
  for (let at = 0; at < requests.length;) at += await connection.write(requests.subarray(at));
  await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
  return new Response(); // nobody knows what was answered
}

function post(
  url: string,
  key: string,
  body: BodyInit,
  more: { method?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  const headers = { "x-api-key": key, "content-type": "application/json", ...more.headers };
  return fetch(url, { method: more.method ?? "POST", headers, body });
}

/** A body of which a byte comes each second. */
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      controller.enqueue(new Uint8Array([0x20]));
    },
  });
}

/** Keeps clients at work until the process ends. */
export async function keepUp(
  { clients, pauseMs, send }: Clients,
  url: string,
  keys: AttackKeys,
): Promise<void> {
  const answers: Record<string, number> = {};
  let count = 0;
  Deno.addSignalListener("SIGTERM", () => {
    const answered = Object.values(answers).reduce((sum, times) => sum + times, 0);
    console.log(JSON.stringify({ ...answers, "waiting still": count - answered }));
    Deno.exit(0);
  });
  await Promise.all(Array.from({ length: clients }, async () => {
    for (;;) {
      const kind = await send(url, keys, count++).then(async (response) => {
        await response.body?.cancel();
        return `${response.status}`;
      }, () => "cut off");
      answers[kind] = (answers[kind] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }));
}

if (import.meta.main) {
  const [name, url] = Deno.args;
  await keepUp(ATTACKS[name], url, JSON.parse(Deno.env.get("ATTACK_KEYS")!));
}
