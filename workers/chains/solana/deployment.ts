/**
 * Deployment of a token: a mint of Token-2022 with its name and symbol in itself, the whole supply at the
 * deployer's token account. Nobody can make more of it afterwards, and nobody can freeze it.
 * @module
 */
import type { TransactionInstruction } from "@solana/web3.js";
import { ChainError } from "../chain.ts";
import type { NewToken, SendRequest } from "../outgoing.ts";
import { rentOf, tokenAddress } from "./accounts.ts";
import type { Web3 } from "./context.ts";
import { accountInstruction } from "./instructions.ts";
import { MINT_CODES, type MintStep } from "./mint_steps.ts";
import { TOKEN_2022_PROGRAM } from "./networks.ts";

/** An order that deploys a token. */
export type DeployOrder = SendRequest & { readonly kind: "deploy" };

/** The place of a new mint: derived from the deployer and a seed, so it needs no key of its own. */
export interface NewMint {
  readonly mint: string;
  readonly seed: string;
}

const SUPPLY_MAX = 2n ** 64n - 1n;
const SEED_BYTES = 16;
/** Of a mint that points to itself for its name. */
const POINTED_BYTES = 165 + 1 + 4 + 64;
/** Of the name in it: header, authority, mint, three lengths, and the number of further fields. */
const NAMED_BYTES = 4 + 32 + 32 + 3 * 4 + 4;
/** Of a token account of Token-2022 whose owner never changes. */
const ACCOUNT_BYTES = 165 + 1 + 4;
const KEY_BYTES = 32;

/** Chooses the place of a new mint. */
export async function newMint({ PublicKey }: Web3, from: string): Promise<NewMint> {
  const bytes = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  const seed = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const owner = new PublicKey(TOKEN_2022_PROGRAM);
  const mint = await PublicKey.createWithSeed(new PublicKey(from), seed, owner);
  return { mint: mint.toBase58(), seed };
}

/** Lamports that stay in the mint and in the deployer's token account. */
export function deploymentRent(token: NewToken): bigint {
  return mintRent(token) + rentOf(ACCOUNT_BYTES);
}

function mintRent({ name, symbol }: NewToken): bigint {
  return rentOf(POINTED_BYTES + NAMED_BYTES + textOf(name).length + textOf(symbol).length - 8);
}

/**
 * Refuses a supply that no mint can hold.
 *
 * @throws {ChainError} `refused`
 */
export function assertDeployable({ supply }: NewToken): void {
  if (supply <= SUPPLY_MAX) return;
  throw new ChainError("refused", `a mint of Solana holds at most ${SUPPLY_MAX} base units`);
}

/** Builds the steps of a deployment. */
export function deployInstructions(
  web3: Web3,
  { from, token }: DeployOrder,
  { mint, seed }: NewMint,
): TransactionInstruction[] {
  const { PublicKey, SystemProgram, TransactionInstruction } = web3;
  const authority = new PublicKey(from);
  const place = new PublicKey(mint);
  const program = TOKEN_2022_PROGRAM;
  const programId = new PublicKey(program);
  const key = { pubkey: place, isSigner: false, isWritable: true };
  const plain = (pubkey: typeof place) => ({ pubkey, isSigner: false, isWritable: false });
  const signer = { pubkey: authority, isSigner: true, isWritable: false };
  const act = (keys: (typeof key)[], data: number[]) =>
    new TransactionInstruction({ programId, keys, data: Uint8Array.from(data) as never });
  const account = new PublicKey(tokenAddress(web3, { wallet: from, mint, program }));
  return [
    SystemProgram.createAccountWithSeed({
      ...{ fromPubkey: authority, basePubkey: authority, newAccountPubkey: place, seed },
      lamports: Number(mintRent(token)),
      space: POINTED_BYTES,
      programId,
    }),
    act([key], [MINT_CODES.metadataPointer, 0, ...new Uint8Array(KEY_BYTES), ...place.toBytes()]),
    act([key], [MINT_CODES.initializeMint, token.decimals, ...authority.toBytes(), 0]),
    act([key, plain(authority), plain(place), signer], [
      ...MINT_CODES.writeMetadata,
      ...[token.name, token.symbol, ""].flatMap(textOf),
    ]),
    accountInstruction(web3, { payer: from, wallet: from, mint, program }),
    act([key, { ...key, pubkey: account }, signer], [MINT_CODES.mintTo, ...unitsOf(token.supply)]),
    act([key, signer], [MINT_CODES.setAuthority, MINT_CODES.mintTokens, 0]),
  ];
}

/** Names the first difference between the steps of signed bytes and their order, or null. */
export function faultOfSteps(
  web3: Web3,
  { from, token }: DeployOrder,
  { mint }: NewMint,
  steps: readonly MintStep[],
): string | null {
  const program = TOKEN_2022_PROGRAM;
  const to = tokenAddress(web3, { wallet: from, mint, program });
  const meant: readonly MintStep[] = [
    { step: "create", payer: from, mint },
    { step: "point", mint },
    { step: "begin", mint, decimals: token.decimals },
    { step: "name", mint },
    { step: "supply", mint, to, amount: token.supply },
    { step: "end", mint },
  ];
  const differs = meant.length !== steps.length ||
    meant.some((one, at) => textOfStep(one) !== textOfStep(steps[at]));
  return differs ? "token" : null;
}

function textOfStep(step: MintStep): string {
  return Object.entries(step).map(([name, value]) => `${name} ${value}`).toSorted().join();
}

function textOf(text: string): number[] {
  const bytes = new TextEncoder().encode(text);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length, true);
  return [...length, ...bytes];
}

function unitsOf(amount: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, amount, true);
  return bytes;
}
