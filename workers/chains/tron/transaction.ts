/**
 * Tron transactions as bytes. Purser builds and reads them itself: no node is asked to build one. Only bytes that
 * this module would write in the same way are read, so a transaction has no part that is not looked at.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Ethers } from "./context.ts";
import { bytesField, readFields, textField, wholeField } from "./protobuf.ts";

/** A contract of a transaction: what it does. Addresses are `41` and 40 hexadecimal digits. */
export type TronContract =
  | {
    readonly type: "TransferContract";
    readonly owner: string;
    readonly to: string;
    /** Sun. */
    readonly amount: bigint;
  }
  | {
    readonly type: "TriggerSmartContract";
    readonly owner: string;
    readonly contract: string;
    /** Call data, as hexadecimal digits. */
    readonly data: string;
  }
  | {
    readonly type: "CreateSmartContract";
    readonly owner: string;
    /** As hexadecimal digits, the constructor's arguments at the end. */
    readonly bytecode: string;
    readonly name: string;
  };

/** A transaction without its signature. */
export interface TronRaw {
  /** The last two bytes of a recent block's height, as hexadecimal digits. */
  readonly refBlockBytes: string;
  /** Bytes 8 to 15 of that block's id, as hexadecimal digits. */
  readonly refBlockHash: string;
  /** Milliseconds since 1970, by the clock of blocks, from which no block takes it. */
  readonly expiration: bigint;
  /** Milliseconds since 1970; nodes check it against nothing. */
  readonly timestamp: bigint;
  /** The memo, as hexadecimal digits. */
  readonly memo: string;
  /** Sun that its energy may cost; 0 where it runs no contract. */
  readonly feeLimit: bigint;
  /** What it does. */
  readonly contract: TronContract;
}

/** A signed transaction read from its bytes. */
export interface SignedTron {
  /** What was signed. */
  readonly raw: TronRaw;
  /** Transaction id: SHA-256 of the bytes that were signed. */
  readonly id: string;
  /** 65 bytes, as hexadecimal digits. */
  readonly signature: string;
}

/** Numbers of `Transaction.Contract.ContractType`. */
const TYPES = {
  TransferContract: 1n,
  CreateSmartContract: 30n,
  TriggerSmartContract: 31n,
} as const;
const TYPE_URL = "type.googleapis.com/protocol.";
/** A deployed token pays nothing for its callers: they pay their energy in full. */
const CALLER_PAYS_PER_CENT = 100n;
/** Tron demands a limit above 0 of the energy that the deployer would pay. */
const ORIGIN_ENERGY_LIMIT = 10_000_000n;
/** Bytes that a node adds to a transaction when it counts bandwidth, for the result. */
const RESULT_BYTES = 64;
const SIGNATURE_DIGITS = 130;

/** Writes what is signed, as hexadecimal digits. */
export function writeRaw({ contract, ...raw }: TronRaw): string {
  const parameter = textField(1, TYPE_URL + contract.type) +
    bytesField(2, writeParameter(contract));
  const written = wholeField(1, TYPES[contract.type]) + bytesField(2, parameter);
  return bytesField(1, raw.refBlockBytes) + bytesField(4, raw.refBlockHash) +
    wholeField(8, raw.expiration) + bytesField(10, raw.memo) + bytesField(11, written) +
    wholeField(14, raw.timestamp) + wholeField(18, raw.feeLimit);
}

/** Writes a signed transaction, as hexadecimal digits. */
export function writeSigned(raw: string, signature: string): string {
  return bytesField(1, raw) + bytesField(2, signature);
}

/** Counts the bandwidth of a transaction: its signed bytes, and room for its result. */
export function bandwidthOf(raw: TronRaw): bigint {
  const bytes = writeSigned(writeRaw(raw), "0".repeat(SIGNATURE_DIGITS)).length / 2;
  return BigInt(bytes + RESULT_BYTES);
}

/**
 * Reads a signed transaction.
 *
 * @throws {ChainError} `refused` for bytes that this module would not write
 */
export function readSigned({ sha256 }: Ethers, hex: string): SignedTron {
  const [{ bytes: raw }, { bytes: signature }] = fieldsOf(hex, [1, 2]);
  if (raw === null || signature === null || signature.length !== SIGNATURE_DIGITS) throw foreign();
  const read = readRaw(raw);
  if (writeRaw(read) !== raw || writeSigned(raw, signature) !== hex) throw foreign();
  return { raw: read, id: sha256(`0x${raw}`).slice(2), signature };
}

/** Gives the address of the contract that a transaction creates: `41` and 40 hexadecimal digits. */
export function createdBy({ keccak256 }: Ethers, id: string, owner: string): string {
  return `41${keccak256(`0x${id}${owner}`).slice(26)}`;
}

function writeParameter(contract: TronContract): string {
  switch (contract.type) {
    case "TransferContract":
      return bytesField(1, contract.owner) + bytesField(2, contract.to) +
        wholeField(3, contract.amount);
    case "TriggerSmartContract":
      return bytesField(1, contract.owner) + bytesField(2, contract.contract) +
        bytesField(4, contract.data);
    case "CreateSmartContract": {
      const made = bytesField(1, contract.owner) + bytesField(4, contract.bytecode) +
        wholeField(6, CALLER_PAYS_PER_CENT) + textField(7, contract.name) +
        wholeField(8, ORIGIN_ENERGY_LIMIT);
      return bytesField(1, contract.owner) + bytesField(2, made);
    }
  }
}

function readRaw(hex: string): TronRaw {
  const read = new Map(readFields(hex).map((one) => [one.number, one]));
  const whole = (number: number) => read.get(number)?.whole ?? 0n;
  const bytes = (number: number) => read.get(number)?.bytes ?? "";
  return {
    refBlockBytes: bytes(1),
    refBlockHash: bytes(4),
    expiration: whole(8),
    memo: bytes(10),
    contract: readContract(bytes(11)),
    timestamp: whole(14),
    feeLimit: whole(18),
  };
}

function readContract(hex: string): TronContract {
  const [{ whole: type }, { bytes: parameter }] = fieldsOf(hex, [1, 2]);
  const [, { bytes: value }] = fieldsOf(parameter ?? "", [1, 2]);
  const fields = new Map(readFields(value ?? "").map((one) => [one.number, one]));
  const bytes = (number: number) => fields.get(number)?.bytes ?? "";
  const owner = bytes(1);
  switch (type) {
    case TYPES.TransferContract: {
      const amount = fields.get(3)?.whole ?? 0n;
      return { type: "TransferContract", owner, to: bytes(2), amount };
    }
    case TYPES.TriggerSmartContract:
      return { type: "TriggerSmartContract", owner, contract: bytes(2), data: bytes(4) };
    case TYPES.CreateSmartContract: {
      const made = new Map(readFields(bytes(2)).map((one) => [one.number, one]));
      const name = new TextDecoder().decode(Uint8Array.fromHex(made.get(7)?.bytes ?? ""));
      const bytecode = made.get(4)?.bytes ?? "";
      return { type: "CreateSmartContract", owner, bytecode, name };
    }
    default:
      throw foreign();
  }
}

/** Reads a message that has exactly these fields. */
function fieldsOf(hex: string, numbers: readonly number[]): ReturnType<typeof readFields> {
  const fields = readFields(hex);
  if (fields.map(({ number }) => number).join() !== numbers.join()) throw foreign();
  return fields;
}

function foreign(): ChainError {
  return new ChainError("refused", "the transaction has a form that Purser does not write");
}
