/**
 * Emergency stops. A stop of moves refuses every posting that users ask for; a stop of signing keeps
 * workers from signing. Both are set and lifted under the ledger lock, so that they hold at once in
 * every process. Deposits are credited under every stop, and signed bytes go on being sent.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { selectAccount } from "../../db/accounts/accounts.ts";
import { selectCurrencyByName } from "../../db/currencies/currencies.ts";
import type { Condition } from "../../db/collections/filter.ts";
import type { Db, Tx } from "../../db/database.ts";
import {
  existsStopOf,
  insertStop,
  liftStop as markLifted,
  type NewStopRow,
  selectStoppedAccounts,
  selectStops,
  type StoppedMove,
  type StopRow,
} from "../../db/stops/stops.ts";
import { selectUser } from "../../db/identity/users.ts";
import { type Actor, reachesRealm, roleOf } from "../actor.ts";
import { NETWORKS, parseAddress } from "../chains/addresses.ts";
import { allAssets, type ChainId, CHAINS, findAsset } from "../assets.ts";
import { type Collection, ENTITY_COLUMNS, textColumn } from "../collections/collection.ts";
import { Failure, Id, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { emit } from "../events.ts";
import { idTime, isId, newId } from "../ids.ts";
import { assertRealmAdmin, notFound } from "../permissions.ts";

/** A request for a stop. */
export const NewStop = z.strictObject({
  what: z.enum(["moves", "signing"]),
  asset: text(40).optional(),
  chain: z.enum(CHAINS.map((chain) => chain.id) as [ChainId, ...ChainId[]]).optional(),
  account: Id.optional().meta({ description: "Value that leaves it or comes to it." }),
  user: Id.optional().meta({ description: "Its requests, and value that leaves its accounts." }),
  destination: text(200).optional().meta({ description: "The id of an account, or an address." }),
  reason: text(500),
  realm: Id.optional().meta({ description: "With the platform key: the realm that it holds for." }),
}).meta({ id: "NewStop" });
/** A request for a stop. */
export type NewStop = z.infer<typeof NewStop>;

/** A stop as shown. */
export const StopView = z.object({
  id: z.string(),
  what: z.enum(["moves", "signing"]),
  asset: z.string().nullable(),
  chain: z.string().nullable(),
  account: z.string().nullable(),
  user: z.string().nullable(),
  destination: z.string().nullable(),
  reason: z.string().optional().meta({ description: "For users with scope realm." }),
  active: z.boolean(),
  owner: z.string().nullable().meta({ description: "The user who set it; null for the operator." }),
  created_at: z.number().int(),
  lifted_by: z.string().nullable().meta({
    description: "The user who lifted it; null for the operator.",
  }),
  lifted_at: z.number().int().nullable(),
  data: z.record(z.string(), z.unknown()),
  error: Failure,
}).meta({ id: "Stop" });

/**
 * The stops that an actor sees. Users with scope realm see all; others see those of the whole realm, an asset or
 * a chain, and those of themselves and their accounts: whoever learned who else is stopped, or which
 * destinations are, could warn them or pay by another way.
 */
async function stopsSeen(db: Db, actor: Actor): Promise<Condition | null> {
  if (reachesRealm(actor)) return null;
  const at = (field: string) => ({ field, path: [] });
  const none = (field: string): Condition => ({ op: "null", at: at(field) });
  const own = await selectStoppedAccounts(db, actor.user);
  return {
    op: "and",
    of: [
      none("destination"),
      { op: "or", of: [none("account"), { op: "in", at: at("account"), values: own }] },
      { op: "or", of: [none("user"), { op: "eq", at: at("user"), value: actor.user }] },
    ],
  };
}

/** The collection of stops: records, of which users with scope realm see all. */
export const STOPS: Collection<StopRow> = {
  name: "stops",
  table: "stops",
  deletable: false,
  counted: false,
  shared: true,
  within: stopsSeen,
  notFound: "stop.not_found",
  fields: ["reason", "active", "data", "error"],
  columns: {
    ...ENTITY_COLUMNS,
    what: textColumn("what"),
    asset: textColumn("asset", true),
    chain: textColumn("chain", true),
    account: { column: "account", type: "id", nullable: true },
    user: { column: "user_id", type: "id", nullable: true },
    destination: textColumn("destination", true),
    lifted_by: { column: "lifted_by", type: "id", nullable: true },
    lifted_at: { column: "lifted_at", type: "time", nullable: true },
  },
  read: selectStops,
  show: (_db, actor, rows) => Promise.resolve(rows.map((row) => viewStop(actor, row))),
};

/** A destination as given, and all values that it is compared with. */
export interface StoppedDestination {
  destination: string;
  destinations: string[];
}

/**
 * Reads the destination of a stop: an id as it is, an address in its canonical form on each chain and
 * network that has such addresses.
 *
 * @throws {DomainError} address.invalid
 */
export async function readDestination(
  { destination, chain }: Pick<NewStop, "destination" | "chain">,
): Promise<StoppedDestination | null> {
  if (destination === undefined) return null;
  if (isId(destination)) return { destination, destinations: [destination] };
  const found = new Set<string>();
  for (const id of chain === undefined ? CHAINS.map((one) => one.id) : [chain]) {
    for (const network of NETWORKS) {
      const parsed = await parseAddress(id, network, destination);
      if (parsed.ok) found.add(parsed.address);
    }
  }
  if (found.size > 0) return { destination, destinations: [...found] };
  throw new DomainError("address.invalid", "this is neither an account nor an address to pay");
}

/**
 * Sets a stop. The transaction holds the ledger lock: every later posting and signature obeys it.
 *
 * @throws {DomainError} permission.role, permission.scope, asset.unknown, account.not_found,
 *   user.not_found
 */
export async function setStop(
  tx: LedgerTx,
  actor: Actor,
  input: NewStop & { target: StoppedDestination | null },
): Promise<StopRow> {
  assertMayStop(actor);
  await assertNamed(tx, input);
  const { target } = input;
  const id = newId(actor.at);
  const row: NewStopRow = {
    id,
    what: input.what,
    asset: input.asset ?? null,
    chain: input.chain ?? null,
    chain_assets: input.chain === undefined ? null : assetsOf(input.chain),
    account: input.account ?? null,
    user_id: input.user ?? null,
    destination: target?.destination ?? null,
    destinations: target?.destinations ?? null,
    reason: input.reason,
    owner: actor.kind === "user" ? actor.user : null,
    restored: false,
    created_at: idTime(id),
  };
  return await addStop(tx, actor, row);
}

/** Adds a stop and tells of it. */
export async function addStop(
  tx: LedgerTx,
  by: Pick<Actor, "scopes" | "at">,
  row: NewStopRow,
): Promise<StopRow> {
  const stop = await insertStop(tx, row);
  await emit(tx, by, "stop.set", { id: stop.id, owner: row.owner, view: viewStop(by, stop) });
  return stop;
}

/**
 * Lifts a stop; one that was lifted before stays as it is. One that a restored realm began with the operator alone lifts:
 * a user of the time of the backup may have lost its rights since.
 *
 * @throws {DomainError} permission.role, permission.scope, permission.owner, stop.not_found
 */
export async function liftStop(tx: Tx, actor: Actor, id: string): Promise<StopRow> {
  assertRealmAdmin(actor);
  const [found] = isId(id) ? await selectStops(tx, [id]) : [];
  if (found === undefined) throw notFound("stop.not_found");
  if (found.restored && found.lifted_at === null && actor.kind !== "operator") {
    const why = "the realm was restored with this stop: the operator of the installation lifts it";
    throw new DomainError("permission.owner", why);
  }
  const by = { user: actor.kind === "user" ? actor.user : null, at: actor.at };
  const lifted = await markLifted(tx, id, by);
  if (lifted === null) return found;
  const view = viewStop(actor, lifted);
  await emit(tx, actor, "stop.lifted", { id, owner: lifted.owner, view });
  return lifted;
}

/**
 * Refuses a withdrawal to which a stop of moves applies that the ledger alone would not apply: by its
 * destination, or because it moves nothing between accounts.
 *
 * @throws {DomainError} stop.active
 */
export async function assertNotStopped(
  db: Db,
  actor: Actor,
  move: Omit<StoppedMove, "user">,
): Promise<void> {
  const user = actor.kind === "user" ? actor.user : null;
  if (!await existsStopOf(db, { ...move, user })) return;
  throw new DomainError("stop.active", "a stop is in force: nothing of this kind is withdrawn now");
}

/** Shows a stop; its reason only to actors who see the whole realm. */
export function viewStop(actor: Pick<Actor, "scopes">, row: StopRow): Record<string, unknown> {
  return {
    id: row.id,
    what: row.what,
    asset: row.asset,
    chain: row.chain,
    account: row.account,
    user: row.user_id,
    destination: row.destination,
    ...(reachesRealm(actor) ? { reason: row.reason } : {}),
    active: row.lifted_at === null,
    owner: row.owner,
    created_at: row.created_at,
    lifted_by: row.lifted_by,
    lifted_at: row.lifted_at,
    data: {},
    error: null,
  };
}

function assertMayStop(actor: Actor): void {
  if (roleOf(actor) === "user") {
    throw new DomainError("permission.role", "this takes the role manage or admin");
  }
  if (!reachesRealm(actor)) {
    throw new DomainError("permission.scope", "this takes the scope realm");
  }
}

/** Refuses a stop of an unknown entity: it would stop nothing, unnoticed. */
async function assertNamed(tx: Tx, { asset, account, user, destination }: NewStop): Promise<void> {
  const known = asset === undefined || findAsset(asset) !== null ||
    await selectCurrencyByName(tx, asset) !== null;
  if (!known) throw new DomainError("asset.unknown", "there is no such asset");
  const named = destination !== undefined && isId(destination) ? destination : undefined;
  for (const [path, id] of [["/account", account], ["/destination", named]] as const) {
    if (id === undefined) continue;
    const row = isId(id) ? await selectAccount(tx, id) : null;
    if (row === null || row.type === "system") throw notFound("account.not_found", path);
  }
  if (user === undefined) return;
  const row = isId(user) ? await selectUser(tx, user) : null;
  if (row === null) throw notFound("user.not_found", "/user");
}

function assetsOf(chain: ChainId): string[] {
  return allAssets().filter((asset) => asset.chain === chain).map(({ code }) => code);
}
