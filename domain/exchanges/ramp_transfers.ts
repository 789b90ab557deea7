/**
 * Transfers between exchanges and accounts. A deposit asks an exchange to pay to an address of ours;
 * a withdraw is a withdrawal of ours to an address of the exchange. Nothing outside is asked here.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import type { Db } from "../../db/database.ts";
import type { ExternalRampRow, OfferedAsset } from "../../db/exchanges/external_ramps.ts";
import {
  insertRampTransfer,
  lockRampTransfer,
  type RampTransferRow,
  selectRampTransfer,
  selectRampTransfers,
  selectReceivingAddress,
} from "../../db/exchanges/ramp_transfers.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import { selectQuarantinedPlaces } from "../../db/sending/quarantine.ts";
import { assertAccount, assertUsable } from "../accounts/accounts.ts";
import { assertReceivable } from "../accounts/ramps.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { findAsset } from "../assets.ts";
import { checkAddress } from "../chains/addresses.ts";
import { type ChainNetwork, chainNetworkFor } from "../chains/networks.ts";
import { assertSendable, type ChainAsset, resolveChainAsset } from "../chains/onchain_assets.ts";
import { rowFor } from "../collections/collection.ts";
import { type Page, parsePage } from "../collections/list_parameters.ts";
import { serveAccount } from "../deposits/deposit_accounts.ts";
import { DomainError, invalidField } from "../errors.ts";
import { isId, newId } from "../ids.ts";
import { enqueue } from "../jobs.ts";
import { openBlock } from "../ledger/blocks.ts";
import { assertScale, compare } from "../money.ts";
import { notFound, rightsOf } from "../permissions.ts";
import { findOwnAddress, rampOf } from "../sending/funds.ts";
import { assertNotStopped } from "../stops/stops.ts";
import { assertReady, EXTERNAL_RAMPS, shareOf } from "./external_ramps.ts";
import {
  type NewRampDeposit,
  type NewRampWithdraw,
  type RampTransferList,
  statesOf,
  type TransferResolution,
} from "./ramp_transfer_views.ts";
import { assertCredited } from "./transfer_payment.ts";
import { acceptDeposit, isClaimable, resumeTransfer } from "./deposit_progress.ts";
import {
  announceTransfer,
  failTransfer,
  finishTransfer,
  settleUnknown,
} from "./transfer_progress.ts";

const NOT_PAID = "a person found that it did not happen";

/** An account and what an exchange offers for its asset. */
interface TransferTarget {
  ramp: ExternalRampRow;
  account: AccountRow;
  asset: ChainAsset;
  offer: OfferedAsset;
  place: ChainNetwork;
}

/**
 * Orders that an exchange pays to the address of an account.
 *
 * @param input.isDryRun shows no address that the account does not have yet
 * @throws {DomainError} ramp.not_found, account.*, permission.*, asset.*, chain.*, upstream.*,
 *   stop.active, request.invalid
 */
export async function createRampDeposit(
  tx: LedgerTx,
  actor: RequestActor,
  input: NewRampDeposit & { ramp: string; isDryRun?: boolean },
): Promise<RampTransferRow> {
  const target = await resolveTarget(tx, actor, input, "deposit");
  const { account, offer, place } = target;
  if (!account.enabled) {
    throw new DomainError("account.not_enabled", "the account is not ready");
  }
  if (!account.active) {
    throw new DomainError("account.inactive", "the account is deactivated");
  }
  assertReceivable(findAsset(account.asset));
  if (offer.minimum !== null && compare(input.value, offer.minimum) < 0) {
    throw invalidField("/value", `the exchange pays out at least ${offer.minimum}`);
  }
  const known = await selectReceivingAddress(tx, account.id);
  const address = known ??
    await findOwnAddress(tx, (await serveAccount(tx, actor, { account, data: {} })).id);
  const stopped = { account: account.id, asset: account.asset, chain: place.chain };
  await assertNotStopped(tx, actor, { ...stopped, destination: address });
  const row = await insertTransfer(tx, actor, target, {
    ...{ id: newId(actor.at), kind: "deposit", value: input.value, data: input.data, address },
    ...{ expected_address: null, paid_by: null, speed: null, max_fee: null, block: null },
  });
  // An address that is not given out after all will be somebody else's.
  return known === null && input.isDryRun ? { ...row, address: null } : row;
}

/**
 * Orders a withdrawal to the address that an exchange will name. The value is blocked until then.
 *
 * @throws {DomainError} ramp.not_found, account.*, permission.*, asset.*, chain.*, upstream.*,
 *   balance.insufficient, address.invalid, stop.active, request.invalid
 */
export async function createRampWithdraw(
  tx: LedgerTx,
  actor: RequestActor,
  input: NewRampWithdraw & { ramp: string },
): Promise<RampTransferRow> {
  const target = await resolveTarget(tx, actor, input, "withdraw");
  const { ramp, account, asset, place } = target;
  assertCredited(ramp, { asset: asset.code }, input.value);
  await rampOf(tx, account, asset);
  assertUsable(account, "account");
  assertSendable(asset.code);
  const expected = input.address === undefined
    ? null
    : await checkAddress(place.chain, place.network, input.address);
  const stopped = { account: account.id, asset: account.asset, chain: place.chain };
  await assertNotStopped(tx, actor, { ...stopped, destination: expected ?? "" });
  const id = newId(actor.at);
  const block = await openBlock(tx, actor, {
    account,
    amount: input.value,
    reason: "transfer to an exchange",
    reference: id,
  });
  return await insertTransfer(tx, actor, target, {
    ...{ id, kind: "withdraw", value: input.value, data: input.data, address: null },
    ...{ expected_address: expected, ...input.fee, max_fee: input.max_fee ?? null },
    block: block.id,
  });
}

async function resolveTarget(
  tx: LedgerTx,
  actor: RequestActor,
  input: { ramp: string; account: string; asset: string; value: string; max_fee?: string },
  kind: RampTransferRow["kind"],
): Promise<TransferTarget> {
  const ramp = await rowFor(tx, actor, EXTERNAL_RAMPS, input.ramp, "write");
  assertReady(ramp);
  const account = isId(input.account) ? await selectAccount(tx, input.account) : null;
  assertAccount(actor, "write", account, "/account");
  if (account.asset !== input.asset) {
    throw new DomainError("account.asset_mismatch", `the account is of ${account.asset}`);
  }
  if (account.testnet) {
    throw new DomainError("asset.no_testnet", "exchanges have no test networks");
  }
  const asset = await resolveChainAsset(tx, account.asset);
  const offer = ramp.assets.find((one) => one.asset === asset.code && asset.token === null);
  if (offer === undefined) {
    throw new DomainError("asset.unknown", `the exchange moves no ${asset.code}`);
  }
  if (!offer[kind]) {
    throw new DomainError("asset.suspended", `the exchange moves no ${asset.code} so for now`);
  }
  assertScale(input.value, kind === "deposit" ? offer.decimals : asset.decimals, "/value");
  assertScale(input.max_fee ?? "0", asset.decimals, "/max_fee");
  const place = chainNetworkFor(actor.settings.chains, asset.chain, false);
  return { ramp, account, asset, offer, place };
}

async function insertTransfer(
  tx: LedgerTx,
  actor: Actor,
  { ramp, account, asset, offer, place }: TransferTarget,
  wanted: Pick<
    RampTransferRow,
    | "id"
    | "kind"
    | "value"
    | "data"
    | "address"
    | "expected_address"
    | "paid_by"
    | "speed"
    | "max_fee"
    | "block"
  >,
): Promise<RampTransferRow> {
  const row = await insertRampTransfer(tx, {
    ...wanted,
    external_ramp: ramp.id,
    exchange: ramp.ramp,
    account: account.id,
    asset: asset.code,
    currency: offer.currency,
    exchange_network: offer.network,
    offered_fee: wanted.kind === "deposit" ? offer.fee : null,
    chain: place.chain,
    network: place.network,
    owner: actor.user,
    // Compared with the time of credentials, which another process may have taken: one clock dates both.
    created_at: await selectDatabaseTime(tx),
  });
  await announceTransfer(tx, actor, row);
  const share = shareOf(actor.user, ramp.id);
  await enqueue(tx, actor, "exchange.advance", { transfer: row.id }, { dedupe: row.id, share });
  return row;
}

/** A transfer of an external ramp. */
export interface TransferName {
  ramp: string;
  transfer: string;
}

/**
 * Finds a transfer of an external ramp.
 *
 * @throws {DomainError} ramp.not_found, transfer.not_found
 */
export async function findRampTransfer(
  db: Db,
  actor: Actor,
  name: TransferName,
): Promise<RampTransferRow> {
  const ramp = await rowFor(db, actor, EXTERNAL_RAMPS, name.ramp, "read");
  const row = isId(name.transfer) ? await selectRampTransfer(db, name.transfer) : null;
  if (row === null || row.external_ramp !== ramp.id) {
    throw notFound("transfer.not_found");
  }
  return row;
}

/**
 * Lists the transfers of an external ramp, oldest first.
 *
 * @throws {DomainError} ramp.not_found, query.invalid
 */
export async function listRampTransfers(
  db: Db,
  actor: Actor,
  input: RampTransferList & { ramp: string },
): Promise<{ rows: RampTransferRow[]; total: number; page: Page }> {
  const page = parsePage(input);
  const ramp = await rowFor(db, actor, EXTERNAL_RAMPS, input.ramp, "read");
  const states = input.status === undefined ? null : statesOf(input.status);
  const part = { states, limit: page.limit, offset: page.offset };
  return { ...await selectRampTransfers(db, ramp.id, part), page };
}

/**
 * Ends the wait of a transfer by what a person knows of it, or names the id of its payment anew after another was named.
 *
 * @throws {DomainError} ramp.not_found, transfer.not_found, permission.*, version.conflict unless
 *   it waits for a person, request.invalid; of a withdraw that the database does not know to be paid
 *   also chain.quarantined, stop.active, account.*
 */
export async function resolveRampTransfer(
  tx: LedgerTx,
  actor: Actor,
  input: TransferResolution & TransferName,
): Promise<RampTransferRow> {
  await rowFor(tx, actor, EXTERNAL_RAMPS, input.ramp, "write");
  const { id } = await findRampTransfer(tx, actor, input);
  const row = (await lockRampTransfer(tx, id))!;
  const isNamedAnew = input.reference !== undefined && isClaimable(row, input.reference);
  if (row.state !== "unclear" && !isNamedAnew) {
    throw new DomainError("version.conflict", "the transfer waits for nobody");
  }
  if (input.outcome === "sent" && row.kind === "withdraw") {
    throw invalidField("/outcome", "a withdraw is sent by its withdrawal");
  }
  if (row.kind === "withdraw" && row.withdrawal === null) {
    return await resolveUnknown(tx, actor, row, input.outcome);
  }
  if (input.outcome === "done") {
    const end = row.kind === "deposit" ? acceptDeposit : finishTransfer;
    return await end(tx, actor, row);
  }
  if (input.outcome === "sent") {
    return await resumeTransfer(tx, actor, row, input.reference!);
  }
  return await failTransfer(tx, actor, row, { code: "upstream.failed", detail: NOT_PAID });
}

/**
 * Ends a withdraw that was perhaps paid by a newer database. Its value goes back, or is the ramp's, by
 * the word of whoever manages the realm: its owner would gain by saying that it was not paid.
 *
 * @throws {DomainError} permission.owner, chain.quarantined, block.closed, account.*, asset.*
 */
async function resolveUnknown(
  tx: LedgerTx,
  actor: Actor,
  row: RampTransferRow,
  outcome: TransferResolution["outcome"],
): Promise<RampTransferRow> {
  if (rightsOf(actor).write !== "all") {
    const why = "it may have been paid: the realm's managers resolve it";
    throw new DomainError("permission.owner", why);
  }
  const { chain, network } = row;
  const places = await selectQuarantinedPlaces(tx);
  if (places.some((one) => one.chain === chain && one.network === network)) {
    throw new DomainError("chain.quarantined", "the chain is not reconciled yet");
  }
  if (outcome === "failed") {
    return await failTransfer(tx, actor, row, { code: "upstream.failed", detail: NOT_PAID });
  }
  const account = (await selectAccount(tx, row.account))!;
  const ramp = await rampOf(tx, account, await resolveChainAsset(tx, row.asset));
  return await settleUnknown(tx, actor, row, ramp.id);
}
