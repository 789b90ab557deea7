/** Instructions of both token programs, and mints and token accounts made with them. @module */
import { Keypair, PublicKey, SystemProgram, TransactionInstruction } from "@solana/web3.js";
import type { AccountMeta } from "@solana/web3.js";
import {
  ASSOCIATED_TOKEN_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from "../../../workers/chains/solana/networks.ts";
import type { Surfpool } from "./surfpool.ts";

/** A mint whose authority is the payer of its node. */
export interface TestMint {
  readonly address: string;
  readonly program: string;
  readonly decimals: number;
}

/** How a mint is made. */
export interface MintOptions {
  readonly program?: string;
  readonly decimals?: number;
  /** May freeze. */
  readonly freezer?: string;
  /** Basis points that the token keeps of each transfer (Token-2022 only). */
  readonly fee?: number;
}

/** Bytes of a mint and of a token account, and of a mint with a transfer fee. */
const SIZES = { mint: 82, account: 165, feeMint: 278, feeAccount: 178 } as const;
const FEE_MAX = 10n ** 12n;

/** Makes a mint. */
export async function makeMint(
  node: Surfpool,
  { program = TOKEN_PROGRAM, decimals = 6, freezer, fee }: MintOptions = {},
): Promise<TestMint> {
  const mint = Keypair.generate();
  const payer = node.payer.publicKey.toBytes();
  const freezes = freezer === undefined ? [0] : [1, ...new PublicKey(freezer).toBytes()];
  const setFee = fee === undefined ? [] : [
    instruction(program, [writes(mint.publicKey)], [
      ...[26, 0, 1, ...payer, 1, ...payer],
      ...[fee & 255, fee >> 8, ...units(FEE_MAX)],
    ]),
  ];
  await node.send([
    await makeAccount(node, mint, program, fee === undefined ? SIZES.mint : SIZES.feeMint),
    ...setFee,
    instruction(program, [writes(mint.publicKey)], [20, decimals, ...payer, ...freezes]),
  ], [mint]);
  return { address: mint.publicKey.toBase58(), program, decimals };
}

/** Puts a mint of Token-2022 with a name at an address, as the registry knows it. */
export async function plantMint(
  node: Surfpool,
  { address, symbol, decimals }: { address: string; symbol: string; decimals: number },
): Promise<TestMint> {
  const authority = node.payer.publicKey.toBytes();
  const text = (one: string) => [...[one.length, 0, 0, 0], ...new TextEncoder().encode(one)];
  const metadata = [
    ...authority,
    ...new PublicKey(address).toBytes(),
    ...[...text(symbol), ...text(symbol), ...text(""), 0, 0, 0, 0],
  ];
  const { account } = SIZES;
  const data = new Uint8Array(account + 5 + metadata.length);
  data.set([1, 0, 0, 0, ...authority]);
  data.set([decimals, 1], 44);
  data.set([1, 19, 0, metadata.length & 255, metadata.length >> 8, ...metadata], account);
  const lamports = 1_000_000_000;
  await node.raw("surfnet_setAccount", address, {
    ...{ lamports, data: data.toHex(), owner: TOKEN_2022_PROGRAM },
  });
  return { address, program: TOKEN_2022_PROGRAM, decimals };
}

/** Gives the usual token account of an owner. */
export function usualAccount(owner: string, { address, program }: TestMint): string {
  const seeds = [owner, program, address].map((one) => new PublicKey(one).toBytes());
  const [found] = PublicKey.findProgramAddressSync(seeds, new PublicKey(ASSOCIATED_TOKEN_PROGRAM));
  return found.toBase58();
}

/** Makes the usual token account of an owner, unless it is there. */
export function makesUsual(node: Surfpool, owner: string, mint: TestMint): TransactionInstruction {
  return instruction(ASSOCIATED_TOKEN_PROGRAM, [
    { ...writes(node.payer.publicKey), isSigner: true },
    writes(new PublicKey(usualAccount(owner, mint))),
    reads(owner),
    reads(mint.address),
    reads(SystemProgram.programId.toBase58()),
    reads(mint.program),
  ], [1]);
}

/** Makes another token account of an owner. Gives its address. */
export async function makeOther(
  node: Surfpool,
  owner: string,
  mint: TestMint,
  fee = false,
): Promise<string> {
  const account = Keypair.generate();
  const size = fee ? SIZES.feeAccount : SIZES.account;
  await node.send([
    await makeAccount(node, account, mint.program, size),
    instruction(mint.program, [writes(account.publicKey), reads(mint.address)], [
      18,
      ...new PublicKey(owner).toBytes(),
    ]),
  ], [account]);
  return account.publicKey.toBase58();
}

/** Makes tokens in a token account. */
export function mints(
  node: Surfpool,
  mint: TestMint,
  account: string,
  amount: bigint,
): TransactionInstruction {
  return instruction(mint.program, [
    writes(new PublicKey(mint.address)),
    writes(new PublicKey(account)),
    { ...reads(node.payer.publicKey.toBase58()), isSigner: true },
  ], [7, ...units(amount)]);
}

/** Moves tokens of an owner, the payer unless given, between token accounts. */
export function moves(
  node: Surfpool,
  mint: TestMint,
  of: { from: string; to: string; amount: bigint; owner?: string },
): TransactionInstruction {
  return instruction(mint.program, [
    writes(new PublicKey(of.from)),
    reads(mint.address),
    writes(new PublicKey(of.to)),
    { ...reads(of.owner ?? node.payer.publicKey.toBase58()), isSigner: true },
  ], [12, ...units(of.amount), mint.decimals]);
}

/** Freezes a token account; the payer may. */
export function freezes(node: Surfpool, mint: TestMint, account: string): TransactionInstruction {
  return instruction(mint.program, [
    writes(new PublicKey(account)),
    reads(mint.address),
    { ...reads(node.payer.publicKey.toBase58()), isSigner: true },
  ], [10]);
}

/** Gives somebody the right to close a token account of the payer. */
export function mayClose(
  node: Surfpool,
  mint: TestMint,
  account: string,
  closer: string,
): TransactionInstruction {
  return setsAuthority(node, mint, account, [3, closer]);
}

/** Makes somebody the owner of a token account of the payer. */
export function handsOver(
  node: Surfpool,
  mint: TestMint,
  account: string,
  owner: string,
): TransactionInstruction {
  return setsAuthority(node, mint, account, [2, owner]);
}

function setsAuthority(
  node: Surfpool,
  mint: TestMint,
  account: string,
  [kind, key]: readonly [number, string],
): TransactionInstruction {
  return instruction(mint.program, [
    writes(new PublicKey(account)),
    { ...reads(node.payer.publicKey.toBase58()), isSigner: true },
  ], [6, kind, 1, ...new PublicKey(key).toBytes()]);
}

/** Gives the payer tokens in the payer's usual account, whose address it gives. */
export async function fillPayer(node: Surfpool, mint: TestMint, amount: bigint): Promise<string> {
  const payer = node.payer.publicKey.toBase58();
  const account = usualAccount(payer, mint);
  await node.send([makesUsual(node, payer, mint), mints(node, mint, account, amount)]);
  return account;
}

async function makeAccount(
  node: Surfpool,
  account: Keypair,
  program: string,
  space: number,
): Promise<TransactionInstruction> {
  return SystemProgram.createAccount({
    fromPubkey: node.payer.publicKey,
    newAccountPubkey: account.publicKey,
    lamports: await node.raw<number>("getMinimumBalanceForRentExemption", space),
    space,
    programId: new PublicKey(program),
  });
}

function instruction(
  program: string,
  keys: AccountMeta[],
  data: readonly number[],
): TransactionInstruction {
  return new TransactionInstruction({
    programId: new PublicKey(program),
    keys,
    data: Uint8Array.from(data) as never,
  });
}

function writes(pubkey: PublicKey): AccountMeta {
  return { pubkey, isSigner: false, isWritable: true };
}

function reads(key: string): AccountMeta {
  return { pubkey: new PublicKey(key), isSigner: false, isWritable: false };
}

/** 64 bits, the lowest first. */
function units(amount: bigint): number[] {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, amount, true);
  return [...bytes];
}

export { TOKEN_2022_PROGRAM, TOKEN_PROGRAM };
