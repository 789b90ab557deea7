/**
 * Reads the signed bytes of a mined transaction. A node's answer is believed only if its hash is
 * right.
 * @module
 */
import { readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Evm } from "./context.ts";
import { isHex } from "../rpc.ts";

/** Reads the signed bytes of a transaction; they prove its signer and its effects. */
export async function rawOf(evm: Evm, hash: string): Promise<string> {
  const { keccak256 } = evm.ethers;
  return await evm.nodes.ask(async (peer) => {
    const [told, given] = await peer.batch([
      { method: "eth_getRawTransactionByHash", params: [hash] },
      { method: "eth_getTransactionByHash", params: [hash] },
    ]);
    if (
      typeof told === "string" && told.startsWith("0x") && isHex(told.slice(2)) &&
      keccak256(told) === hash
    ) {
      return told;
    }
    const raw = given instanceof Error || given === null ? null : written(evm, given);
    if (raw !== null && keccak256(raw) === hash) return raw;
    throw new ChainError("unavailable", `${peer.name} does not show the bytes of ${hash}`);
  });
}

/** Encodes a transaction from the fields that a node gives. */
function written({ ethers }: Evm, given: unknown): string | null {
  const told = readRecord(given, "a transaction");
  const text = (name: string) => typeof told[name] === "string" ? told[name] as string : undefined;
  try {
    return ethers.Transaction.from({
      type: Number(told.type ?? 0),
      chainId: text("chainId"),
      nonce: Number(told.nonce),
      to: text("to") ?? null,
      value: text("value"),
      data: text("input"),
      gasLimit: text("gas"),
      ...(Number(told.type ?? 0) < 2 ? { gasPrice: text("gasPrice") } : {
        maxFeePerGas: text("maxFeePerGas"),
        maxPriorityFeePerGas: text("maxPriorityFeePerGas"),
      }),
      accessList: (told.accessList ?? undefined) as [],
      signature: { r: padded(text("r")), s: padded(text("s")), v: text("v") ?? text("yParity") },
    } as unknown as string).serialized;
  } catch {
    return null;
  }
}

function padded(hex: string | undefined): string {
  return `0x${(hex ?? "0x").slice(2).padStart(64, "0")}`;
}
