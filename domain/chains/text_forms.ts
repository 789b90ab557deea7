/**
 * Forms of addresses and of hashes of transactions: a text as a person has it, in the forms in which
 * it may be stored. Nothing is refused: what is on no chain is found nowhere.
 * @module
 */
import { type ChainId, chainInfo, CHAINS } from "../assets.ts";
import { NETWORKS, parseAddress, parseContract } from "./addresses.ts";

/** Whether a text may be an address: letters and digits, at most one prefix. */
const ADDRESS = /^(?:[A-Za-z]{2,12}:)?[0-9A-Za-z]{20,128}$/;
const HEX_HASH = /^(?:0x)?([0-9a-fA-F]{64})$/;
/** Of Solana a transaction's hash is its first signature: 64 bytes in base58. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{80,90}$/;

/** The forms in which an address may be stored: as it is given, and canonical on each chain. */
export async function addressForms(text: string, only?: ChainId): Promise<string[]> {
  if (!ADDRESS.test(text)) return [];
  const forms = new Set([text]);
  for (const { id, family } of CHAINS) {
    if (only !== undefined && id !== only) continue;
    if (family !== "bitcoin") {
      const parsed = await parseContract(id, text);
      if (parsed.ok) forms.add(parsed.address);
      continue;
    }
    for (const network of NETWORKS) {
      const parsed = await parseAddress(id, network, text);
      if (parsed.ok) forms.add(parsed.address);
    }
  }
  return [...forms];
}

/** An EVM address without a checksum, a bech32 address in capitals, and one of CashAddr with or without its prefix. */
const PLAIN_EVM = /^0x[0-9a-f]{40}$/;
const CAPITALS = /^[A-Z]{2,12}[1:][0-9A-Z]{20,128}$/;
const CASHADDR = /^[qp](?:[0-9a-z]{41}|[0-9a-z]{60})$|^[QP](?:[0-9A-Z]{41}|[0-9A-Z]{60})$/;
/** An address of CashAddr that says that its wallet knows tokens; it is stored without that. */
const CASHADDR_TOKENS = /^(?:[a-z]{2,12}:)?[zr](?:[0-9a-z]{41}|[0-9a-z]{60})$/i;
const CASHADDR_PREFIXES = ["bitcoincash:", "bchtest:", "bchreg:"];

/**
 * The spellings of an address in which it may be stored. Cheap enough for each of ten thousand transfers: what a spelling
 * stands for is mostly not checked, because it is only compared with addresses that were.
 */
export async function addressSpellings(text: string): Promise<string[]> {
  if (PLAIN_EVM.test(text)) {
    const parsed = await parseContract("ETHEREUM", text);
    return parsed.ok ? [text, parsed.address] : [text];
  }
  if (CASHADDR_TOKENS.test(text)) {
    const parsed = await Promise.all(
      NETWORKS.map((network) => parseAddress("BITCOIN_CASH", network, text)),
    );
    return [text, ...parsed.flatMap((one) => one.ok ? [one.address] : [])];
  }
  const small = text.toLowerCase();
  if (CASHADDR.test(text)) return [text, ...CASHADDR_PREFIXES.map((prefix) => prefix + small)];
  return CAPITALS.test(text) ? [text, small] : [text];
}

/** The forms in which the hash of a transaction may be stored. */
export function hashForms(text: string): string[] {
  if (SIGNATURE.test(text)) return [text];
  const hex = HEX_HASH.exec(text)?.[1].toLowerCase();
  return hex === undefined ? [] : [hex, `0x${hex}`];
}

/** The form of a transaction's hash on a chain; null for a text that is none. */
export function hashFormOf(chain: ChainId, text: string): string | null {
  const { family } = chainInfo(chain);
  if (family === "solana") return SIGNATURE.test(text) ? text : null;
  const [hex, prefixed] = SIGNATURE.test(text) ? [] : hashForms(text);
  return (family === "evm" ? prefixed : hex) ?? null;
}
