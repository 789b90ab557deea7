/**
 * Checks and carries out one transaction, in the order of `Manager.processTransaction` of java-tron:
 * reference block, expiry and size, repetition, signature, bandwidth, memo fee, then the contract's own
 * rules. A refusal is an exception; a contract that fails is a result, and its fee is taken.
 * @module
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { computeAddress } from "ethers";
import type { Executed, Machine } from "./machine.ts";
import {
  type Call,
  callOf,
  type ContractResult,
  createdBy,
  encodeTransaction,
  type Transaction,
} from "./messages.ts";
import type { Message } from "./protobuf.ts";
import {
  burn,
  type ChainParameters,
  energyLeft,
  type NetBill,
  payEnergy,
  takeActivation,
  takeBandwidth,
} from "./resources.ts";
import { adjust, change, emptyAccount, type World } from "./world.ts";

/** Codes of `GrpcAPI.Return.response_code`, spelled as there. */
export type RefusalCode =
  | "SIGERROR"
  | "CONTRACT_VALIDATE_ERROR"
  | "CONTRACT_EXE_ERROR"
  | "BANDWITH_ERROR"
  | "DUP_TRANSACTION_ERROR"
  | "TAPOS_ERROR"
  | "TOO_BIG_TRANSACTION_ERROR"
  | "TRANSACTION_EXPIRATION_ERROR"
  | "SERVER_BUSY"
  | "BLOCK_UNSOLIDIFIED"
  | "OTHER_ERROR";

/** A transaction that the node does not take. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  constructor(readonly code: RefusalCode, message: string) {
    super(message);
  }
}

/** Where a transaction is carried out. */
export interface Setting {
  readonly machine: Machine;
  readonly parameters: ChainParameters;
  /** Ten-thousandths of extra energy, by contract. */
  readonly factors: ReadonlyMap<string, bigint>;
  /** Hash of the recent block whose number ends in these two bytes. */
  refBlockHash(bytes: string): string | undefined;
  /** Tells whether the chain or the pool has it. */
  has(id: string): boolean;
  readonly headTime: bigint;
  /** The block that it becomes part of; for the pool, the head. */
  readonly number: bigint;
  readonly timestamp: bigint;
}

/** A transaction carried out. */
export interface Processed {
  readonly transaction: Transaction;
  readonly contractRet: ContractResult;
  /** `TransactionInfo` without the block's number and time. */
  readonly info: Message;
}

const RESULT_BYTES = 64n;
const SIGNATURE_BYTES = 65n;
const TRANSACTION_BYTES_MAX = 512_000n;
const EXPIRATION_MAX = 86_400_000n;
const SLOT = 3_000n;
const ADDRESS = /^41[0-9a-f]{40}$/;

function invalid(message: string): Refusal {
  return new Refusal("CONTRACT_VALIDATE_ERROR", `Contract validate error : ${message}`);
}

/**
 * Carries out a transaction and changes the world.
 * @throws {Refusal} the world may be changed in part, so give it a copy
 */
export async function processTransaction(
  setting: Setting,
  world: World,
  transaction: Transaction,
): Promise<Processed> {
  const call = callOf(transaction);
  if (!call) throw invalid("No contract!");
  checkReference(setting, transaction);
  checkExpiry(setting, transaction);
  const bytes = BigInt(encodeTransaction(transaction).length / 2);
  if (bytes + 2n * RESULT_BYTES > TRANSACTION_BYTES_MAX) {
    const text = `Too big transaction, the size is ${bytes} bytes`;
    throw new Refusal("TOO_BIG_TRANSACTION_ERROR", text);
  }
  if (setting.has(transaction.id)) {
    throw new Refusal("DUP_TRANSACTION_ERROR", "Dup transaction.");
  }
  checkSignature(transaction, call);
  const net = consumeBandwidth(setting, world, call, {
    whole: bytes + RESULT_BYTES,
    unsigned: bytes - SIGNATURE_BYTES * BigInt(transaction.signatures.length),
  });
  const memo = consumeMemo(setting, world, transaction, call);
  const receipt = {
    ...(net.usage > 0n && { net_usage: net.usage }),
    ...(net.fee > 0n && { net_fee: net.fee }),
  };
  if (call.type === "TransferContract" || call.type === "TransferAssetContract") {
    const fee = call.type === "TransferContract"
      ? transfer(setting, world, call)
      : transferAsset(setting, world, call);
    return built(transaction, "SUCCESS", fee + net.fee + memo, { contractResult: [""], receipt });
  }
  return await runContract(setting, world, transaction, call, { receipt, burnt: net.fee + memo });
}

function built(
  transaction: Transaction,
  contractRet: ContractResult,
  fee: bigint,
  rest: Message,
): Processed {
  const info = { id: transaction.id, ...(fee > 0n && { fee }), ...rest };
  return { transaction, contractRet, info };
}

/** `Manager.validateTapos` */
function checkReference({ refBlockHash }: Setting, { fields }: Transaction): void {
  const known = refBlockHash(fields.ref_block_bytes as string ?? "");
  if (!known || known !== fields.ref_block_hash) {
    throw new Refusal("TAPOS_ERROR", "Tapos check error.");
  }
}

/** `Manager.validateCommon` and `TransactionCapsule.checkExpiration` */
function checkExpiry({ headTime }: Setting, { fields }: Transaction): void {
  const expiration = fields.expiration as bigint | undefined ?? 0n;
  const isOver = expiration <= headTime || expiration < headTime + SLOT;
  if (isOver || expiration > headTime + EXPIRATION_MAX) {
    throw new Refusal("TRANSACTION_EXPIRATION_ERROR", "Transaction expired");
  }
}

/** `TransactionCapsule.validateSignature`, for accounts whose owner's key is the only one. */
function checkSignature({ id, signatures }: Transaction, call: Call): void {
  const refuse = (text: string) => new Refusal("SIGERROR", `Validate signature error: ${text}`);
  if (signatures.length === 0) throw refuse("miss sig or contract");
  if (call.permission !== 0n && call.permission !== 2n) throw refuse("permission isn't exit");
  if (signatures.length > 1) {
    throw refuse(`Signature count is ${signatures.length} more than key counts of permission : 1`);
  }
  const [signature] = signatures;
  if (signature.length < 130) throw refuse(`Signature size is ${signature.length / 2}`);
  const signer = recover(id, signature);
  if (signer !== call.owner) {
    throw refuse(`${signature} is signed by ${signer} but it is not contained of permission.`);
  }
}

function recover(id: string, signature: string): string {
  const v = parseInt(signature.slice(128, 130), 16);
  const recovery = (v < 27 ? v : v - 27).toString(16).padStart(2, "0");
  try {
    const bytes = Uint8Array.fromHex(recovery + signature.slice(0, 128));
    const key = secp256k1.recoverPublicKey(bytes, Uint8Array.fromHex(id), { prehash: false });
    return `41${computeAddress(`0x${key.toHex()}`).slice(2).toLowerCase()}`;
  } catch {
    return "nobody";
  }
}

/** `BandwidthProcessor.consume` */
function consumeBandwidth(
  { parameters, headTime }: Setting,
  world: World,
  { type, owner, value }: Call,
  bytes: { readonly whole: bigint; readonly unsigned: bigint },
): NetBill {
  if (!world.accounts.has(owner)) throw invalid(`account [${owner}] does not exist`);
  const isTransfer = type === "TransferContract" || type === "TransferAssetContract";
  const isNew = isTransfer && !world.accounts.has(value.to_address as string ?? "");
  if (isNew && bytes.unsigned > parameters.getMaxCreateAccountTxSize) {
    const text = `Too big new account transaction, the size is ${bytes.unsigned} bytes`;
    throw new Refusal("TOO_BIG_TRANSACTION_ERROR", text);
  }
  const take = isNew ? takeActivation : takeBandwidth;
  const bill = take(world, owner, bytes.whole, headTime / SLOT, parameters);
  if (!bill) throw new Refusal("BANDWITH_ERROR", "Account resource insufficient error.");
  return bill;
}

/** `Manager.consumeMemoFee` */
function consumeMemo(
  { parameters }: Setting,
  world: World,
  { fields }: Transaction,
  { owner }: Call,
): bigint {
  if (!fields.data) return 0n;
  const bill = burn(world, owner, parameters.getMemoFee);
  if (!bill) throw new Refusal("BANDWITH_ERROR", "Account resource insufficient error.");
  return bill.fee;
}

/** Checks that both transfers share; gives the cost of the receiver's account. */
function checkReceiver({ parameters }: Setting, world: World, { owner, value }: Call): bigint {
  const to = value.to_address as string ?? "";
  if (!ADDRESS.test(owner)) throw invalid("Invalid ownerAddress!");
  if (!ADDRESS.test(to)) throw invalid("Invalid toAddress!");
  if ((value.amount as bigint ?? 0n) <= 0n) throw invalid("Amount must be greater than 0.");
  if (to === owner) throw invalid("Cannot transfer TRX to yourself.");
  if (world.contracts.has(to)) throw invalid("Cannot transfer TRX to a smartContract.");
  return world.accounts.has(to) ? 0n : parameters.getCreateNewAccountFeeInSystemContract;
}

function activate(world: World, address: string, now: bigint): void {
  if (!world.accounts.has(address)) world.accounts.set(address, emptyAccount(now));
}

/** `TransferActuator`. Gives the fee. */
function transfer(setting: Setting, world: World, call: Call): bigint {
  const fee = checkReceiver(setting, world, call);
  const amount = call.value.amount as bigint;
  const to = call.value.to_address as string;
  if (world.accounts.get(call.owner)!.balance < amount + fee) {
    throw invalid("Validate TransferContract error, balance is not sufficient.");
  }
  activate(world, to, setting.timestamp);
  adjust(world, call.owner, -(amount + fee));
  adjust(world, to, amount);
  return fee;
}

/** `TransferAssetActuator`: TRC-10. Gives the fee. */
function transferAsset(setting: Setting, world: World, call: Call): bigint {
  const fee = checkReceiver(setting, world, call);
  const amount = call.value.amount as bigint;
  const to = call.value.to_address as string;
  const hex = call.value.asset_name as string ?? "";
  const asset = new TextDecoder().decode(Uint8Array.fromHex(hex));
  const owner = world.accounts.get(call.owner)!;
  const held = owner.assets[asset] ?? 0n;
  if (held < amount) throw invalid("assetBalance is not sufficient.");
  if (owner.balance < fee) throw invalid("Validate TransferAssetActuator error, insufficient fee.");
  activate(world, to, setting.timestamp);
  adjust(world, call.owner, -fee);
  change(world, call.owner, { assets: { ...owner.assets, [asset]: held - amount } });
  const { assets } = world.accounts.get(to)!;
  change(world, to, { assets: { ...assets, [asset]: (assets[asset] ?? 0n) + amount } });
  return fee;
}

/** `VMActuator` */
async function runContract(
  setting: Setting,
  world: World,
  transaction: Transaction,
  call: Call,
  { receipt, burnt }: { receipt: Message; burnt: bigint },
): Promise<Processed> {
  const { parameters, headTime } = setting;
  const target = targetOf(world, transaction, call);
  const limit = transaction.fields.fee_limit as bigint | undefined ?? 0n;
  if (limit < 0n || limit > parameters.getMaxFeeLimit) {
    throw invalid(`feeLimit must be >= 0 and <= ${parameters.getMaxFeeLimit}`);
  }
  const account = world.accounts.get(call.owner)!;
  if (target.value < 0n) throw invalid("callValue must be >= 0");
  if (account.balance < target.value) {
    throw invalid("Validate InternalTransfer error, balance is not sufficient.");
  }
  const bought = (account.balance - target.value) / parameters.getEnergyFee;
  const available = energyLeft(account, headTime / SLOT) + bought;
  const allowed = limit / parameters.getEnergyFee;
  const executed = await setting.machine.run(world, {
    ...target,
    caller: call.owner,
    energy: available < allowed ? available : allowed,
    factor: setting.factors.get(target.contract) ?? 0n,
    number: setting.number,
    timestamp: setting.timestamp,
    id: transaction.id,
  });
  if (target.isNew && executed.result === "SUCCESS") {
    const { code } = world.contracts.get(target.contract)!;
    world.contracts.set(target.contract, { code, origin: call.owner });
  }
  const paid = payEnergy(world, call.owner, executed.energy, headTime / SLOT, parameters);
  return built(transaction, executed.result, burnt + paid.fee, {
    contractResult: [target.isNew ? "" : executed.returned],
    contract_address: target.contract,
    receipt: { ...energyReceipt(executed, paid), ...receipt, result: executed.result },
    ...(executed.logs.length > 0 && { log: executed.logs }),
    ...(executed.result !== "SUCCESS" && {
      result: "FAILED",
      resMessage: new TextEncoder().encode(executed.message).toHex(),
    }),
    ...(executed.internals.length > 0 && { internal_transactions: executed.internals }),
  });
}

function energyReceipt({ energy, penalty }: Executed, { usage, fee }: NetBill): Message {
  return {
    ...(usage > 0n && { energy_usage: usage }),
    ...(fee > 0n && { energy_fee: fee }),
    ...(energy > 0n && { energy_usage_total: energy }),
    ...(penalty > 0n && { energy_penalty_total: penalty }),
  };
}

function targetOf(
  world: World,
  { id }: Transaction,
  { type, owner, value }: Call,
): { contract: string; value: bigint; data: string; isNew: boolean } {
  if (type === "TriggerSmartContract") {
    const contract = value.contract_address as string ?? "";
    if (!world.contracts.has(contract)) throw invalid("No contract or not a smart contract");
    const data = value.data as string ?? "";
    return { contract, value: value.call_value as bigint ?? 0n, data, isNew: false };
  }
  const made = value.new_contract as Message | undefined ?? {};
  if (made.origin_address !== owner) throw invalid("OwnerAddress is not equals OriginAddress");
  if ((made.origin_energy_limit as bigint ?? 0n) <= 0n) {
    throw invalid("The originEnergyLimit must be > 0");
  }
  const contract = createdBy(id, owner);
  const bytecode = made.bytecode as string ?? "";
  return { contract, value: made.call_value as bigint ?? 0n, data: bytecode, isNew: true };
}
