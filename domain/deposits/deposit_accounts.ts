/**
 * Deposit accounts: each has an address of its own below a ramp, so that deposits can be told
 * apart. The address is derived from the ramp's xpub, or taken from those that the signer has derived
 * ahead; neither needs a key. A deposit account belongs to the owner and the holder of the account that its deposits are forwarded to.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { type AccountRow, markEnabled, selectAccount } from "../../db/accounts/accounts.ts";
import type { Db } from "../../db/database.ts";
import { selectTokensOfCurrencies } from "../../db/currencies/tokens.ts";
import { insertEmptyBalance } from "../../db/accounts/onchain_balances.ts";
import {
  markOpened,
  type RampRow,
  selectAddresses,
  selectRamp,
  takeIndex,
  type TakenRow,
} from "../../db/accounts/ramps.ts";
import { selectOwnPlaces } from "../../db/recovery/recoveries.ts";
import { viewAddress } from "../accounts/account_views.ts";
import { assertMayHaveAddress } from "../accounts/address_limits.ts";
import {
  assertAccount,
  findAccount,
  type NewAccount,
  openAccount,
  viewAccount,
} from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { answerable, openAnswer } from "../answers.ts";
import type { Network } from "../chains/addresses.ts";
import { type ChainId, findAsset } from "../assets.ts";
import { deriveAddress } from "../chains/derivation.ts";
import { Failure, FreeForm } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { emit } from "../events.ts";
import { isId, newId } from "../ids.ts";
import { enqueue } from "../jobs.ts";
import { LIMIT_MAX } from "../collections/list_parameters.ts";
import { needsReserve, reserveAddresses } from "../accounts/own_addresses.ts";
import { assertReceivable, resolveRamp } from "../accounts/ramps.ts";
import { handOutAddress } from "./address_handout.ts";

/** A request for an address. */
export const NewAddress = z.strictObject({
  data: FreeForm.default({}).meta({ description: "Copied into the deposits that arrive there." }),
}).meta({ id: "NewAddress" });
/** A request for an address. */
export type NewAddress = z.infer<typeof NewAddress>;

/** An address as shown. */
export const AddressView = z.object({
  id: z.string(),
  account: z.string(),
  asset: z.string(),
  address: z.string(),
  derivation_key: z.string(),
  xpub: z.string().nullable(),
  destination_tag: z.string().nullable(),
  memo: z.string().nullable(),
  message: z.string().nullable(),
  notification: z.string().nullable(),
  owner: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
  created_at: z.number().int(),
  error: Failure,
}).meta({ id: "Address" });

/** Parameters of a new deposit account. */
interface Wanted {
  /** The ramp account below which the address lies. */
  ramp: AccountRow;
  /** The virtual account that its deposits are forwarded to; both are of one asset. */
  target: AccountRow | null;
  data: Record<string, unknown>;
  /** Other fields of the request; holder and owner only if the actor chose them. */
  rest?: Partial<NewAccount>;
}

/**
 * Creates a deposit account below a ramp account, or below the ramp of a virtual account that its
 * deposits go on to.
 *
 * @throws {DomainError} account.not_found, account.no_ramp, account.not_enabled, asset.suspended,
 *   permission.role, permission.owner, rate.limited
 */
export async function addAddress(
  tx: LedgerTx,
  actor: Actor,
  input: { account: string; data: Record<string, unknown> },
): Promise<AccountRow> {
  const account = isId(input.account) ? await selectAccount(tx, input.account) : null;
  assertAccount(actor, "write", account);
  if (account.type === "ramp") {
    return await createDepositAccount(tx, actor, { ramp: account, target: null, data: input.data });
  }
  return await serveAccount(tx, actor, { account, data: input.data });
}

/**
 * Creates a deposit account whose deposits are forwarded to a virtual account; the caller has
 * checked rights. The ramp of a token of the realm's own is the one that deployed or registered it.
 *
 * @throws {DomainError} account.no_ramp, account.not_enabled, asset.suspended, rate.limited
 */
export async function serveAccount(
  tx: LedgerTx,
  actor: Actor,
  input: { account: AccountRow; data: Record<string, unknown> },
): Promise<AccountRow> {
  const { account } = input;
  const [token] = findAsset(account.asset) === null
    ? await selectTokensOfCurrencies(tx, [account.asset])
    : [];
  const wanted = token?.account ?? account.ramp;
  const ramp = wanted === null ? null : await selectAccount(tx, wanted);
  if (account.type !== "virtual" || ramp === null || ramp.deleted_at !== null) {
    throw new DomainError("account.no_ramp", "the account has no ramp");
  }
  if (account.enabled && !account.active) {
    throw new DomainError("account.inactive", "the account is deactivated");
  }
  return await createDepositAccount(tx, actor, { ramp, target: account, data: input.data });
}

/**
 * Creates a deposit account that names its ramp.
 *
 * @throws {DomainError} ramp.not_found, account.no_ramp and those of {@link addAddress}
 */
export async function createNamedDepositAccount(
  tx: LedgerTx,
  actor: Actor,
  input: NewAccount,
): Promise<AccountRow> {
  if (input.ramp === undefined) {
    throw new DomainError("account.no_ramp", "a deposit account is made on a ramp");
  }
  const ramp = await resolveRamp(tx, actor, input.ramp, input);
  assertAccount(actor, "write", ramp);
  return await createDepositAccount(tx, actor, {
    ramp,
    target: null,
    data: input.data,
    rest: input,
  });
}

async function createDepositAccount(
  tx: LedgerTx,
  actor: Actor,
  wanted: Wanted,
): Promise<AccountRow> {
  const { ramp, target } = wanted;
  const { asset: code, decimals, testnet } = target ?? ramp;
  const registered = findAsset(code);
  if (registered !== null) assertReceivable(registered);
  if (!ramp.enabled) throw new DomainError("account.not_enabled", "the ramp has no address yet");
  if (!ramp.active) throw new DomainError("account.inactive", "the ramp is deactivated");
  await assertMayHaveAddress(tx, actor);
  const row = await openAccount(tx, actor, {
    default: false,
    data: wanted.data,
    ...wanted.rest,
    type: "deposit",
    testnet,
    asset: { code, decimals, registered },
    ramp: ramp.id,
    belongsTo: target ?? ramp,
    enabled: false,
  });
  await addAddressRow(tx, actor, { ...wanted, account: row });
  await enqueue(tx, actor, "account.enable", { account: row.id });
  return row;
}

/**
 * Creates the deposit account of an address that a lost database had handed out. Its account is not
 * known, so it belongs to the ramp until an operator moves the deposits. Repeating it changes
 * nothing.
 */
export async function recoverAddress(
  tx: LedgerTx,
  actor: Actor,
  found: { ramp: string; index: number; address: string },
): Promise<void> {
  const ramp = await selectAccount(tx, found.ramp);
  const branch = await selectRamp(tx, found.ramp);
  if (ramp === null || branch === null) return;
  const { chain, network, xpub } = branch;
  if ((await selectOwnPlaces(tx, branch, [found.address])).length > 0) return;
  const data = { recovered: true };
  const account = await openAccount(tx, actor, {
    default: false,
    data,
    type: "deposit",
    testnet: ramp.testnet,
    asset: { code: ramp.asset, decimals: ramp.decimals, registered: findAsset(ramp.asset) },
    ramp: ramp.id,
    belongsTo: ramp,
    enabled: false,
  });
  const contract = findAsset(ramp.asset)?.contract ?? null;
  const address = found.address;
  await insertEmptyBalance(tx, { chain, network }, { address, contract }, actor.at);
  await handOutAddress(tx, actor, {
    id: newId(actor.at),
    account: account.id,
    ramp: ramp.id,
    target_account: null,
    chain,
    network,
    address: found.address,
    derivation_key: found.index,
    xpub,
    asset: ramp.asset,
    data,
    owner: account.owner,
    created_at: actor.at,
  });
  await enqueue(tx, actor, "account.enable", { account: account.id });
}

async function addAddressRow(
  tx: LedgerTx,
  actor: Actor,
  of: Wanted & { account: AccountRow },
): Promise<void> {
  const branch = await takeIndex(tx, of.ramp.id);
  if (branch === null) {
    const why = "no address is handed out before the ramp is reconciled, a worker has confirmed" +
      " the database, or the realm's seed is back";
    throw new DomainError("chain.quarantined", why);
  }
  const { chain, network, xpub, taken } = branch;
  const address = await addressOf(branch);
  const contract = findAsset(of.account.asset)?.contract ?? null;
  await insertEmptyBalance(tx, { chain, network }, { address, contract }, actor.at);
  await handOutAddress(tx, actor, {
    id: newId(actor.at),
    account: of.account.id,
    ramp: of.ramp.id,
    target_account: of.target?.id ?? null,
    chain,
    network,
    address,
    derivation_key: taken,
    xpub,
    asset: of.account.asset,
    data: of.data,
    owner: of.account.owner,
    created_at: actor.at,
  });
  if (!needsReserve(branch)) return;
  await enqueue(tx, actor, "ramp.reserve", { account: of.ramp.id }, { dedupe: of.ramp.id });
}

/** Addresses that a worker derived for a ramp. */
export interface DerivedRamp {
  /** Null on Solana. */
  xpub: string | null;
  /** The ramp's own address, then the reserved ones. */
  addresses: readonly string[];
}

/**
 * Stores the addresses that a worker derived for a ramp. Repeating it changes nothing.
 *
 * @returns the account that is ready now; null if it was ready before
 */
async function openRamp(
  tx: LedgerTx,
  actor: Actor,
  ramp: RampRow,
  derived: DerivedRamp,
): Promise<AccountRow | null> {
  const { xpub, addresses } = derived;
  if (!await markOpened(tx, ramp, xpub)) return null;
  const account = (await selectAccount(tx, ramp.account))!;
  const contract = findAsset(account.asset)?.contract ?? null;
  await insertEmptyBalance(tx, ramp, { address: addresses[0], contract }, actor.at);
  await reserveAddresses(tx, actor, { ramp: ramp.account, from: 0, addresses });
  await handOutAddress(tx, actor, {
    id: newId(actor.at),
    account: account.id,
    ramp: account.id,
    target_account: null,
    chain: ramp.chain,
    network: ramp.network,
    address: addresses[0],
    derivation_key: 0,
    xpub,
    asset: account.asset,
    data: {},
    owner: account.owner,
    created_at: actor.at,
  });
  return await markEnabled(tx, account.id);
}

/**
 * Gives the address of an index that was taken.
 *
 * @throws {DomainError} chain.stale where no xpub exists and the addresses derived ahead are used up
 */
async function addressOf(branch: TakenRow): Promise<string> {
  const { chain, network, xpub, taken, reserved_address } = branch;
  if (xpub !== null) {
    return await deriveAddress(chain as ChainId, network as Network, xpub, taken);
  }
  if (reserved_address !== null) return reserved_address;
  const why = "the addresses that were derived ahead are used up: a worker has to derive more";
  throw new DomainError("chain.stale", why);
}

/**
 * Stores the addresses that a worker derived for a ramp account, enables it and emits the event.
 * Repeating it changes nothing.
 */
export async function openRampAccount(
  tx: LedgerTx,
  actor: Actor,
  ramp: RampRow,
  derived: DerivedRamp,
): Promise<void> {
  const row = await openRamp(tx, actor, ramp, derived);
  if (row === null) return;
  const view = viewAccount(row, { address: derived.addresses[0], assets: "0" });
  await emit(tx, actor, "account.enabled", { id: row.id, owner: row.owner, view });
}

/** Parameters of a list of addresses. */
export const AddressList = z.strictObject({
  limit: z.coerce.number().int().min(1).max(LIMIT_MAX).default(LIMIT_MAX),
  after: z.uuid().optional().meta({ description: "The last address of the previous page." }),
});

/**
 * Lists the deposit addresses of an account, oldest first.
 *
 * @throws {DomainError} account.not_found; query.invalid for an answer too large
 */
export async function listAddresses(
  db: Db,
  actor: Actor,
  { account: id, after, limit }: z.infer<typeof AddressList> & { account: string },
): Promise<Record<string, unknown>[]> {
  const account = await findAccount(db, actor, id);
  const shown: Record<string, unknown>[] = [];
  const hasRoom = openAnswer();
  for (let last = after ?? null; shown.length < limit;) {
    const most = Math.min(READ_AT_ONCE, limit - shown.length);
    const rows = await selectAddresses(db, account.id, { after: last, limit: most });
    shown.push(...answerable(rows.map((row) => viewAddress(row, actor)), hasRoom));
    if (rows.length < most) break;
    last = rows.at(-1)!.id;
  }
  return shown;
}

/** Addresses that are read at once: each may come with a free-form object. */
const READ_AT_ONCE = 200;
