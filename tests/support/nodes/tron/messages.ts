/**
 * Messages of the Tron protocol that the test node reads and writes, from
 * `protocol/src/main/protos/core/Tron.proto` and `core/contract/*.proto` of tronprotocol/java-tron.
 * @module
 */
import { keccak256, sha256 } from "ethers";
import {
  decode,
  encode,
  type Field,
  field,
  fromJson,
  MalformedMessage,
  type Message,
} from "./protobuf.ts";

/** Kinds of a transaction that the node carries out; java-tron knows more. */
const CONTRACT_TYPES = {
  TransferContract: 1,
  TransferAssetContract: 2,
  CreateSmartContract: 30,
  TriggerSmartContract: 31,
} as const;

/** Name of a kind of transaction. */
export type ContractType = keyof typeof CONTRACT_TYPES;

/** `Transaction.Result.contractResult` */
const CONTRACT_RESULTS = {
  DEFAULT: 0,
  SUCCESS: 1,
  REVERT: 2,
  BAD_JUMP_DESTINATION: 3,
  OUT_OF_MEMORY: 4,
  PRECOMPILED_CONTRACT: 5,
  STACK_TOO_SMALL: 6,
  STACK_TOO_LARGE: 7,
  ILLEGAL_OPERATION: 8,
  STACK_OVERFLOW: 9,
  OUT_OF_ENERGY: 10,
  OUT_OF_TIME: 11,
  JVM_STACK_OVER_FLOW: 12,
  UNKNOWN: 13,
  TRANSFER_FAILED: 14,
  INVALID_CODE: 15,
} as const;

/** Outcome of a transaction. */
export type ContractResult = keyof typeof CONTRACT_RESULTS;

const SMART_CONTRACT: readonly Field[] = [
  field("origin_address", 1, "bytes"),
  field("contract_address", 2, "bytes"),
  field("bytecode", 4, "bytes"),
  field("call_value", 5, "integer"),
  field("consume_user_resource_percent", 6, "integer"),
  field("name", 7, "string"),
  field("origin_energy_limit", 8, "integer"),
];

/** The parameter of each kind of transaction. */
export const PARAMETERS: Readonly<Record<ContractType, readonly Field[]>> = {
  TransferContract: [
    field("owner_address", 1, "bytes"),
    field("to_address", 2, "bytes"),
    field("amount", 3, "integer"),
  ],
  TransferAssetContract: [
    field("asset_name", 1, "bytes"),
    field("owner_address", 2, "bytes"),
    field("to_address", 3, "bytes"),
    field("amount", 4, "integer"),
  ],
  CreateSmartContract: [
    field("owner_address", 1, "bytes"),
    field("new_contract", 2, { fields: SMART_CONTRACT }),
    field("call_token_value", 3, "integer"),
    field("token_id", 4, "integer"),
  ],
  TriggerSmartContract: [
    field("owner_address", 1, "bytes"),
    field("contract_address", 2, "bytes"),
    field("call_value", 3, "integer"),
    field("data", 4, "bytes"),
    field("call_token_value", 5, "integer"),
    field("token_id", 6, "integer"),
  ],
};

const ANY: readonly Field[] = [field("type_url", 1, "string"), field("value", 2, "bytes")];

const CONTRACT: readonly Field[] = [
  field("type", 1, { values: CONTRACT_TYPES }),
  field("parameter", 2, { fields: ANY }),
  field("Permission_id", 5, "integer"),
];

/** `Transaction.raw` */
export const RAW: readonly Field[] = [
  field("ref_block_bytes", 1, "bytes"),
  field("ref_block_num", 3, "integer"),
  field("ref_block_hash", 4, "bytes"),
  field("expiration", 8, "integer"),
  field("data", 10, "bytes"),
  field("contract", 11, { fields: CONTRACT }, true),
  field("scripts", 12, "bytes"),
  field("timestamp", 14, "integer"),
  field("fee_limit", 18, "integer"),
];

const RESULT: readonly Field[] = [field("contractRet", 3, { values: CONTRACT_RESULTS })];

/** `Transaction` */
const TRANSACTION: readonly Field[] = [
  field("raw_data", 1, { fields: RAW }),
  field("signature", 2, "bytes", true),
  field("ret", 5, { fields: RESULT }, true),
];

/** `BlockHeader.raw` */
export const HEADER: readonly Field[] = [
  field("timestamp", 1, "integer"),
  field("txTrieRoot", 2, "bytes"),
  field("parentHash", 3, "bytes"),
  field("number", 7, "integer"),
  field("witness_address", 9, "bytes"),
  field("version", 10, "integer"),
];

/** A transaction as it travels between nodes: what the signature covers, and the signatures. */
export interface Transaction {
  /** `Transaction.raw` in hex; its hash is the id. */
  readonly raw: string;
  /** The same, decoded. */
  readonly fields: Message;
  readonly signatures: readonly string[];
  /** SHA-256 of the raw bytes, in hex. */
  readonly id: string;
}

/** A transaction's only contract, decoded. */
export interface Call {
  readonly type: ContractType;
  readonly permission: bigint;
  /** The parameter's fields. */
  readonly value: Message;
  /** The sender, 21 bytes in hex. */
  readonly owner: string;
}

/** SHA-256 of hex, in hex. */
export function sha256Hex(hex: string): string {
  return sha256(`0x${hex}`).slice(2);
}

/** Makes a transaction of its raw bytes. */
export function transactionOf(fields: Message, signatures: readonly string[]): Transaction {
  const raw = encode(RAW, fields);
  return { raw, fields, signatures, id: sha256Hex(raw) };
}

/**
 * Reads a transaction from the JSON of `broadcasttransaction`. Like java-tron's
 * `Util.packTransaction` it encodes `raw_data` anew, ignores `raw_data_hex` and `txID`, and leaves out
 * a contract whose parameter is not of its type.
 */
export function packTransaction(json: Readonly<Record<string, unknown>>): Transaction {
  const raw = json.raw_data as Readonly<Record<string, unknown>> | undefined;
  if (!raw || !Array.isArray(raw.contract)) throw new MalformedMessage("null");
  const contract = raw.contract.flatMap(packContract);
  const signature = json.signature ?? [];
  const message = fromJson(TRANSACTION, { raw_data: { ...raw, contract }, signature });
  return transactionOf(message.raw_data as Message, message.signature as string[]);
}

function packContract(json: Readonly<Record<string, unknown>>): unknown[] {
  const fields = PARAMETERS[json.type as ContractType];
  const given = json.parameter as { value?: unknown } | undefined;
  if (!fields || !given) return [];
  try {
    const value = encode(fields, fromJson(fields, given.value));
    const type_url = `type.googleapis.com/protocol.${json.type}`;
    return [{ ...json, parameter: { type_url, value } }];
  } catch (error) {
    if (error instanceof MalformedMessage) return [];
    throw error;
  }
}

/** Reads a transaction from the hex of `broadcasthex`. */
export function parseTransaction(hex: string): Transaction {
  const message = decode(TRANSACTION, hex);
  const raw = message.raw_data as Message | undefined ?? {};
  return transactionOf(raw, message.signature as string[] | undefined ?? []);
}

/** Bytes of a transaction without its result, in hex. */
export function encodeTransaction(
  { fields, signatures }: Transaction,
  ret?: ContractResult,
): string {
  return encode(TRANSACTION, {
    raw_data: fields,
    signature: signatures,
    ...(ret && { ret: [{ contractRet: ret }] }),
  });
}

/** Reads the only contract of a transaction; null if there is none, or more. */
export function callOf({ fields }: Transaction): Call | null {
  const contracts = fields.contract as readonly Message[] | undefined ?? [];
  if (contracts.length !== 1) return null;
  const [one] = contracts;
  const type = one.type as ContractType;
  const value = decode(PARAMETERS[type], (one.parameter as Message).value as string ?? "");
  const owner = value.owner_address as string | undefined ?? "";
  return { type, value, owner, permission: one.Permission_id as bigint | undefined ?? 0n };
}

/** Address of the contract that a transaction creates, 21 bytes in hex. */
export function createdBy(id: string, owner: string): string {
  return `41${keccak256(`0x${id}${owner}`).slice(26)}`;
}

/** Prints a transaction as the node's JSON does; one that creates a contract names its address. */
export function printTransaction(transaction: Transaction, ret?: ContractResult): Message {
  const { fields, raw, id, signatures } = transaction;
  const contracts = (fields.contract as readonly Message[] | undefined ?? []).map((one) => {
    const { type_url, value } = one.parameter as Message;
    const decoded = decode(PARAMETERS[one.type as ContractType], value as string ?? "");
    return { parameter: { value: decoded, type_url }, type: one.type };
  });
  const made = callOf(transaction);
  return {
    ...(ret && { ret: [{ contractRet: ret }] }),
    ...(signatures.length > 0 && { signature: [...signatures] }),
    txID: id,
    raw_data: { ...fields, contract: contracts },
    raw_data_hex: raw,
    ...(made?.type === "CreateSmartContract" && { contract_address: createdBy(id, made.owner) }),
  };
}
