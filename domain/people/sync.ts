/**
 * Synchronisation of persons with identities. Three steps, each over all persons in pages: identities
 * are given the person that names them, persons are given the name of their identity, and persons
 * without an identity get a new one. Each part commits with its place, so a job that stops goes on
 * where it stopped, and a part that runs twice finds its work done.
 * @module
 */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import { brokenConstraint } from "../../db/errors.ts";
import {
  insertPersonIdentities,
  linkPersons,
  selectIdentitiesOfPersons,
} from "../../db/identity/identities.ts";
import {
  addCreated,
  advanceSync,
  endSync,
  insertSync,
  lockLostSync,
  lockSync,
  selectSyncs,
  type SyncParameters,
  type SyncProgress,
  type SyncRow,
} from "../../db/people/syncs.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import { Failure } from "../entity.ts";
import { DomainError, errorField } from "../errors.ts";
import { emit } from "../events.ts";
import { AccountingCurrency, Country } from "../identity/identities.ts";
import { isId, newId, newIds } from "../ids.ts";
import { enqueue } from "../jobs.ts";
import { rightsOf } from "../permissions.ts";
import { parseFilter } from "./list_query.ts";
import type { PeopleProvider, PersonBatch } from "./provider.ts";

/** Jobs of synchronisations run one at a time. */
const SERIAL_KEY = "persons.sync";

function whole(max: number) {
  return z.union(
    [z.number(), z.string().regex(/^\d{1,6}$/).transform(Number)],
    "a whole number is expected",
  )
    .pipe(z.number().int().min(1).max(max)).meta({ type: "integer", minimum: 1, maximum: max });
}

/** A request for a synchronisation. */
export const NewSync = z.strictObject({
  country: Country.optional(),
  currency: AccountingCurrency.optional(),
  limit: whole(1000).optional().meta({ description: "Only one page, of so many persons." }),
  page: whole(100_000).optional().meta({ description: "Which page, from 1." }),
  filter: z.union([z.string().max(4096), z.record(z.string(), z.unknown())]).optional().meta({
    description: "A condition in the platform's own language, as an object or as its JSON text.",
  }),
}).meta({ id: "NewPersonsSync" });

/** The answer to a request for a synchronisation. */
export const SyncStarted = z.object({
  name: z.literal("EventStarted"),
  message: z.string(),
  code: z.literal(200),
  type: z.literal("persons.sync.started"),
  data: z.object({
    id: z.string(),
    country: z.string(),
    currency: z.string(),
    limit: z.number().int().nullable(),
    page: z.number().int().nullable(),
    owner: z.string(),
  }),
}).meta({ id: "PersonsSyncStarted" });

/**
 * Starts a synchronisation; one runs at a time.
 *
 * @throws {DomainError} permission.role, permission.scope, sync.running
 */
export async function startSync(
  tx: Tx,
  actor: Actor,
  input: Omit<z.infer<typeof NewSync>, "filter"> & { filter: unknown },
): Promise<z.infer<typeof SyncStarted>> {
  assertMaySync(actor);
  const parameters = {
    country: input.country ?? actor.realm.country,
    currency: input.currency ?? actor.realm.accountingCurrency,
    limit: input.limit ?? (input.page === undefined ? null : 20),
    page: input.page ?? (input.limit === undefined ? null : 1),
    filter: input.filter,
  };
  await endLostSync(tx, actor);
  const id = newId(actor.at);
  const row = { id, parameters, owner: actor.user, created_at: actor.at };
  try {
    await tx.savepoint((sp) => insertSync(sp, row));
  } catch (error) {
    if (brokenConstraint(error) !== "person_syncs_running") throw error;
    throw new DomainError("sync.running", "a synchronization of persons runs already");
  }
  await enqueue(tx, actor, "persons.sync", { sync: id }, { serialKey: SERIAL_KEY });
  return {
    name: "EventStarted",
    message: "The synchronization of persons was started; its report comes by e-mail.",
    code: 200,
    type: "persons.sync.started",
    data: { id, ...shownParameters(parameters), owner: actor.user },
  };
}

/** What answers, events and reports show of the parameters: a filter may hold personal data. */
function shownParameters({ country, currency, limit, page }: SyncParameters) {
  return { country, currency, limit, page };
}

/** It creates identities and changes those of all users. */
function assertMaySync(actor: Actor): void {
  if (rightsOf(actor).write === "all") return;
  if (!reachesRealm(actor)) {
    throw new DomainError("permission.scope", "this takes a user of scope realm");
  }
  throw new DomainError("permission.role", "this takes the role manage or admin");
}

/**
 * Reads the filter of a request. The own tables say at once that they do not understand one.
 *
 * @throws {DomainError} request.invalid
 */
export async function syncFilter(
  people: PeopleProvider,
  actor: Actor,
  given: string | Record<string, unknown> | undefined,
): Promise<unknown> {
  if (given === undefined) return null;
  try {
    const filter = parseFilter(typeof given === "string" ? jsonOf(given) : given);
    if (!people.remote) await people.persons.batch(actor, { filter, limit: 1, cursor: null });
    return filter;
  } catch (error) {
    // Lists take the same filters as a parameter; here it stands in the body.
    if (!(error instanceof DomainError) || error.code !== "query.invalid") throw error;
    throw new DomainError("request.invalid", error.message, { errors: error.extra.errors });
  }
}

/** What a text says as JSON; null where it says nothing. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Queues what is left of a synchronisation, with fresh attempts. */
export async function continueSync(tx: Tx, actor: Actor, sync: string): Promise<void> {
  await enqueue(tx, actor, "persons.sync", { sync }, { serialKey: SERIAL_KEY });
}

/** Reads a synchronisation that runs; null where it has ended. */
export async function runningSync(tx: Tx, id: string): Promise<SyncRow | null> {
  const row = await lockSync(tx, id);
  return row?.state === "running" ? row : null;
}

/** Whether a synchronisation is where a part of it began: another worker may have done the part. */
export async function isStillAt(tx: Tx, { id, step, cursor }: SyncRow): Promise<boolean> {
  const now = await runningSync(tx, id);
  return now !== null && now.step === step && now.cursor === cursor;
}

/** Ends the synchronisation whose job has failed for good, as failed; null where there is none. */
export async function endLostSync(tx: Tx, actor: Actor): Promise<SyncRow | null> {
  const lost = await lockLostSync(tx);
  return lost === null ? null : await finishSync(tx, actor, lost.id, jobEnded());
}

function jobEnded(): DomainError {
  return new DomainError("internal", "its job failed for good; what it did stays");
}

/** Synchronisations that are shown. */
const SHOWN_MAX = 20;

/** Shows the last synchronisations, the latest first. @throws {DomainError} permission.* */
export async function listSyncs(db: Db, actor: Actor): Promise<Record<string, unknown>[]> {
  assertMaySync(actor);
  const error = errorField("internal", jobEnded().message);
  return (await selectSyncs(db, SHOWN_MAX)).map((row) =>
    viewSync(row.lost ? { ...row, state: "failed", error } : row)
  );
}

/** What a synchronisation reads of a person. */
export type SyncedPerson = PersonBatch["persons"][number];

/** A person and the identity that it is the profile of. */
export interface PersonLink {
  person: string;
  identity: string;
}

/** Step 1: gives identities without a person the person that names them; gives their number. */
export async function linkIdentities(
  tx: Tx,
  actor: Actor,
  persons: readonly SyncedPerson[],
): Promise<number> {
  const pairs = persons.flatMap(({ id, externalId }) =>
    typeof externalId === "string" && isId(externalId) ? [{ person: id, identity: externalId }] : []
  );
  return pairs.length === 0 ? 0 : await linkPersons(tx, pairs, actor.at);
}

/** Steps 2 and 3: finds the identities of persons that name none. */
export async function unnamedLinks(
  tx: Tx,
  persons: readonly SyncedPerson[],
): Promise<PersonLink[]> {
  const ids = unnamed(persons);
  const holders = ids.length === 0 ? [] : await selectIdentitiesOfPersons(tx, ids);
  return holders.filter(({ deleted_at }) => deleted_at === null)
    .map(({ id, person }) => ({ person: person!, identity: id }));
}

/** Step 3: creates identities of persons that have none; those that have one are passed over. */
export async function createIdentities(
  tx: Tx,
  actor: Actor,
  { sync, persons }: { sync: SyncRow; persons: readonly SyncedPerson[] },
): Promise<void> {
  const ids = unnamed(persons);
  if (ids.length === 0) return;
  const held = new Set((await selectIdentitiesOfPersons(tx, ids)).map(({ person }) => person));
  const free = ids.filter((id) => !held.has(id));
  if (free.length === 0) return;
  const made = newIds(actor.at, free.length);
  const rows = free.map((person, i) => ({ id: made.ids[i], person }));
  const { country, currency } = sync.parameters;
  const shared = { country, currency, owner: sync.owner, created_at: made.at };
  await insertPersonIdentities(tx, rows, shared);
  await addCreated(tx, sync.id, free.length, actor.at);
}

function unnamed(persons: readonly SyncedPerson[]): string[] {
  return persons.filter(({ externalId }) => externalId === null || externalId === undefined)
    .map(({ id }) => id);
}

/** Keeps what a part of a step did. */
export async function keepProgress(
  tx: Tx,
  actor: Actor,
  id: string,
  progress: SyncProgress,
): Promise<void> {
  await advanceSync(tx, id, progress, actor.at);
}

/** Ends a synchronisation and tells it. */
export async function finishSync(
  tx: Tx,
  actor: Actor,
  id: string,
  failure: DomainError | null,
): Promise<SyncRow> {
  const error = failure === null ? null : errorField(failure.code, failure.message);
  const state = failure === null ? "done" : "failed";
  const row = await endSync(tx, id, { state, error, at: actor.at });
  await emit(tx, actor, "persons.sync.finished", { id, owner: row.owner, view: viewSync(row) });
  return row;
}

/** A synchronisation as its event shows it. */
export const SyncView = z.object({
  ...SyncStarted.shape.data.shape,
  state: z.enum(["running", "done", "failed"]),
  step: z.number().int().meta({ description: "The step that runs, or was the last: 1 to 3." }),
  read: z.number().int().meta({ description: "Persons that were read, in all steps together." }),
  linked: z.number().int(),
  completed: z.number().int(),
  created: z.number().int(),
  created_at: z.number().int(),
  finished_at: z.number().int().nullable(),
  error: Failure,
}).meta({ id: "PersonsSync" });

/** Shows a synchronisation. */
function viewSync(row: SyncRow): Record<string, unknown> {
  const { id, parameters, step, read, linked, completed, created, state, error, owner } = row;
  return {
    ...{ id, ...shownParameters(parameters), state, step, read, linked, completed, created, owner },
    ...{ created_at: row.created_at, finished_at: row.finished_at, error },
  };
}

/** The report of a synchronisation for the user who started it: numbers, and no personal data. */
export function reportOf(row: SyncRow): { subject: string; text: string } {
  const failure = row.error as { code: string } | null;
  const ended = failure === null ? "finished" : `failed (${failure.code})`;
  return {
    subject: `Synchronization of persons ${ended}`,
    text: [
      `The synchronization of persons ${row.id} has ${ended}.`,
      "",
      `1. Identities given the person that names them: ${row.linked}`,
      `2. Persons given the name of their identity: ${row.completed}`,
      `3. New identities of persons: ${row.created}`,
      "",
      `Persons read, in all steps together: ${row.read}`,
    ].join("\n"),
  };
}
