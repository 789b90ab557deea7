/**
 * Attestation of realms: confirms that a realm's schema is in the state that a worker left it in, so
 * that it may hand out addresses. Quarantines a realm that was restored alone, or brought from another
 * installation.
 * @module
 */
import {
  attest,
  isRestored,
  lockRealmSteps,
  passOverNumbers,
  type RealmSteps,
  selectRealmSteps,
  selectStanding,
  selectTimeline,
  selectToken,
  setApart,
  upsertRealmSteps,
} from "../../db/realms/attestations.ts";
import { unmarkShared } from "../../db/accounts/own_addresses.ts";
import type { Pool, Tx } from "../../db/database.ts";
import { drawLoginEpoch } from "../../db/realms/realms.ts";
import { locking, reading } from "../../db/transaction.ts";
import { passedTime } from "../../domain/recovery/passed_over.ts";
import { noteEndedLogins } from "../../domain/identity/restored_keys.ts";
import { beginStep, endStep, isExpected } from "../../domain/realms/attestations.ts";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { shareAddresses } from "./address_directory.ts";
import type { WorkerContext } from "../worker_context.ts";

const APART = "the realm was restored alone, or brought from another installation;" +
  " run `deno task reconcile`";

const UNMARKED_AT_ONCE = 5_000;

/** Most ramps that a newer database may have made. */
const NUMBERS_PASSED = 10_000;

/** Attests a realm, unless the whole database is not to be trusted. */
export async function attestRealm(context: WorkerContext, platform: Pool): Promise<void> {
  // Read first: a server that is promoted after the comparison is at another.
  const timeline = await reading(context.pool, selectTimeline);
  if (await context.signer.fault() !== null) return;
  await shareAddresses(context, platform);
  await takeRealmStep(context, platform, timeline);
}

/**
 * Takes a step in a realm's schema after all that is committed there now, and notes it in the platform's record:
 * a schema that has lost any of it is then at a step that nobody expects.
 *
 * @param timeline that of the realm's server when the installation was compared; undefined where it was not
 */
export async function takeRealmStep(
  context: WorkerContext,
  platform: Pool,
  timeline?: string | null,
): Promise<void> {
  const from = await compareRealm(context, platform);
  const step = { from, to: crypto.randomUUID() };
  const begun = await locking(platform, async (tx) => {
    const steps = await lockRealmSteps(tx, context.realm.id);
    if (!isExpected(steps, from)) return false; // another worker went on meanwhile
    await upsertRealmSteps(tx, context.realm.id, beginStep(steps, step));
    return true;
  });
  if (begun) await context.step((tx) => attest(tx, step, timeline));
  // Where another worker was first, its step is as good, and it may end before it notes it.
  const to = await reading(context.pool, selectToken);
  if (to === null) return;
  await locking(platform, async (tx) => {
    const steps = await lockRealmSteps(tx, context.realm.id);
    await upsertRealmSteps(tx, context.realm.id, endStep(steps, { to }));
  });
}

/**
 * Compares a realm before jobs of it begin, which may sign, send or give back. Where the token is the
 * expected one this costs one read.
 *
 * @param token the token of the schema when the jobs were taken
 */
export async function confirmRealm(
  context: WorkerContext,
  platform: Pool,
  token: string | null,
): Promise<void> {
  const steps = await reading(platform, (db) => selectRealmSteps(db, context.realm.id));
  if (!isExpected(steps, token)) await compareRealm(context, platform);
}

/**
 * Compares a realm's schema with the platform's record of it, and puts all ramps of a realm that
 * differs into quarantine. Every login of it ends: revocations may be lost with the rest.
 *
 * @returns the token of the schema
 */
export async function compareRealm(context: WorkerContext, platform: Pool): Promise<string | null> {
  const { id } = context.realm;
  const readToken = () => reading(context.pool, selectToken);
  let token: string | null;
  let found: RealmSteps;
  let later = await readToken();
  do {
    token = later;
    found = await locking(platform, (tx) => lockRealmSteps(tx, id));
    if (isExpected(found, token)) return token;
    // The platform records a step before a worker takes it, so a token that stays unknown is not a
    // worker's.
    later = await readToken();
  } while (later !== token);
  const { ramps, isNews, isNoted } = await context.step(async (tx) => {
    const isNews = !await isRestored(tx); // the command has ended the logins of one that it has restored
    const isNoted = (await selectStanding(tx)).apart; // another worker may have found it at the same moment
    const ramps = await quarantine(tx, context.actor, null, APART);
    await passOverNumbers(tx, NUMBERS_PASSED, passedTime(context.actor.at));
    await setApart(tx, true);
    return { ramps, isNews, isNoted };
  });
  // The directory of addresses may be older than the schema, or another installation's: each is entered anew.
  while (await context.step((tx) => unmarkShared(tx, UNMARKED_AT_ONCE)) === UNMARKED_AT_ONCE);
  if (ramps.length > 0) {
    context.log("error", "ramps are in quarantine", { realm: id, detail: APART });
  }
  // Apart from the quarantine, which must not fail where many log in; before they end, so that none of after counts as ended.
  if (!isNoted) {
    await context.step((tx) => noteEndedLogins(tx, context.actor.at)).catch((error) =>
      context.log("warn", "lists show logins that have ended", { realm: id, error })
    );
  }
  const isFirst = await locking(platform, (tx) => acceptStep(tx, id, { token, found, isNews }));
  if (isFirst && isNews) {
    context.log("error", "every login of a realm has ended", { realm: id, detail: APART });
  }
  return token;
}

/**
 * Makes the platform expect a realm where it was found, and ends its logins: once for each time that it is found elsewhere, and
 * only by who could write there. A process whose connections are still to the place that a realm has left cannot.
 *
 * @returns false where the steps are others by now: another worker was first
 */
async function acceptStep(
  tx: Tx,
  realm: string,
  { token, found, isNews }: { token: string | null; found: RealmSteps; isNews: boolean },
): Promise<boolean> {
  const steps = await lockRealmSteps(tx, realm);
  if (JSON.stringify(steps) !== JSON.stringify(found)) return false;
  if (isNews) await drawLoginEpoch(tx, realm);
  await upsertRealmSteps(tx, realm, { now: token, next: [] });
  return true;
}

/** Attempts to compare a schema that takes a step at the same moment. */
const TRIES_MAX = 3;

/**
 * Whether a realm waits for its reconciliation, because its schema was restored alone or brought from
 * another installation: it is older than what the world was told of it, or told by another one.
 */
export async function isRealmApart(
  platform: Pool,
  { realm, pool }: { realm: { id: string }; pool: Pool },
): Promise<boolean> {
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const { token, apart } = await reading(pool, selectStanding);
    if (apart) return true;
    const steps = await reading(platform, (db) => selectRealmSteps(db, realm.id));
    if (isExpected(steps, token)) return false;
  }
  return true;
}
