/**
 * Accounts of Solana as a node shows them: wallets, mints and token accounts of both token programs. Data
 * is read from bytes, so a node cannot word it differently.
 * @module
 */
import { readList, readRecord, readText } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { IssuerRights } from "../observations.ts";
import type { Solana, Web3 } from "./context.ts";
import {
  ASSOCIATED_TOKEN_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAMS,
} from "./networks.ts";
import { readKey, readUnits } from "./node_answers.ts";

/** An account with its data. */
export interface Account {
  /** The program that owns it. */
  readonly program: string;
  readonly lamports: bigint;
  readonly data: Uint8Array;
  /** Whether it is a program itself. */
  readonly executable: boolean;
}

/** A token as its mint describes it. Amounts are base units. */
export interface Mint {
  /** The token program that it belongs to. */
  readonly program: string;
  readonly decimals: number;
  readonly supply: bigint;
  /** The key that may freeze accounts of holders; null for none. */
  readonly freezeAuthority: string | null;
  /** The key that may make more of it; null for none. */
  readonly mintAuthority: string | null;
  /** Data of its extensions by their numbers; none of the older program. */
  readonly extensions: ReadonlyMap<number, Uint8Array>;
}

/** An account that holds a token. Amounts are base units. */
export interface TokenAccount {
  readonly mint: string;
  /** The wallet that may spend it. */
  readonly owner: string;
  readonly amount: bigint;
  readonly isFrozen: boolean;
  /** Whether it takes only transfers that carry a memo. */
  readonly wantsMemo: boolean;
  /**
   * Whether its owner can close it once it is empty: not with fees of transfers that wait there for the token's
   * issuer, not with a confidential balance, and not where somebody who had it before kept the right to close it.
   */
  readonly isClosable: boolean;
}

/** Numbers of the extensions of Token-2022 that matter to a transfer. */
export const EXTENSIONS = {
  transferFee: 1,
  withheldFee: 2,
  closeAuthority: 3,
  confidentialMint: 4,
  confidentialAccount: 5,
  memoTransfer: 8,
  nonTransferable: 9,
  permanentDelegate: 12,
  transferHook: 14,
  confidentialFee: 17,
  pausable: 26,
} as const;

const MINT_BYTES = 82;
const TOKEN_ACCOUNT_BYTES = 165;
/** In a token account: whether somebody else than the owner may close it, and who. */
const CLOSER_AT = 129;
/** After a token account's length comes the kind of the account, then its extensions. */
const KIND_AT = TOKEN_ACCOUNT_BYTES;
const KINDS = { mint: 1, account: 2 } as const;
/** Of each extension: its number and its length, two bytes each. */
const HEADER_BYTES = 4;
/** The owner of an associated token account of Token-2022 never changes, which is an extension. */
const IMMUTABLE_OWNER_BYTES = HEADER_BYTES;
/** Bytes that an account of a token needs for the extensions of its mint. */
const ACCOUNT_PARTS: readonly (readonly [number, number])[] = [
  [EXTENSIONS.transferFee, HEADER_BYTES + 8],
  [EXTENSIONS.nonTransferable, HEADER_BYTES],
  [EXTENSIONS.transferHook, HEADER_BYTES + 1],
  [EXTENSIONS.pausable, HEADER_BYTES],
];
/** Lamports for each byte that an account keeps for ever, and the bytes that every account adds. */
const RENT_PER_BYTE = 6_960n;
const RENT_OVERHEAD_BYTES = 128n;
const CONFIRMED = { commitment: "confirmed", encoding: "base64" } as const;

/** Lamports that an account of so many bytes must hold to stay. */
export function rentOf(bytes: number): bigint {
  return (RENT_OVERHEAD_BYTES + BigInt(bytes)) * RENT_PER_BYTE;
}

/** Lamports that a new token account of a wallet costs. */
export function tokenAccountRent({ program, extensions }: Mint): bigint {
  if (program !== TOKEN_2022_PROGRAM) return rentOf(TOKEN_ACCOUNT_BYTES);
  const parts = ACCOUNT_PARTS.filter(([extension]) => extensions.has(extension));
  const more = parts.reduce((sum, [, bytes]) => sum + bytes, 1 + IMMUTABLE_OWNER_BYTES);
  return rentOf(TOKEN_ACCOUNT_BYTES + more);
}

/** Derives the associated token account of a wallet. */
export function tokenAddress(
  { PublicKey }: Web3,
  { wallet, mint, program }: { wallet: string; mint: string; program: string },
): string {
  const seeds = [wallet, program, mint].map((key) => new PublicKey(key).toBytes());
  const [derived] = PublicKey.findProgramAddressSync(
    seeds,
    new PublicKey(ASSOCIATED_TOKEN_PROGRAM),
  );
  return derived.toBase58();
}

/** Reads accounts as their newest confirmed state; null where there is none. */
export async function readAccounts(
  peer: Peer,
  keys: readonly string[],
): Promise<(Account | null)[]> {
  const answer = readRecord(
    await peer.call("getMultipleAccounts", [keys, CONFIRMED]),
    "accounts",
  );
  const listed = readList(answer.value);
  if (listed.length !== keys.length) {
    throw new ChainError(
      "unavailable",
      `${peer.name} gave ${listed.length} accounts of ${keys.length}`,
    );
  }
  return listed.map((one) => one === null ? null : readAccount(one));
}

/** Reads an account by the fields of its answer. */
export function readAccount(answer: unknown): Account {
  const fields = readRecord(answer, "an account");
  const [text, encoding] = readList(fields.data);
  if (encoding !== "base64") throw new ChainError("unavailable", "an account came in another form");
  return {
    program: readKey(fields.owner),
    lamports: readUnits(fields.lamports),
    data: bytesOf(readText(text, "the data of an account")),
    executable: fields.executable === true,
  };
}

/** Decodes base64. */
export function bytesOf(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    throw new ChainError("unavailable", "the node gave text that is not base64");
  }
}

/**
 * Reads the mint of a token.
 *
 * @throws {ChainError} `refused` if no token lives there
 */
export async function readMint(solana: Solana, peer: Peer, mint: string): Promise<Mint> {
  const [account] = await readAccounts(peer, [mint]);
  const read = account === null ? null : mintIn(solana.web3, account);
  if (read === null) throw new ChainError("refused", `no token lives at ${mint}`);
  return read;
}

/** Reads a mint; null where an account is none. */
export function mintIn(web3: Web3, { program, data }: Account): Mint | null {
  if (!TOKEN_PROGRAMS.includes(program)) return null;
  const plain = data.length === MINT_BYTES;
  if (!plain && !(data.length > KIND_AT && data[KIND_AT] === KINDS.mint)) return null;
  const view = viewOf(data);
  if (data[45] !== 1) return null;
  return {
    program,
    decimals: data[44],
    supply: view.getBigUint64(36, true),
    mintAuthority: view.getUint32(0, true) === 0 ? null : keyAt(web3, data, 4),
    freezeAuthority: view.getUint32(46, true) === 0 ? null : keyAt(web3, data, 50),
    extensions: plain ? new Map() : extensionsIn(data),
  };
}

/** Reads a token account; null where an account is none. */
export function tokenAccountIn(web3: Web3, { program, data }: Account): TokenAccount | null {
  if (!TOKEN_PROGRAMS.includes(program)) return null;
  const plain = data.length === TOKEN_ACCOUNT_BYTES;
  if (!plain && !(data.length > KIND_AT && data[KIND_AT] === KINDS.account)) return null;
  const extensions = plain ? new Map<number, Uint8Array>() : extensionsIn(data);
  const memo = extensions.get(EXTENSIONS.memoTransfer);
  const withheld = extensions.get(EXTENSIONS.withheldFee);
  const view = viewOf(data);
  const owner = keyAt(web3, data, 32);
  const closer = view.getUint32(CLOSER_AT, true) === 0 ? owner : keyAt(web3, data, CLOSER_AT + 4);
  return {
    mint: keyAt(web3, data, 0),
    owner,
    amount: view.getBigUint64(64, true),
    isFrozen: data[108] === 2,
    wantsMemo: memo?.[0] === 1,
    isClosable: closer === owner && !withheld?.some((byte) => byte !== 0) &&
      !extensions.has(EXTENSIONS.confidentialAccount) &&
      !extensions.has(EXTENSIONS.confidentialFee),
  };
}

/** Reads the rights of a mint's issuer, beside those to freeze. */
export function issuerRightsOf(web3: Web3, mint: Mint): IssuerRights {
  const keyOf = (extension: number): string | null => {
    const data = mint.extensions.get(extension);
    const key = data === undefined || data.length < 32 ? SYSTEM_PROGRAM : keyAt(web3, data, 0);
    return key === SYSTEM_PROGRAM ? null : key; // 32 zeros stand for none
  };
  return {
    mint: mint.mintAuthority,
    permanentDelegate: keyOf(EXTENSIONS.permanentDelegate),
    pause: keyOf(EXTENSIONS.pausable),
    close: keyOf(EXTENSIONS.closeAuthority),
    transferHook: transferHookOf(web3, mint),
    confidentialTransfers: mint.extensions.has(EXTENSIONS.confidentialMint),
  };
}

/** The program that runs at each transfer of a token; null for none. */
export function transferHookOf(web3: Web3, { extensions }: Mint): string | null {
  const hook = extensions.get(EXTENSIONS.transferHook);
  if (hook === undefined || hook.length < 64) return null;
  const program = keyAt(web3, hook, 32);
  return program === SYSTEM_PROGRAM ? null : program; // 32 zeros stand for none
}

/** Names the reason why an account is no wallet; null if it is one, or not there yet. */
export function notWallet(web3: Web3, account: Account | null): string | null {
  if (account === null) return null;
  if (account.executable) return "it is a program, not a wallet";
  if (tokenAccountIn(web3, account) !== null) {
    return "it is a token account, not a wallet: give the wallet that owns it";
  }
  if (mintIn(web3, account) !== null) return "it is the mint of a token, not a wallet";
  if (account.program !== SYSTEM_PROGRAM) return `it belongs to the program ${account.program}`;
  return account.data.length === 0 ? null : "it holds data: it is no wallet";
}

function extensionsIn(data: Uint8Array): Map<number, Uint8Array> {
  const view = viewOf(data);
  const found = new Map<number, Uint8Array>();
  let at = KIND_AT + 1;
  while (at + HEADER_BYTES <= data.length) {
    const [kind, length] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
    if (kind === 0) break;
    found.set(kind, data.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length));
    at += HEADER_BYTES + length;
  }
  return found;
}

function keyAt({ PublicKey }: Web3, data: Uint8Array, at: number): string {
  return new PublicKey(data.subarray(at, at + 32)).toBase58();
}

function viewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}
