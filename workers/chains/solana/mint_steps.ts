/** Steps by which a token is deployed, read from the bytes of a transaction. @module */
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM } from "./networks.ts";

/** Codes of the instructions that a deployment has. */
export const MINT_CODES = {
  createWithSeed: 3,
  initializeMint: 20,
  mintTo: 7,
  setAuthority: 6,
  /** The authority that may make more of a token. */
  mintTokens: 0,
  metadataPointer: 39,
  writeMetadata: [210, 225, 30, 162, 88, 184, 77, 141],
} as const;

/** Code, decimals, the key that makes more, and no further key. */
const UNFROZEN_BYTES = 1 + 1 + 32 + 1;
/** Code and amount. */
const MINT_BYTES = 1 + 8;

/** One step of a deployment, as its bytes tell. */
export type MintStep =
  | { readonly step: "create"; readonly mint: string; readonly payer: string }
  | { readonly step: "point"; readonly mint: string }
  | { readonly step: "begin"; readonly mint: string; readonly decimals: number }
  | { readonly step: "name"; readonly mint: string }
  | { readonly step: "supply"; readonly mint: string; readonly to: string; readonly amount: bigint }
  | { readonly step: "end"; readonly mint: string };

/** Reads a step of a deployment; null for any other instruction. */
export function readMintStep(
  program: string,
  accounts: readonly string[],
  data: Uint8Array,
): MintStep | null {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (program === SYSTEM_PROGRAM) {
    const isCreation = data.length > 4 && view.getUint32(0, true) === MINT_CODES.createWithSeed;
    return isCreation ? { step: "create", payer: accounts[0], mint: accounts[1] } : null;
  }
  if (program !== TOKEN_2022_PROGRAM) return null;
  const [mint, second] = accounts;
  if (MINT_CODES.writeMetadata.every((byte, at) => data[at] === byte)) {
    return { step: "name", mint };
  }
  switch (data[0]) {
    case MINT_CODES.metadataPointer:
      return { step: "point", mint };
    case MINT_CODES.initializeMint:
      // Of this length, it names nobody who may freeze.
      return data.length === UNFROZEN_BYTES && data.at(-1) === 0
        ? { step: "begin", mint, decimals: data[1] }
        : null;
    case MINT_CODES.mintTo:
      return data.length === MINT_BYTES
        ? { step: "supply", mint, to: second, amount: view.getBigUint64(1, true) }
        : null;
    case MINT_CODES.setAuthority:
      return data.join() === [MINT_CODES.setAuthority, MINT_CODES.mintTokens, 0].join()
        ? { step: "end", mint }
        : null;
    default:
      return null;
  }
}
