/**
 * Reads the signed bytes of a mined transaction. A node's answer is believed only if its id is right, and if the
 * owner's key made the signature, which is no part of the id.
 * @module
 */
import { readList } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Ethers, Tron } from "./context.ts";
import { askRecord, hexOf } from "./node_answers.ts";
import { plainSignature, signerOf } from "./signer.ts";
import { readSigned, writeSigned } from "./transaction.ts";

/** Reads the signed bytes of a transaction; they prove its signer and its effects. */
export async function rawOf({ nodes, ethers }: Tron, hash: string): Promise<string> {
  return await nodes.ask(async (peer) => {
    const told = await askRecord(peer, "wallet/gettransactionbyid", { value: hash });
    const raw = hexOf(told.raw_data_hex, "a transaction");
    const [signature] = readList(told.signature ?? []);
    if (raw === "" || ethers.sha256(`0x${raw}`).slice(2) !== hash || signature === undefined) {
      throw new ChainError("unavailable", `${peer.name} does not show the bytes of ${hash}`);
    }
    const made = plainSignature(hexOf(signature, "a signature"));
    const signer = made === null ? null : signerOf(ethers, hash, made);
    const signed = writeSigned(raw, made ?? "");
    if (signer !== null && isOwnedBy(ethers, signed, signer)) return signed;
    throw new ChainError("unavailable", `${peer.name} shows ${hash} with another's signature`);
  });
}

/** Tells whether the signer owns a transaction; true in a form that Purser does not write and refuses later. */
function isOwnedBy(ethers: Ethers, signed: string, signer: string): boolean {
  try {
    return readSigned(ethers, signed).raw.contract.owner === signer;
  } catch (error) {
    if (error instanceof ChainError) return true;
    throw error;
  }
}
