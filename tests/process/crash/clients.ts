/**
 * Clients that do not give up: each sends one request after the other, every one under a key of its
 * own, and repeats it until it is answered, whatever dies meanwhile.
 *
 * @module
 */
import type { CrashRealm, Serving } from "./service.ts";

/** A request under a key, and the one answer that it got. */
export interface Acknowledged {
  path: string;
  body: string;
  key: string;
  status: number;
  text: string;
}

/** Clients at work. */
export interface Load {
  acknowledged: Acknowledged[];
  /** Longest time in which nothing was answered, since it was last asked for, in milliseconds. */
  silence(): number;
  /** Requests that had to be sent again, and answers that were told to be repeats. */
  stats: { repeats: number; replays: number };
  /** Settled once so many more requests have been answered, or once a client has failed. */
  more(count: number): Promise<void>;
  /** Lets every client finish its request. @throws what a client found wrong */
  finish(): Promise<void>;
}

/** Longest wait for an answer; a request that has none by then is sent again. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Until a request is sent again: without it clients would take the processors from what comes back. */
const AGAIN_MS = 20;
const BLOCKS_KEPT = 5;

/** Sets clients to work. */
export function startLoad(service: Serving, realm: CrashRealm, clients: number): Load {
  const acknowledged: Acknowledged[] = [];
  const stats = { repeats: 0, replays: 0 };
  const waiting: { at: number; resolve: () => void }[] = [];
  const blocks: { account: string; id: string }[] = [];
  let finishing = false;
  let last = performance.now(), longest = 0;
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // told by finish() and more()

  async function client(): Promise<void> {
    while (!finishing) {
      const { path, body } = nextRequest(realm, blocks);
      const asked = { path, body: JSON.stringify(body), key: crypto.randomUUID() };
      const answer = await insist(service, realm.key, asked, stats);
      acknowledged.push({ ...asked, ...answer });
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
      note(blocks, path, answer);
      for (const one of waiting.splice(0)) {
        if (acknowledged.length >= one.at) one.resolve();
        else waiting.push(one);
      }
    }
  }

  const working = Promise.all(Array.from({ length: clients }, client));
  working.catch(failed.reject);
  return {
    acknowledged,
    stats,
    silence() {
      const found = longest;
      longest = 0;
      return found;
    },
    async more(count) {
      const reached = Promise.withResolvers<void>();
      waiting.push({ at: acknowledged.length + count, resolve: reached.resolve });
      await Promise.race([reached.promise, failed.promise]);
    },
    async finish() {
      finishing = true;
      await working;
    },
  };
}

/** Transfers mostly, half of them touching one account; batches, blocks and captures between. */
function nextRequest(
  realm: CrashRealm,
  blocks: { account: string; id: string }[],
): { path: string; body: unknown } {
  const dice = Math.random();
  const [hot, ...others] = realm.accounts;
  const some = () => others[Math.floor(Math.random() * others.length)];
  if (dice < 0.1) {
    return { path: `/v1/accounts/${hot}/blocks`, body: { amount: "0.000000000000000003" } };
  }
  const block = dice < 0.2 ? blocks.shift() : undefined;
  if (block !== undefined) {
    const path = `/v1/accounts/${block.account}/blocks/${block.id}/capture`;
    return { path, body: { destination: { account: some() }, amount: "0.000000000000000001" } };
  }
  if (dice < 0.3) {
    const transactions = Array.from({ length: 5 }, () => move(hot, some()));
    return { path: "/v1/transactions/batch", body: { atomic: dice < 0.25, transactions } };
  }
  const [a, b] = [some(), some()];
  // A refusal is an answer to be kept as well: nobody has as much as this.
  if (dice < 0.33) return { path: "/v1/transactions", body: move(a, hot, "1000000000000") };
  if (dice < 0.6 && a !== b) return { path: "/v1/transactions", body: move(a, b) };
  return { path: "/v1/transactions", body: dice < 0.9 ? move(hot, a) : move(a, hot) };
}

function move(source: string, destination: string, value = anyValue()): unknown {
  return { source: { account: source }, destination: { account: destination }, value };
}

function anyValue(): string {
  return `${Math.floor(Math.random() * 3)}.${1 + Math.floor(Math.random() * 8)}`;
}

function note(
  blocks: { account: string; id: string }[],
  path: string,
  answer: { status: number; text: string },
): void {
  if (!path.endsWith("/blocks") || answer.status !== 201) return;
  const { id, account } = JSON.parse(answer.text);
  if (blocks.length < BLOCKS_KEPT) blocks.push({ id, account });
}

/**
 * Sends a request until it is answered.
 *
 * @throws {Error} if the answer is 500: nothing that dies may be told of in this way
 */
export async function insist(
  service: Serving,
  apiKey: string,
  asked: { path: string; body: string; key: string },
  stats: { repeats: number; replays: number },
): Promise<{ status: number; text: string }> {
  for (;; stats.repeats++) {
    await service.up();
    const answer = await once(service, apiKey, asked);
    if (answer === null || answer.status === 503) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      continue;
    }
    if (answer.status >= 500) throw new Error(`${asked.path}: ${answer.status} ${answer.text}`);
    if (answer.replayed) stats.replays++;
    return { status: answer.status, text: answer.text };
  }
}

/** Sends a request once; null where no whole answer came. */
async function once(
  service: Serving,
  apiKey: string,
  { path, body, key }: { path: string; body: string; key: string },
): Promise<{ status: number; text: string; replayed: boolean } | null> {
  try {
    const response = await fetch(service.url + path, {
      method: "POST",
      headers: {
        "x-api-key": apiKey,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    const replayed = response.headers.get("idempotency-replayed") === "true";
    return { status: response.status, text, replayed };
  } catch {
    return null; // refused, reset, cut off in the middle, or too late
  }
}
