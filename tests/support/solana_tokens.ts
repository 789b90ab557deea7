/**
 * Tokens on a real Solana node, of both token programs, made by the programs' own instructions; with the
 * extensions that make a transfer fail.
 * @module
 */
import { Keypair, PublicKey, SystemProgram, TransactionInstruction } from "@solana/web3.js";
import * as web3 from "@solana/web3.js";
import { findAsset } from "../../domain/assets.ts";
import { rentOf, tokenAddress } from "../../workers/chains/solana/accounts.ts";
import { accountInstruction } from "../../workers/chains/solana/instructions.ts";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../../workers/chains/solana/networks.ts";
import type { Surfpool } from "./nodes/surfpool.ts";

/** A token whose mint and freeze authority is the node's payer. */
export interface SplToken {
  readonly mint: string;
  readonly program: string;
  readonly decimals: number;
  /** The associated token account of a wallet. */
  account(wallet: string): string;
  /** Makes the account of a wallet. */
  open(wallet: string): Promise<void>;
  /** Makes so much more of it, in the account of a wallet. */
  pay(wallet: string, amount: bigint): Promise<string>;
  freeze(wallet: string): Promise<void>;
  /** What the account of a wallet holds; null where there is none. */
  held(wallet: string): Promise<bigint | null>;
}

/** Properties of a token. */
export interface SplOptions {
  /** Of Token-2022, not of the older program. */
  readonly modern?: boolean;
  readonly decimals?: number;
  /** The program that runs at each transfer. */
  readonly hook?: string;
  /** Gives the payer every right over it: to take it back, to pause it, to end it. Implies a hook. */
  readonly rights?: boolean;
  /** The symbol that the mint gives of itself. */
  readonly symbol?: string;
}

const MINT_BYTES = 82;
const HOOK_BYTES = 165 + 1 + 4 + 64;
const INITIALIZE_MINT = 20;
const MINT_TO = 7;
const FREEZE = 10;
const REALLOCATE = 29;
const MEMO_TRANSFER = 30;
const TRANSFER_HOOK = 36;
const MEMO_EXTENSION = 8;
const METADATA_POINTER = 39;
const CLOSE_AUTHORITY = 25;
const CONFIDENTIAL = 27;
const PERMANENT_DELEGATE = 35;
const PAUSABLE = 44;
/** Bytes of the extensions for all rights, without the hook's. */
const RIGHTS_BYTES = (4 + 32) + (4 + 32) + (4 + 33) + (4 + 65);
const POINTER_BYTES = 165 + 1 + 4 + 64;
/** The instruction that writes name and symbol into a mint. */
const WRITE_METADATA = [210, 225, 30, 162, 88, 184, 77, 141];
/** Lamports for whatever a mint writes into itself. */
const METADATA_RENT = 5_000_000;

/** Makes a token. */
export async function createToken(node: Surfpool, options: SplOptions = {}): Promise<SplToken> {
  const { decimals = 6, symbol, rights = false } = options;
  const hook = options.hook ?? (rights ? Keypair.generate().publicKey.toBase58() : undefined);
  const program = options.modern || hook || symbol ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM;
  const { payer } = node;
  const key = Keypair.generate();
  const mint = key.publicKey.toBase58();
  const space =
    (hook !== undefined ? HOOK_BYTES : symbol !== undefined ? POINTER_BYTES : MINT_BYTES) +
    (rights ? RIGHTS_BYTES : 0);
  const authority = payer.publicKey.toBytes();
  const programId = new PublicKey(program);
  await node.send([
    SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: key.publicKey,
      lamports: Number(rentOf(space)) + (symbol === undefined ? 0 : METADATA_RENT),
      space,
      programId,
    }),
    ...hook === undefined ? [] : [
      act(program, [key.publicKey], [
        ...[TRANSFER_HOOK, 0, ...authority],
        ...new PublicKey(hook).toBytes(),
      ]),
    ],
    ...!rights ? [] : [
      [CLOSE_AUTHORITY, 1, ...authority],
      [PERMANENT_DELEGATE, ...authority],
      [PAUSABLE, 0, ...authority],
      [CONFIDENTIAL, 0, ...authority, 1, ...new Uint8Array(32)],
    ].map((data) => act(program, [key.publicKey], data)),
    ...symbol === undefined ? [] : [
      act(program, [key.publicKey], [
        ...[METADATA_POINTER, 0, ...authority],
        ...key.publicKey.toBytes(),
      ]),
    ],
    act(program, [key.publicKey], [INITIALIZE_MINT, decimals, ...authority, 1, ...authority]),
    ...symbol === undefined ? [] : [describe(program, key.publicKey, payer.publicKey, symbol)],
  ], [key]);
  return tokenAt(node, { mint, program, decimals });
}

/**
 * Puts a token of the registry on the node: a mint with its symbol stands at the mint's real address, and
 * the node's payer makes as much of it as a test pays.
 */
export async function installSplToken(node: Surfpool, code: string): Promise<SplToken> {
  const { contract, decimals, symbols } = findAsset(code)!;
  const { mint, program } = await createToken(node, { decimals, symbol: symbols[0] });
  const how = { encoding: "base64", commitment: "processed" };
  const { value } = await node.raw<{ value: { data: [string]; lamports: number } }>(
    "getAccountInfo",
    mint,
    how,
  );
  const data = Array.from(
    atob(value.data[0]),
    (letter) => letter.charCodeAt(0).toString(16).padStart(2, "0"),
  ).join("");
  const { lamports } = value;
  await node.raw("surfnet_setAccount", contract, { lamports, data, owner: program });
  return tokenAt(node, { mint: contract!, program, decimals });
}

function tokenAt(
  node: Surfpool,
  { mint, program, decimals }: Pick<SplToken, "mint" | "program" | "decimals">,
): SplToken {
  const { payer } = node;
  const account = (wallet: string) => tokenAddress(web3, { wallet, mint, program });
  return {
    ...{ mint, program, decimals, account },
    async open(wallet) {
      const of = { payer: payer.publicKey.toBase58(), wallet, mint, program };
      await node.send([accountInstruction(web3, of)]);
    },
    async pay(wallet, amount) {
      const of = { payer: payer.publicKey.toBase58(), wallet, mint, program };
      const units = new Uint8Array(8);
      new DataView(units.buffer).setBigUint64(0, amount, true);
      const keys = [new PublicKey(mint), new PublicKey(account(wallet))];
      return await node.send([
        accountInstruction(web3, of),
        act(program, keys, [MINT_TO, ...units], payer.publicKey),
      ]);
    },
    async freeze(wallet) {
      const keys = [new PublicKey(account(wallet)), new PublicKey(mint)];
      await node.send([act(program, keys, [FREEZE], payer.publicKey)]);
    },
    async held(wallet) {
      const found = await node.raw<{ value: { amount: string } }>(
        "getTokenAccountBalance",
        account(wallet),
        { commitment: "processed" },
      ).catch(() => null);
      return found === null ? null : BigInt(found.value.amount);
    },
  };
}

/** Lets the account of a wallet take only transfers with a memo. */
export async function demandMemo(node: Surfpool, token: SplToken, owner: Keypair): Promise<void> {
  const { payer } = node;
  const account = new PublicKey(token.account(owner.publicKey.toBase58()));
  const programId = new PublicKey(token.program);
  await node.send([
    new TransactionInstruction({
      programId,
      keys: [
        { pubkey: account, isSigner: false, isWritable: true },
        { pubkey: payer.publicKey, isSigner: true, isWritable: true },
        { pubkey: SystemProgram.programId, isSigner: false, isWritable: false },
        { pubkey: owner.publicKey, isSigner: true, isWritable: false },
      ],
      data: Uint8Array.of(REALLOCATE, MEMO_EXTENSION, 0) as never,
    }),
    act(token.program, [account], [MEMO_TRANSFER, 0], owner.publicKey),
  ], [owner]);
}

function describe(
  program: string,
  mint: PublicKey,
  authority: PublicKey,
  symbol: string,
): TransactionInstruction {
  const text = (said: string) => {
    const bytes = new TextEncoder().encode(said);
    return [bytes.length, 0, 0, 0, ...bytes];
  };
  const named = (pubkey: PublicKey, isWritable = false, isSigner = false) => ({
    ...{ pubkey, isWritable, isSigner },
  });
  return new TransactionInstruction({
    programId: new PublicKey(program),
    keys: [named(mint, true), named(authority), named(mint), named(authority, false, true)],
    data: Uint8Array.from([...WRITE_METADATA, ...[symbol, symbol, ""].flatMap(text)]) as never,
  });
}

function act(
  program: string,
  accounts: readonly PublicKey[],
  data: readonly number[],
  signer?: PublicKey,
): TransactionInstruction {
  const keys = accounts.map((pubkey) => ({ pubkey, isSigner: false, isWritable: true }));
  const signing = signer ? [{ pubkey: signer, isSigner: true, isWritable: false }] : [];
  return new TransactionInstruction({
    programId: new PublicKey(program),
    keys: [...keys, ...signing],
    data: Uint8Array.from(data) as never,
  });
}
