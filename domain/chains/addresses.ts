/**
 * Parsing of addresses of each chain and network. The libraries that know the formats are loaded on first
 * use. A parsed address is well formed and payable; whether somebody holds its key cannot be known.
 * @module
 */
import { type ChainId, chainInfo, isCoinContract, tokenByContract } from "../assets.ts";
import { type Network, parseBitcoin, type Payee, type Refusal } from "./bitcoin_addresses.ts";
import { DomainError } from "../errors.ts";
import { parseSolana, parseSolanaWallet } from "./solana_addresses.ts";
import { parseTron } from "./tron_addresses.ts";

export { type Network } from "./bitcoin_addresses.ts";

/** All networks that a chain may be followed on. */
export const NETWORKS: readonly Network[] = ["main", "testnet", "signet", "regtest"];

/** Result of parsing an address: its canonical form, or why it is refused. */
export type ParsedAddress = { readonly ok: true; readonly address: string } | Refusal;

/** Longest address that is read; no format comes near it. */
const LENGTH_MAX = 128;

/**
 * Reads an address to be paid or watched: checksum, chain, network, and that it is not the
 * contract of a known token. EVM, Solana and Tron addresses are the same on every network.
 */
export async function parseAddress(
  chain: ChainId,
  network: Network,
  address: string,
): Promise<ParsedAddress> {
  if (chainInfo(chain).family === "bitcoin") {
    const payee = await parsePayee(chain, network, address);
    return payee.ok ? { ok: true, address: payee.address } : payee;
  }
  const parsed = await parseContract(chain, address);
  if (!parsed.ok) return parsed;
  const token = tokenByContract(chain, parsed.address);
  if (token) return refuse(`it is the contract of ${token.code}, not a wallet`);
  if (isCoinContract(chain, parsed.address)) return refuse("it is the coin's contract, no wallet");
  return chain === "SOLANA" ? await parseSolanaWallet(parsed.address) : parsed;
}

/** Reads the address of a contract or mint. The Bitcoin family has none. */
export async function parseContract(chain: ChainId, address: string): Promise<ParsedAddress> {
  const fault = lengthFault(address);
  if (fault) return refuse(fault);
  switch (chainInfo(chain).family) {
    case "evm":
      return await evm(address);
    case "tron":
      return await parseTron(address);
    case "solana":
      return await parseSolana(address);
    case "bitcoin":
      return refuse(`${chainInfo(chain).name} has no contracts`);
  }
}

/**
 * Returns the canonical form of an address.
 *
 * @throws {DomainError} address.invalid, with the reason
 */
export async function checkAddress(
  chain: ChainId,
  network: Network,
  address: string,
): Promise<string> {
  const parsed = await parseAddress(chain, network, address);
  if (!parsed.ok) throw invalid(chain, parsed);
  return parsed.address;
}

/**
 * Returns the output script that pays an address of the Bitcoin family.
 *
 * @throws {DomainError} address.invalid
 */
export async function scriptOf(
  chain: ChainId,
  network: Network,
  address: string,
): Promise<Uint8Array> {
  if (chainInfo(chain).family !== "bitcoin") {
    throw new TypeError(`${chain} has no output scripts`);
  }
  const payee = await parsePayee(chain, network, address);
  if (!payee.ok) throw invalid(chain, payee);
  return payee.script;
}

async function parsePayee(
  chain: ChainId,
  network: Network,
  address: string,
): Promise<Payee | Refusal> {
  const fault = lengthFault(address);
  return fault ? refuse(fault) : await parseBitcoin(chain, network, address);
}

function lengthFault(address: string): string | null {
  if (address === "") return "it is empty";
  return address.length > LENGTH_MAX ? "it is too long" : null;
}

async function evm(text: string): Promise<ParsedAddress> {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return refuse("it is not 0x and 40 hexadecimal digits");
  if (/^0x0+$/.test(text)) return refuse("it is the zero address");
  const { getAddress } = await import("ethers/address");
  const lower = text.toLowerCase();
  const address = getAddress(lower);
  if (text !== lower && text !== address) return refuse("the checksum (EIP-55) is wrong");
  return { ok: true, address };
}

function invalid(chain: ChainId, refusal: Refusal): DomainError {
  return new DomainError(
    "address.invalid",
    `not an address to pay on ${chainInfo(chain).name}: ${refusal.reason}`,
  );
}

function refuse(reason: string): Refusal {
  return { ok: false, reason };
}
