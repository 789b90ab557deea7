/**
 * Proof that a transaction used a nonce: its signature, which only the holder of the key can have made,
 * whatever a node answers.
 * @module
 */
import { readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import { readCip64 } from "./cip64.ts";
import type { Evm } from "./context.ts";
import { bytes } from "./node_answers.ts";

/** The nonce that was used. */
export interface NoncePlace {
  /** In lower case. */
  readonly address: string;
  /** Its number. */
  readonly nonce: number;
}

/**
 * Makes sure that the owner of a nonce signed the transaction that a node names as its user: the
 * hash is computed again from the bytes, and the signer is recovered from the signature.
 *
 * @throws {ChainError} `unavailable` if a node does not prove it
 */
export async function assertTook(
  evm: Evm,
  peer: Peer,
  { address, nonce }: NoncePlace,
  hash: string,
): Promise<void> {
  const signed = await signedBy(evm, peer, hash);
  if (signed === null || signed.hash?.toLowerCase() !== hash || signed.nonce !== nonce) {
    throw new ChainError("unavailable", `${peer.name} does not prove ${hash}`);
  }
  if (signed.from?.toLowerCase() === address) return;
  throw new ChainError("unavailable", `${peer.name} shows ${hash}, which another has signed`);
}

/** Tells whether the fields of a transaction bear the signature of an address, with its nonce. */
export function isSignedBy(
  { ethers }: Evm,
  given: Record<string, unknown>,
  { address, nonce }: NoncePlace,
  hash: string,
): boolean {
  try {
    const signed = ethers.Transaction.from(fieldsOf(given));
    return signed.hash === hash && signed.nonce === nonce &&
      signed.from?.toLowerCase() === address;
  } catch {
    return false; // a kind that the library does not know, or no transaction at all
  }
}

/** Reads a transaction from its bytes, or assembles these where a node gives only the fields. */
async function signedBy({ ethers }: Evm, peer: Peer, hash: string) {
  const raw = await rawOf(peer, hash);
  try {
    if (raw?.startsWith("0x7b")) return readCip64(ethers, raw);
    if (raw !== null) return ethers.Transaction.from(raw);
    const given = await peer.call("eth_getTransactionByHash", [hash]);
    return given === null
      ? null
      : ethers.Transaction.from(fieldsOf(readRecord(given, "a transaction")));
  } catch (error) {
    if (error instanceof ChainError || error instanceof RpcError) throw error;
    return null; // no transaction that the library knows, so none that our key has signed
  }
}

async function rawOf(peer: Peer, hash: string): Promise<string | null> {
  try {
    const raw = await peer.call("eth_getRawTransactionByHash", [hash]);
    return raw === null || raw === "0x" ? null : bytes(raw);
  } catch (error) {
    if (error instanceof RpcError) return null; // not every node offers it
    throw error;
  }
}

function fieldsOf(given: Record<string, unknown>) {
  const text = (name: string) => typeof given[name] === "string" ? given[name] as string : null;
  const type = Number(text("type") ?? "0x0");
  const price = type === 2
    ? {
      maxFeePerGas: text("maxFeePerGas"),
      maxPriorityFeePerGas: text("maxPriorityFeePerGas"),
    }
    : { gasPrice: text("gasPrice") };
  const v = text("yParity") ?? text("v");
  const chainId = type > 0 || BigInt(v ?? 0) > 28n ? text("chainId") : null;
  return {
    type,
    ...price,
    ...(chainId === null ? {} : { chainId }),
    ...(type > 0 ? { accessList: (given.accessList ?? []) as [] } : {}),
    nonce: Number(text("nonce")),
    to: text("to"),
    value: text("value"),
    data: text("input"),
    gasLimit: text("gas"),
    signature: { r: text("r")!, s: text("s")!, v: type > 0 ? v! : text("v")! },
  };
}
