/**
 * Reads that a replica may answer: which requests they are, and what the answer says. Whose key it is and what it may do
 * was read at the primary before; a refusal is always the primary's.
 * @module
 */
import { type Db, type Pool, runQuery } from "../../domain/command.ts";
import { idTime, isId } from "../../domain/ids.ts";
import type { FromReplica, Position, RealmReplica } from "../../domain/realms/replica_reads.ts";
import { withConcurrencyLimit } from "./concurrency_limit.ts";
import type { AnyRoute, Call, Reply } from "./route.ts";
import type { Services } from "./services.ts";

/** Longest statement of a read that takes milliseconds. */
const QUICK_MS = 2_000;
/** Longest statement of a part of a statement or an export. */
const PART_MS = 5_000;
/** `Prefer: read=primary` (RFC 7240), beside other preferences. */
const PRIMARY = /(?:^|[,;\s])read\s*=\s*"?primary"?\s*(?:$|[,;])/i;

/** The replica that may answer a request; null where the primary answers. */
export function replicaFor<P, Q, B>(call: Call<P, Q, B>): RealmReplica | null {
  if (!call.route.mayLag) return null;
  const replica = call.realm?.replica ?? null;
  return replica === null || PRIMARY.test(call.headers.get("prefer") ?? "") ? null : replica;
}

/** The header by which an answer says that it is a replica's, and how far behind it may be. */
export function lagHeader({ lagMs }: { lagMs: number }): Record<string, string> {
  return { "replica-lag": `${lagMs}` };
}

/**
 * How long after the moment of its id an entity may still appear: no transaction takes longer, and the clocks of the service's
 * hosts differ by less.
 */
const APPEARS_MS = 60_000;

/**
 * What a replica must show to continue a list that descends: all that stood before the row which the page begins after. A page
 * that another server answered may have begun with newer rows than the replica has, and those in between would be passed over.
 *
 * @returns a moment of the monotonic clock
 */
export function shownBefore(
  query: unknown,
  now: { ms: number; monotonic: number },
): number | undefined {
  const { after, sort } = (query ?? {}) as { after?: unknown; sort?: unknown };
  if (typeof after !== "string" || after === "") return undefined;
  const descends = [sort].flat().some((names) => /(^|[\s,])-/.test(`${names ?? ""}`));
  if (!descends) return undefined;
  if (!isId(after)) return Infinity;
  return now.monotonic - (now.ms - idTime(after)) + APPEARS_MS;
}

/** As {@link shownBefore}, of a request. */
export function notBeforeOf<P, Q, B>({ query, services }: Call<P, Q, B>): number | undefined {
  return shownBefore(query, { ms: services.now(), monotonic: performance.now() });
}

/** Runs quick reads; null where the primary must answer. */
export async function readQuickly<P, Q, B, T>(
  call: Call<P, Q, B>,
  replica: RealmReplica,
  work: (db: Db) => Promise<T>,
): Promise<FromReplica<T> | null> {
  const notBefore = notBeforeOf(call);
  return await replica.read(work, { limitMs: QUICK_MS, user: call.actor.user, notBefore });
}

/** Runs a part of a longer read: on a replica that shows all that was answered before it began, else on the primary. */
export type PartReader = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

/** Reads the parts of an answer that began on the primary, where its extent and its rights were decided. */
export interface Parts {
  read: PartReader;
  /** What the answer says of the replica; nothing where the primary answers all. */
  headers: Record<string, string>;
}

/** Waits a moment for the replica to show all that the primary has answered, and reads parts there. */
export async function openParts<P, Q, B>(call: Call<P, Q, B>, pool: Pool): Promise<Parts> {
  const replica = replicaFor(call);
  const position = await replica?.catchUp() ?? null;
  const onPrimary: PartReader = (work) => runQuery(pool, work);
  if (replica === null || position === null) return { read: onPrimary, headers: {} };
  return {
    headers: lagHeader({ lagMs: Math.ceil(performance.now() - position.at) }),
    read: (work) => readPart(call, replica, position, work, onPrimary),
  };
}

async function readPart<P, Q, B, T>(
  call: Call<P, Q, B>,
  replica: RealmReplica,
  after: Position,
  work: (db: Db) => Promise<T>,
  onPrimary: PartReader,
): Promise<T> {
  const found = await replica.read(work, { limitMs: PART_MS, user: call.actor.user, after });
  return found === null ? await onPrimary(work) : found.result;
}

/** Runs a read in two steps: what the primary decides, and what is read by that. */
export async function inSteps<P, Q, B, Plan, T>(
  call: Call<P, Q, B>,
  decide: (db: Db) => Promise<Plan>,
  read: (db: Db, plan: Plan) => Promise<T>,
): Promise<{ view: T; headers: Record<string, string> }> {
  const { pool } = call.realm!;
  const replica = replicaFor(call);
  return await withConcurrencyLimit(replica ?? pool, async () => {
    const deciding = () => runQuery(pool, decide);
    const plan =
      await (replica === null ? deciding() : withConcurrencyLimit(pool, deciding, call.actor));
    const parts = await openParts(call, pool);
    return { view: await parts.read((db) => read(db, plan)), headers: parts.headers };
  }, call.actor);
}

/** Adds headers to an answer. */
export function withHeaders(reply: Reply, headers: Record<string, string>): Reply {
  if (Object.keys(headers).length === 0) return reply;
  return { ...reply, headers: { ...reply.headers, ...headers } };
}

/** The handler of a route, with a note of each user who may have changed something. */
export function withWriteNotes(
  { replica }: Services,
  { method }: AnyRoute,
  handle: AnyRoute["handle"],
): AnyRoute["handle"] {
  if (replica === null || method === "GET") return handle;
  return async (call) => {
    try {
      return await handle(call);
    } finally {
      call.realm?.replica?.noteWrite(call.actor.user); // also where its answer was lost
    }
  };
}
