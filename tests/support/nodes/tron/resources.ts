/**
 * Bandwidth and energy of the test's Tron chain, as `ResourceProcessor`, `BandwidthProcessor` and
 * `ReceiptCapsule` of java-tron charge them. Use decays over a day of slots; a payment takes its
 * whole bandwidth from one source: staked, then free, then burnt TRX. The deployer of a contract pays
 * no energy here.
 * @module
 */
import { adjust, change, type TronAccount, type World } from "./world.ts";

/** Parameters that the committee sets, by the keys of `getchainparameters`. Amounts are sun. */
export interface ChainParameters {
  readonly getCreateAccountFee: bigint;
  readonly getTransactionFee: bigint;
  readonly getCreateNewAccountFeeInSystemContract: bigint;
  readonly getCreateNewAccountBandwidthRate: bigint;
  /** Bytes, without its signatures, of a payment that makes its receiver's account. */
  readonly getMaxCreateAccountTxSize: bigint;
  readonly getEnergyFee: bigint;
  readonly getMaxFeeLimit: bigint;
  readonly getFreeNetLimit: bigint;
  readonly getMemoFee: bigint;
}

/** The main network's, of which `getEnergyFee` changed most often (420, 210, 100). */
export const CHAIN_PARAMETERS: ChainParameters = {
  getCreateAccountFee: 100_000n,
  getTransactionFee: 1_000n,
  getCreateNewAccountFeeInSystemContract: 1_000_000n,
  getCreateNewAccountBandwidthRate: 1n,
  getMaxCreateAccountTxSize: 1_000n,
  getEnergyFee: 100n,
  getMaxFeeLimit: 15_000_000_000n,
  getFreeNetLimit: 600n,
  getMemoFee: 1_000_000n,
};

/** Bandwidth that a payment used or burnt TRX for. */
export interface NetBill {
  readonly usage: bigint;
  readonly fee: bigint;
}

/** Slots of three seconds in a day. */
const WINDOW = 28_800n;
const PRECISION = 1_000_000n;

/** What is left of a use after the slots that have passed: `ResourceProcessor.increase`. */
export function decayed(used: bigint, at: bigint, now: bigint): bigint {
  if (now - at >= WINDOW) return 0n;
  const average = (used * PRECISION + WINDOW - 1n) / WINDOW;
  const rest = (average * (WINDOW - (now - at)) + WINDOW / 2n) / WINDOW;
  return rest * WINDOW / PRECISION;
}

/** Energy of staked TRX that is left at a slot. */
export function energyLeft(
  { energyLimit, energyUsed, energyAt }: TronAccount,
  now: bigint,
): bigint {
  const left = energyLimit - decayed(energyUsed, energyAt, now);
  return left > 0n ? left : 0n;
}

/** Takes the bandwidth of a payment to an account that exists; null if the sender cannot pay. */
export function takeBandwidth(
  world: World,
  owner: string,
  bytes: bigint,
  now: bigint,
  parameters: ChainParameters,
): NetBill | null {
  const account = world.accounts.get(owner)!;
  if (takeStaked(world, owner, bytes, now)) return { usage: bytes, fee: 0n };
  const free = decayed(account.freeUsed, account.freeAt, now);
  if (bytes <= parameters.getFreeNetLimit - free) {
    change(world, owner, { freeUsed: free + bytes, freeAt: now });
    return { usage: bytes, fee: 0n };
  }
  return burn(world, owner, bytes * parameters.getTransactionFee);
}

/** Takes the bandwidth of a payment that makes its receiver's account; free bandwidth does not serve. */
export function takeActivation(
  world: World,
  owner: string,
  bytes: bigint,
  now: bigint,
  parameters: ChainParameters,
): NetBill | null {
  const usage = bytes * parameters.getCreateNewAccountBandwidthRate;
  if (takeStaked(world, owner, usage, now)) return { usage, fee: 0n };
  return burn(world, owner, parameters.getCreateAccountFee);
}

function takeStaked(world: World, owner: string, bytes: bigint, now: bigint): boolean {
  const { netLimit, netUsed, netAt } = world.accounts.get(owner)!;
  const used = decayed(netUsed, netAt, now);
  if (bytes > netLimit - used) return false;
  change(world, owner, { netUsed: used + bytes, netAt: now });
  return true;
}

/** Burns a fee; null if the account holds less. */
export function burn(world: World, owner: string, fee: bigint): NetBill | null {
  if (world.accounts.get(owner)!.balance < fee) return null;
  adjust(world, owner, -fee);
  return { usage: 0n, fee };
}

/** Pays for energy: staked first, burnt TRX for the rest. */
export function payEnergy(
  world: World,
  owner: string,
  energy: bigint,
  now: bigint,
  parameters: ChainParameters,
): NetBill {
  const account = world.accounts.get(owner)!;
  const left = energyLeft(account, now);
  const usage = left < energy ? left : energy;
  const used = decayed(account.energyUsed, account.energyAt, now);
  change(world, owner, { energyUsed: used + usage, energyAt: now });
  const fee = (energy - usage) * parameters.getEnergyFee;
  adjust(world, owner, -fee);
  return { usage, fee };
}
