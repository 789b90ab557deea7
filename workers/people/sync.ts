/** The job that synchronises persons with identities, page by page. @module */
import { reading } from "../../db/transaction.ts";
import type { SyncRow } from "../../db/people/syncs.ts";
import type { Tx } from "../../db/database.ts";
import { queueMessage } from "../../domain/messages/messages.ts";
import { userRecipient } from "../../domain/messages/recipients.ts";
import { DomainError } from "../../domain/errors.ts";
import { noPlatform } from "../../domain/people/people.ts";
import type { PeopleProvider, PersonBatch } from "../../domain/people/provider.ts";
import {
  continueSync,
  createIdentities,
  endLostSync,
  finishSync,
  isStillAt,
  keepProgress,
  linkIdentities,
  type PersonLink,
  reportOf,
  runningSync,
  type SyncedPerson,
  unnamedLinks,
} from "../../domain/people/sync.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Persons that a part of a step reads. */
const PAGE = 500;
/** Parts that one job does; the rest is another job's, whose attempts are counted anew. */
const PARTS_MAX = 20;

/** Does some parts of a synchronisation, and queues what is left. */
export async function syncPersons(
  context: WorkerContext,
  { sync: id }: { sync: string },
): Promise<void> {
  if (context.people === undefined) throw new TypeError("this process has no platform of persons");
  const people = await context.people.of(context.realm.id);
  if (people === null) return await end(context, id, noPlatform());
  for (let part = 0; part < PARTS_MAX; part++) {
    context.signal.throwIfAborted();
    const sync = await context.step((tx) => runningSync(tx, id));
    if (sync === null) return;
    try {
      if (await doPart(context, people, sync)) return;
    } catch (error) {
      if (!isFinal(error)) throw error; // another attempt may pass
      return await end(context, id, error);
    }
  }
  await context.step((tx) => continueSync(tx, context.actor, id));
}

/** Whether the platform will refuse the same request again. */
function isFinal(error: unknown): error is DomainError {
  return error instanceof DomainError && error.extra.retryAfterS === undefined;
}

/** Does one part; whether it was the last one, with which the synchronisation ends. */
async function doPart(
  context: WorkerContext,
  people: PeopleProvider,
  sync: SyncRow,
): Promise<boolean> {
  const { actor } = context;
  const { persons, next } = await readPart(context, people, sync);
  const links = sync.step === 1 ? [] : await linksOf(context, sync, persons);
  const name = links.length === 0 ? null : await people.persons.linkMany(actor, links);
  const isLast = next === null && sync.step === 3;
  const step = next === null && !isLast ? sync.step + 1 : sync.step;
  const completed = sync.step === 2 ? links.length : 0;
  return await context.step(async (tx) => {
    if (!await isStillAt(tx, sync)) return false;
    const linked = sync.step === 1 ? await linkIdentities(tx, actor, persons) : 0;
    await name?.(tx);
    const progress = { step, cursor: next, read: persons.length, linked, completed };
    await keepProgress(tx, actor, sync.id, progress);
    if (isLast) await mailReport(tx, context, await finishSync(tx, actor, sync.id, null));
    return isLast;
  });
}

async function readPart(
  { actor, pool }: WorkerContext,
  { persons }: PeopleProvider,
  { cursor, parameters: { limit, page, filter } }: SyncRow,
): Promise<PersonBatch> {
  if (limit !== null && page !== null) {
    const read = await persons.list(actor, { filters: {}, filter, limit, page });
    return { persons: await reading(pool, read), next: null };
  }
  return await reading(pool, await persons.batch(actor, { filter, limit: PAGE, cursor }));
}

/** Finds the identities of persons that name none; step 3 creates those that are missing first. */
async function linksOf(
  context: WorkerContext,
  sync: SyncRow,
  persons: readonly SyncedPerson[],
): Promise<PersonLink[]> {
  if (sync.step === 3) {
    await context.step((tx) => createIdentities(tx, context.actor, { sync, persons }));
  }
  return await context.step((tx) => unnamedLinks(tx, persons));
}

async function end(
  context: WorkerContext,
  id: string,
  failure: DomainError,
): Promise<void> {
  await context.step(async (tx) => {
    if (await runningSync(tx, id) === null) return;
    await mailReport(tx, context, await finishSync(tx, context.actor, id, failure));
  });
}

/** Ends the synchronisation whose job has failed for good, and tells it. */
export async function endLost(context: WorkerContext): Promise<void> {
  await context.step(async (tx) => {
    const row = await endLostSync(tx, context.actor);
    if (row !== null) await mailReport(tx, context, row);
  });
}

/** Mails the report to the user who started it, if the user has an address. */
async function mailReport(
  tx: Tx,
  { actor, messaging }: WorkerContext,
  sync: SyncRow,
): Promise<void> {
  if (messaging === null) return;
  try {
    const to = await userRecipient(tx, actor, "email", sync.owner);
    const message = { channel: "email" as const, content: reportOf(sync) };
    const { secrets } = messaging;
    await queueMessage(tx, actor, { message, to, secrets, owner: sync.owner, notice: "sync" });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error; // no address, or too many messages to it
  }
}
