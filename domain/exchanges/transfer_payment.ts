/** Payments to the addresses that exchanges name, and the checks of these. @module */
import type { LedgerTx } from "../../db/transaction.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import { selectOwnAddress } from "../../db/accounts/own_addresses.ts";
import type { Tx } from "../../db/database.ts";
import {
  lockRampTransfer,
  type RampTransferRow,
  selectLastAddress,
} from "../../db/exchanges/ramp_transfers.ts";
import { type ExternalRampRow, selectExternalRamps } from "../../db/exchanges/external_ramps.ts";
import { assertAccount } from "../accounts/accounts.ts";
import type { Actor, RequestActor } from "../actor.ts";
import type { ChainId } from "../assets.ts";
import { checkAddress, type Network } from "../chains/addresses.ts";
import { DomainError, invalidField } from "../errors.ts";
import type { InstallationSettings } from "../installation_settings.ts";
import { freeBlock } from "../ledger/blocks.ts";
import { compare, trim } from "../money.ts";
import { createWithdrawal } from "../withdrawals/withdrawals.ts";
import { isNetworkOf } from "./exchange_assets.ts";
import { changeTransfer, DOUBTFUL, ownerActor, RETRY_MIN_MS } from "./transfer_progress.ts";

/** The address that an exchange named. */
export interface NamedAddress {
  address: string | null;
  tag: string | null;
  network: string | null;
  currency: string | null;
}

/**
 * Makes the withdrawal of a transfer to the address that the exchange named, in the place of its
 * block. The address counts only if it is of the currency, valid on the chain, is not ours, needs no memo, and is
 * the expected one, or the one that was paid last; and only of the account at the exchange that the
 * transfer was ordered for. What arrives must be as much as the exchange credits.
 *
 * @throws {DomainError} address.invalid, permission.*, and those of a withdrawal
 */
export async function payExchange(
  tx: LedgerTx,
  actor: Actor,
  of: { id: string; named: NamedAddress; settings: InstallationSettings },
): Promise<void> {
  const row = await lockRampTransfer(tx, of.id);
  if (row === null || row.state !== "new" || row.kind !== "withdraw") return;
  const ramp = await assertPayable(tx, row);
  const address = await assertNamed(tx, row, of.named);
  const owner = await ownerOf(tx, actor, row, of.settings);
  assertAccount(owner, "write", await selectAccount(tx, row.account));
  await freeBlock(tx, row.block!);
  const withdrawal = await createWithdrawal(tx, owner, {
    source: { account: row.account },
    destination: { address },
    asset: row.asset,
    value: trim(row.value),
    fee: { paid_by: row.paid_by!, speed: row.speed! },
    ...(row.max_fee === null ? {} : { max_fee: trim(row.max_fee) }),
    data: { ramp_transfer: row.id },
  });
  assertCredited(ramp, row, withdrawal.amount);
  await changeTransfer(tx, actor, row.id, {
    ...{ state: "sent", address, withdrawal: withdrawal.id, tries: 0 },
    next_at: actor.at + RETRY_MIN_MS,
  });
}

/** Refuses a withdraw that a newer database may have paid, or whose account at the exchange may be another. */
async function assertPayable(tx: Tx, row: RampTransferRow): Promise<ExternalRampRow> {
  if (row.doubtful) throw new DomainError("version.conflict", DOUBTFUL);
  const [ramp] = await selectExternalRamps(tx, [row.external_ramp]);
  if (ramp.deleted_at !== null) {
    throw new DomainError("ramp.not_found", "the external ramp was deleted before it was paid");
  }
  if (ramp.credentials_at <= row.created_at) return ramp;
  throw new DomainError("version.conflict", "the authentication data were replaced after it");
}

/**
 * Refuses a payment of less than the exchange credits: it would be lost there.
 *
 * @param amount what arrives, in whole units
 * @throws {DomainError} request.invalid
 */
export function assertCredited(
  { assets }: Pick<ExternalRampRow, "assets">,
  { asset }: Pick<RampTransferRow, "asset">,
  amount: string,
): void {
  const least = assets.find((one) => one.asset === asset)?.withdraw_minimum ?? null;
  if (least === null || compare(amount, least) >= 0) return;
  throw invalidField(
    "/value",
    `the exchange credits at least ${least}, and ${amount} would arrive`,
  );
}

async function assertNamed(
  tx: Tx,
  row: RampTransferRow,
  { address: named, tag, network, currency }: NamedAddress,
): Promise<string> {
  const chain = row.chain as ChainId;
  if (named === null) throw refused("the exchange named no address");
  if (tag !== null) {
    throw refused("the exchange asks for a memo, which a payment cannot carry");
  }
  if (network !== null && !isNetworkOf(chain, network)) {
    throw refused("the exchange named an address of another network");
  }
  if (currency !== null && currency !== row.currency) {
    throw refused("the exchange named an address of another currency");
  }
  const address = await checkAddress(chain, row.network as Network, named);
  const { uses, reserved } = await selectOwnAddress(tx, address);
  if (uses.length > 0 || reserved) {
    throw refused("the exchange named an address of ours");
  }
  const expected = row.expected_address ?? await selectLastAddress(tx, row);
  if (expected !== null && expected !== address) {
    const why = "the exchange names another address than the expected one: read it at the" +
      " exchange, and give it as address";
    throw refused(why);
  }
  return address;
}

function refused(why: string): DomainError {
  return new DomainError("address.invalid", why);
}

/** The owner of a transfer with its present rights. */
async function ownerOf(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
  settings: InstallationSettings,
): Promise<RequestActor> {
  return { ...await ownerActor(tx, actor, row), settings };
}
