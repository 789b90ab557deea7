/**
 * The instructions of our transactions, written and read back: limits of computing, transfers of SOL and
 * tokens, and token accounts made for receivers. A transaction with any other instruction is not ours.
 * @module
 */
import type { MessageCompiledInstruction, TransactionInstruction } from "@solana/web3.js";
import { tokenAddress } from "./accounts.ts";
import type { Web3 } from "./context.ts";
import { type MintStep, readMintStep } from "./mint_steps.ts";
import { ASSOCIATED_TOKEN_PROGRAM, SYSTEM_PROGRAM, TOKEN_PROGRAMS } from "./networks.ts";

/** The limits that a transaction asks for, and pays for by its price. */
export interface Limits {
  /** Compute units. */
  readonly computeLimit: number;
  /** Micro-lamports for each of them. */
  readonly price: bigint;
}

/** A transfer of a token from the account of one wallet to that of another. */
export interface TokenTransfer {
  readonly from: string;
  readonly to: string;
  readonly mint: string;
  readonly program: string;
  readonly decimals: number;
  /** Base units. */
  readonly amount: bigint;
  /** The sender's token account; the associated one unless given. */
  readonly account?: string;
}

/** A token account that is closed when it is empty: its rent goes to a wallet. */
export interface Closing {
  readonly account: string;
  readonly owner: string;
  readonly program: string;
  /** The wallet that gets the rent. */
  readonly to: string;
}

/** One effect of a transaction. */
export type Effect =
  | { readonly kind: "limit"; readonly computeLimit: number }
  | { readonly kind: "price"; readonly price: bigint }
  | { readonly kind: "coin"; readonly from: string; readonly to: string; readonly amount: bigint }
  | ({ readonly kind: "token" } & Required<TokenTransfer>)
  | ({ readonly kind: "close" } & Closing)
  | { readonly kind: "deploy"; readonly of: MintStep }
  | {
    readonly kind: "account";
    readonly payer: string;
    readonly account: string;
    readonly wallet: string;
  };

const COMPUTE_PROGRAM = "ComputeBudget111111111111111111111111111111";
const COMPUTE = 2;
const PRICE = 3;
const TRANSFER = 2;
const TRANSFER_CHECKED = 12;
const CLOSE_ACCOUNT = 9;
/** Makes an account unless it is there. */
const CREATE_IDEMPOTENT = 1;

/** Asks for limits. */
export function limitInstructions(
  web3: Web3,
  { computeLimit, price }: Limits,
): TransactionInstruction[] {
  const { ComputeBudgetProgram } = web3;
  return [
    ComputeBudgetProgram.setComputeUnitLimit({ units: computeLimit }),
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: price }),
  ];
}

/** Moves lamports. */
export function coinInstruction(
  { PublicKey, SystemProgram }: Web3,
  { from, to, amount }: { from: string; to: string; amount: bigint },
): TransactionInstruction {
  return SystemProgram.transfer({
    fromPubkey: new PublicKey(from),
    toPubkey: new PublicKey(to),
    lamports: amount,
  });
}

/**
 * Moves a token to the associated account of a wallet. The receiving wallet is named as one more
 * account, which the token program ignores: the bytes alone then tell who is paid.
 */
export function tokenInstruction(web3: Web3, of: TokenTransfer): TransactionInstruction {
  const { PublicKey, TransactionInstruction } = web3;
  const { mint, program } = of;
  const account = (wallet: string) => new PublicKey(tokenAddress(web3, { wallet, mint, program }));
  const data = new Uint8Array(10);
  const view = new DataView(data.buffer);
  view.setUint8(0, TRANSFER_CHECKED);
  view.setBigUint64(1, of.amount, true);
  view.setUint8(9, of.decimals);
  return new TransactionInstruction({
    programId: new PublicKey(program),
    keys: [
      {
        pubkey: of.account === undefined ? account(of.from) : new PublicKey(of.account),
        isSigner: false,
        isWritable: true,
      },
      { pubkey: new PublicKey(mint), isSigner: false, isWritable: false },
      { pubkey: account(of.to), isSigner: false, isWritable: true },
      { pubkey: new PublicKey(of.from), isSigner: true, isWritable: false },
      { pubkey: new PublicKey(of.to), isSigner: false, isWritable: false },
    ],
    data: data as never,
  });
}

/** Closes an empty token account. */
export function closeInstruction(web3: Web3, of: Closing): TransactionInstruction {
  const { PublicKey, TransactionInstruction } = web3;
  return new TransactionInstruction({
    programId: new PublicKey(of.program),
    keys: [
      { pubkey: new PublicKey(of.account), isSigner: false, isWritable: true },
      { pubkey: new PublicKey(of.to), isSigner: false, isWritable: true },
      { pubkey: new PublicKey(of.owner), isSigner: true, isWritable: false },
    ],
    data: Uint8Array.of(CLOSE_ACCOUNT) as never,
  });
}

/** Makes the associated token account of a wallet, unless it is there. */
export function accountInstruction(
  web3: Web3,
  of: { payer: string; wallet: string; mint: string; program: string },
): TransactionInstruction {
  const { PublicKey, TransactionInstruction } = web3;
  const plain = (key: string) => ({
    pubkey: new PublicKey(key),
    isSigner: false,
    isWritable: false,
  });
  return new TransactionInstruction({
    programId: new PublicKey(ASSOCIATED_TOKEN_PROGRAM),
    keys: [
      { pubkey: new PublicKey(of.payer), isSigner: true, isWritable: true },
      { ...plain(tokenAddress(web3, of)), isWritable: true },
      ...[of.wallet, of.mint, SYSTEM_PROGRAM, of.program].map(plain),
    ],
    data: Uint8Array.of(CREATE_IDEMPOTENT) as never,
  });
}

/** Reads an instruction; null for any that is not ours. */
export function readEffect(
  web3: Web3,
  keys: readonly string[],
  { programIdIndex, accountKeyIndexes, data }: MessageCompiledInstruction,
): Effect | null {
  const program = keys[programIdIndex];
  const accounts = accountKeyIndexes.map((at) => keys[at]);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (program === COMPUTE_PROGRAM) return readLimit(view);
  if (program === SYSTEM_PROGRAM) {
    if (data.length !== 12 || view.getUint32(0, true) !== TRANSFER) {
      return deployEffect(readMintStep(program, accounts, data));
    }
    const [from, to] = accounts;
    return { kind: "coin", from, to, amount: view.getBigUint64(4, true) };
  }
  if (program === ASSOCIATED_TOKEN_PROGRAM) {
    if (data.length !== 1 || data[0] !== CREATE_IDEMPOTENT || accounts.length !== 6) return null;
    const [payer, account, wallet, mint, , owner] = accounts;
    const isOurs = TOKEN_PROGRAMS.includes(owner) &&
      tokenAddress(web3, { wallet, mint, program: owner }) === account;
    return isOurs ? { kind: "account", payer, account, wallet } : null;
  }
  if (!TOKEN_PROGRAMS.includes(program)) return null;
  if (data.length === 1 && data[0] === CLOSE_ACCOUNT && accounts.length === 3) {
    const [account, to, owner] = accounts;
    return { kind: "close", account, to, owner, program };
  }
  if (data.length !== 10 || data[0] !== TRANSFER_CHECKED || accounts.length !== 5) {
    return deployEffect(readMintStep(program, accounts, data));
  }
  const [source, mint, destination, from, to] = accounts;
  if (tokenAddress(web3, { wallet: to, mint, program }) !== destination) return null;
  const [amount, decimals] = [view.getBigUint64(1, true), data[9]];
  return { kind: "token", from, to, mint, program, decimals, amount, account: source };
}

function deployEffect(of: MintStep | null): Effect | null {
  return of === null ? null : { kind: "deploy", of };
}

function readLimit(view: DataView): Effect | null {
  if (view.byteLength === 5 && view.getUint8(0) === COMPUTE) {
    return { kind: "limit", computeLimit: view.getUint32(1, true) };
  }
  if (view.byteLength === 9 && view.getUint8(0) === PRICE) {
    return { kind: "price", price: view.getBigUint64(1, true) };
  }
  return null;
}
