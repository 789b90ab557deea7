/** Rescans: searches for deposits that a scan missed, and what became of each. @module */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import {
  countOpenRescans,
  insertRescan,
  markLocated,
  markRescanError,
  markRescanned,
  type NodeState,
  type RescanRow,
  selectFound,
  selectRescan,
} from "../../db/deposits/rescans.ts";
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { type ChainId, chainInfo, CHAINS } from "../assets.ts";
import { chainNetworkFor } from "../chains/networks.ts";
import { hashFormOf } from "../chains/text_forms.ts";
import type { SeenTransfer } from "../chains/observed_transfers.ts";
import { Failure, Flag } from "../entity.ts";
import { DomainError, errorField, invalidField } from "../errors.ts";
import { isId, newId } from "../ids.ts";
import { enqueue } from "../jobs.ts";
import { assertRealmAdmin, notFound } from "../permissions.ts";

/** Most blocks that one rescan searches. */
const RANGE_MAX = 1000;
/**
 * Most rescans of a network that run, or wait for their first turn, at once: each may ask the nodes for a thousand blocks.
 * One that failed and is repeated later does not count, so that a rescan which ends a halt finds room.
 */
export const OPEN_MAX = 20;
/** When one may have ended. */
const RETRY_S = 10;
/** Most transfers that a rescan lists. */
export const FOUND_MAX = 100;
const Height = z.number().int().min(0).max(2 ** 31 - 1);

/** A request for a rescan. */
export const Rescan = z.strictObject({
  chain: z.enum(CHAINS.map((chain) => chain.id) as [ChainId, ...ChainId[]]),
  testnet: Flag.default(false),
  hash: z.string().min(1).max(128).optional(),
  from: Height.optional(),
  to: Height.optional(),
}).refine(
  ({ hash, from, to }) =>
    hash === undefined
      ? from !== undefined && to !== undefined && from <= to && to - from < RANGE_MAX
      : from === undefined && to === undefined,
  `either hash, or from and to at most ${RANGE_MAX} blocks apart, are expected`,
).meta({ id: "Rescan", oneOf: [{ required: ["hash"] }, { required: ["from", "to"] }] });

/** The answer to a rescan that was queued. */
export const RescanQueued = z.object({
  queued: z.literal(true),
  id: z.string().meta({ description: "GET /v1/deposits/rescans/{id} tells what was found." }),
  ...Rescan.shape,
}).meta({ id: "RescanQueued" });

/** A rescan as shown. */
export const RescanView = z.object({
  id: z.string(),
  state: z.enum(["queued", "running", "done", "failed"]).meta({
    description: "A failed attempt is queued again until the last one has failed.",
  }),
  chain: z.string(),
  testnet: z.boolean(),
  hash: z.string().nullable(),
  from: z.number().int().nullable(),
  to: z.number().int().nullable(),
  found: z.array(z.object({
    deposit: z.string().optional(),
    unmatched: z.string().optional(),
    output: z.object({ hash: z.string(), index: z.number().int(), address: z.string() }).optional()
      .meta({
        description: "A transfer to an address of the realm that is neither: a payment of the " +
          "realm's own, one before the address or token counts, or gas at a ramp's address.",
      }),
  })).max(FOUND_MAX),
  found_count: z.number().int().meta({
    description: `All transfers to addresses of the realm; at most ${FOUND_MAX} are listed.`,
  }),
  node: z.object({
    state: z.enum(["unknown", "pending", "failed", "block"]),
    block: z.number().int().nullable(),
  }).nullable().meta({
    description: "What one node knows of the transaction; null for blocks, and until it was " +
      "asked. A node of a coin chain without an index does not know spent transactions.",
  }),
  error: Failure,
  owner: z.string(),
  created_at: z.number().int(),
  finished_at: z.number().int().nullable(),
}).meta({ id: "DepositRescan" });

/**
 * Queues a rescan of a transaction or of a range of blocks, which searches deeper than the scanner.
 *
 * @throws {DomainError} permission.role, permission.scope, chain.not_configured, request.invalid,
 *   rate.limited where too many wait
 */
export async function requestRescan(
  tx: Tx,
  actor: RequestActor,
  wanted: z.infer<typeof Rescan>,
): Promise<z.infer<typeof RescanQueued>> {
  assertRealmAdmin(actor);
  const place = chainNetworkFor(actor.settings.chains, wanted.chain, wanted.testnet);
  const hash = wanted.hash === undefined ? undefined : hashFormOf(wanted.chain, wanted.hash);
  if (hash === null) {
    const name = chainInfo(wanted.chain).name;
    throw invalidField("/hash", `this is no hash of a transaction on ${name}`);
  }
  await assertFewOpen(tx, place);
  const id = newId(actor.at);
  await enqueue(tx, actor, "deposit.rescan", { ...wanted, hash, rescan: id }, { id });
  await insertRescan(tx, {
    ...{ id, chain: place.chain, network: place.network, hash: hash ?? null },
    ...{ from_height: wanted.from ?? null, to_height: wanted.to ?? null },
    ...{ owner: actor.user, created_at: actor.at },
  });
  return { queued: true, id, ...wanted };
}

/** Refuses a rescan too many. Of two at the same moment the isolation of transactions has one count again. */
async function assertFewOpen(tx: Tx, place: NetworkKey): Promise<void> {
  if (await countOpenRescans(tx, place) < OPEN_MAX) return;
  const why = `${OPEN_MAX} rescans of this network run or wait for their turn: ask again soon`;
  throw new DomainError("rate.limited", why, { retryAfterS: RETRY_S });
}

/**
 * Finds a rescan.
 *
 * @throws {DomainError} permission.role, permission.scope, deposit.not_found
 */
export async function findRescan(
  db: Db,
  actor: Actor,
  id: string,
): Promise<z.infer<typeof RescanView>> {
  assertRealmAdmin(actor);
  const row = isId(id) ? await selectRescan(db, id) : null;
  if (row === null) throw notFound("deposit.not_found");
  return viewRescan(row);
}

/** Shows a rescan. */
export function viewRescan(row: RescanRow): z.infer<typeof RescanView> {
  const { id, chain, hash, node, node_height, owner } = row;
  return {
    ...{ id, state: stateOf(row), chain, testnet: row.network !== "main", hash },
    ...{ from: row.from_height, to: row.to_height },
    found: row.found.map(({ deposit, unmatched, hash, index, address }) =>
      deposit !== null
        ? { deposit }
        : unmatched !== null
        ? { unmatched }
        : { output: { hash, index, address } }
    ),
    found_count: row.found_count,
    node: node === null ? null : { state: node === "mined" ? "block" : node, block: node_height },
    ...{ error: row.error, owner, created_at: row.created_at, finished_at: row.finished_at },
  };
}

function stateOf({ finished_at, job_state }: RescanRow): z.infer<typeof RescanView>["state"] {
  if (finished_at !== null) return "done";
  if (job_state === "ready") return "queued";
  return job_state === "running" ? "running" : "failed";
}

/** Transfers that a rescan read: all are counted, the first are kept. */
export interface FoundTransfers {
  first: Pick<SeenTransfer, "hash" | "index" | "to">[];
  count: number;
}

/** Notes at the end of a rescan what it found. */
export async function finishRescan(
  tx: Tx,
  actor: Actor,
  id: string,
  of: { place: NetworkKey; read: FoundTransfers },
): Promise<void> {
  const { first, count } = of.read;
  const keys = first.map(({ hash, index, to }) => ({ hash, index, address: to }));
  const found = keys.length === 0 ? [] : await selectFound(tx, of.place, keys);
  await markRescanned(tx, id, { found, count, at: actor.at });
}

/** Notes what a node knows of the transaction of a rescan. */
export async function noteLocation(
  tx: Tx,
  actor: Actor,
  id: string,
  known: { state: NodeState; height?: number },
): Promise<void> {
  const { state, height = null } = known;
  await markLocated(tx, id, { node: state, height, at: actor.at });
}

/** Notes why an attempt at a rescan failed, in words that name no node. */
export async function noteRescanError(
  tx: Tx,
  actor: Actor,
  id: string,
  detail: string,
): Promise<void> {
  await markRescanError(tx, id, { error: errorField("upstream.failed", detail), at: actor.at });
}
