/**
 * Limits of wrong logins. In a minute: 5 for one name from one network, 30 from one network, and 100 for
 * one name from networks where it never logged in. Attempts from elsewhere lock nobody out. A name counts by
 * the digest of its text, whether such a user exists or not.
 * @module
 */
import { hash } from "node:crypto";
import type { Pool, Tx } from "../../db/database.ts";
import { type AttemptRow, closeAttempt, insertAttempt } from "../../db/security/sessions.ts";
import { locking } from "../../db/transaction.ts";
import { DomainError } from "../errors.ts";
import { foldName } from "../names.ts";

/** The name and network whose attempts are counted. */
export interface LoginSubject {
  /** The name or e-mail address as given. */
  name: string;
  /** The caller's network: an IPv4 address, or the /64 of an IPv6 address. */
  network: string;
}

/** An attempt whose password is being checked, with the marks of its subjects. */
export interface LoginAttempt {
  places: { subject: string; mark: string }[];
  /** The subject of name and network together, which remembers a successful login. */
  pair: string;
  /** Whether there was one in the last 30 days. */
  isKnown: boolean;
}

/** Refusal after too many wrong logins of a name or a network. */
export class LoginRefusal extends DomainError {
  /** Names the pause in seconds, and whether it holds for every name from the network. */
  constructor(readonly retryAfterS: number, readonly everyName: boolean) {
    super("rate.limited", "too many wrong logins: wait a minute", { retryAfterS });
  }
}

/** Other attempts of the same subject are being checked. */
class Busy extends Error {}

const WRONG_PER_PAIR = 5;
const WRONG_PER_NETWORK = 30;
const WRONG_PER_NAME = 100;
const WAITS_MAX = 200;

/**
 * Registers an attempt of a name and a network, before its password is checked.
 *
 * @param rest waits a little, while other attempts of the same subject are being checked
 * @throws {DomainError} rate.limited, service.overloaded
 */
export async function beginAttempt(
  pool: Pool,
  { name, network }: LoginSubject,
  rest: () => Promise<void>,
): Promise<LoginAttempt> {
  // Spellings by which the same user is found count as one.
  const digest = hash("sha256", foldName(name), "hex").slice(0, 32);
  const subjects = { network, pair: `${digest} ${network}`, name: digest };
  for (let waits = 0; waits < WAITS_MAX; waits++) {
    try {
      return await locking(pool, (tx) => take(tx, subjects));
    } catch (error) {
      if (!(error instanceof Busy)) throw error;
    }
    await rest();
  }
  throw new DomainError("service.overloaded", "too many logins at once: try again shortly", {
    retryAfterS: 1,
  });
}

/**
 * Registers the attempt with all its subjects or none; every process locks the rows in the same
 * order.
 */
async function take(
  tx: Tx,
  subjects: { network: string; pair: string; name: string },
): Promise<LoginAttempt> {
  const network = await insertAttempt(tx, subjects.network, WRONG_PER_NETWORK);
  assertOpen(network, true);
  const pair = await insertAttempt(tx, subjects.pair, WRONG_PER_PAIR);
  assertOpen(pair, false);
  const name = await insertAttempt(tx, subjects.name, WRONG_PER_NAME);
  if (!pair.known) assertOpen(name, false);
  const places = Object.entries({ network, pair, name }).flatMap(([kind, { mark }]) =>
    mark === null ? [] : [{ subject: subjects[kind as keyof typeof subjects], mark }]
  );
  return { places, pair: subjects.pair, isKnown: pair.known };
}

function assertOpen({ state, retry_after_s }: AttemptRow, everyName: boolean): void {
  if (state === "refused") throw new LoginRefusal(Math.max(1, retry_after_s), everyName);
  if (state === "busy") throw new Busy();
}

/**
 * Checks an attempt. Where it could not be checked, or is refused for another reason than being wrong, it is undone: who
 * sends it again is not kept waiting by it.
 */
export async function checkAttempt<T>(
  pool: Pool,
  { places }: LoginAttempt,
  check: () => Promise<T>,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    await locking(pool, async (tx) => {
      for (const place of places) await closeAttempt(tx, { ...place, wrong: false, right: false });
    });
    throw error;
  }
}

/** Closes the attempt; only a wrong login continues to count, and a right one makes the pair known. */
export async function endAttempt(
  pool: Pool,
  { places, pair }: LoginAttempt,
  wrong: boolean,
): Promise<void> {
  await locking(pool, async (tx) => {
    for (const place of places) {
      await closeAttempt(tx, { ...place, wrong, right: !wrong && place.subject === pair });
    }
  });
}
