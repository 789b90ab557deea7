/**
 * Tokens on a real Solana node, of both token programs, made by the programs' own instructions; with the
 * extensions that make a transfer fail.
 * @module
 */
import { Keypair, PublicKey, SystemProgram, TransactionInstruction } from "@solana/web3.js";
import * as web3 from "@solana/web3.js";
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

/** Makes a token. */
export async function createToken(node: Surfpool, options: SplOptions = {}): Promise<SplToken> {
  const { decimals = 6, hook } = options;
  const program = options.modern || hook ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM;
  const { payer } = node;
  const key = Keypair.generate();
  const mint = key.publicKey.toBase58();
  const space = hook === undefined ? MINT_BYTES : HOOK_BYTES;
  const authority = payer.publicKey.toBytes();
  const programId = new PublicKey(program);
  await node.send([
    SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: key.publicKey,
      lamports: Number(rentOf(space)),
      space,
      programId,
    }),
    ...hook === undefined ? [] : [
      act(program, [key.publicKey], [
        ...[TRANSFER_HOOK, 0, ...authority],
        ...new PublicKey(hook).toBytes(),
      ]),
    ],
    act(program, [key.publicKey], [INITIALIZE_MINT, decimals, ...authority, 1, ...authority]),
  ], [key]);
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
