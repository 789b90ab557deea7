/**
 * Turns a draft into signed bytes and reads them back: amounts, signatures, and a comparison of the bytes
 * with the plan. No node is asked here.
 * @module
 */
import type { TransactionInstruction, VersionedTransaction } from "@solana/web3.js";
import { ed25519 } from "@noble/curves/ed25519.js";
import { base58 } from "@scure/base";
import { ChainError } from "../chain.ts";
import type { Draft, Inputs, Inspection, Keys, Plan, SendRequest, Signed } from "../outgoing.ts";
import { bytesOf, tokenAddress } from "./accounts.ts";
import type { Solana, Web3 } from "./context.ts";
import { deployInstructions, faultOfSteps, type NewMint } from "./deployment.ts";
import { chainFee } from "./fees.ts";
import {
  accountInstruction,
  closeInstruction,
  coinInstruction,
  type Effect,
  limitInstructions,
  readEffect,
  tokenInstruction,
} from "./instructions.ts";

/** A payment. */
export type PayOrder = SendRequest & { readonly kind: "pay" };

/** A token account that a payment takes from; the amount is decimal text. */
export interface Source {
  readonly account: string;
  readonly amount: string;
  /** Whether nothing stays in it: it is closed, and its rent goes to the payer of the fee. */
  readonly closes: boolean;
}

/** A transaction without signatures; amounts are decimal text, because it is stored as JSON. */
export interface Body {
  /** The recent block that it names. */
  readonly blockhash: string;
  /** Height of the last block that takes it. */
  readonly lastValid: number;
  /** The slot at which it was drafted: it can be in no earlier one. */
  readonly slot: number;
  readonly feePayer: string;
  /** Compute units. */
  readonly computeLimit: number;
  /** Micro-lamports for each unit. */
  readonly price: string;
  /** The token's program and decimals; null for SOL. */
  readonly token: { readonly program: string; readonly decimals: number } | null;
  /** Of each payment, whether a token account is made for it. */
  readonly creates: readonly boolean[];
  /** Lamports that the new token accounts keep. */
  readonly rent: string;
  /** The token accounts that it takes from; null for the sender's associated one. */
  readonly sources: readonly Source[] | null;
  /** If everything is moved: the amount that the sender held. */
  readonly all: string | null;
  /** Lamports that it may cost; null for no limit. */
  readonly budget: string | null;
  /** The mint that it makes; null for a payment. */
  readonly mint: NewMint | null;
}

/** Payments that fit the 1232 bytes of a transaction, each with a new token account. */
export const PAYMENTS_MAX = 8;

/** A transaction read from its bytes. */
interface Decoded {
  readonly hash: string;
  readonly blockhash: string;
  /** All that signed it; the first pays the fee. */
  readonly signers: readonly string[];
  readonly effects: readonly Effect[];
}

/** Resolves the amounts of a draft. Nothing is used up that another transaction could use instead. */
export function planDraft(draft: Draft, _inputs: Inputs, replaces?: Plan): Plan {
  if (replaces) throw new ChainError("unsupported", "SOLANA replaces no transaction");
  const body: Body = JSON.parse(draft.body);
  const { order } = draft;
  const fee = costOf(order, body);
  if (body.budget !== null && fee > BigInt(body.budget)) {
    throw new ChainError("exceeded", `it would cost ${fee}, at most ${body.budget} may be spent`);
  }
  return {
    order,
    inputs: [],
    signers: signersOf(order, body),
    amounts: order.kind === "pay" ? amountsOf(order, body, fee) : [],
    outputs: null,
    change: null,
    fee,
    feeContract: null,
    creates: body.mint?.mint ?? null,
    body: draft.body,
  };
}

/** The addresses that sign: the payer of the fee first. */
function signersOf({ from }: SendRequest, { feePayer }: Body): string[] {
  return feePayer === from ? [from] : [feePayer, from];
}

/** The most that a transaction costs: the fee of the chain, and the rent of accounts that it makes. */
export function costOf(order: SendRequest, body: Body): bigint {
  const price = BigInt(body.price);
  const signatures = signersOf(order, body).length;
  return chainFee({ signatures, computeLimit: body.computeLimit, price }) + BigInt(body.rent);
}

/**
 * Gives the amount of each payment.
 *
 * @throws {ChainError} `insufficient` if everything is less than the fee
 */
export function amountsOf(order: PayOrder, body: Body, fee: bigint): bigint[] {
  const fromSender = order.contract === null && body.feePayer === order.from;
  return order.payments.map(({ amount }) => {
    if (amount !== "all") return amount;
    const left = BigInt(body.all ?? "0") - (fromSender ? fee : 0n);
    if (left > 0n) return left;
    throw new ChainError("insufficient", `${order.from} holds less than the fee of ${fee}`);
  });
}

/** Signs a plan and makes sure that the bytes carry out exactly this plan. */
export function signPlan(solana: Solana, plan: Plan, keys: Keys): Signed {
  const { Keypair } = solana.web3;
  const body: Body = JSON.parse(plan.body);
  const pairs = plan.signers.map((signer) => {
    const key = keys.get(signer);
    if (!key) throw refused(`the key of ${signer} is missing`);
    const pair = Keypair.fromSeed(key);
    if (pair.publicKey.toBase58() === signer) return pair;
    throw refused(`the key given is not that of ${signer}`);
  });
  const transaction = transactionOf(solana, plan, body);
  transaction.sign(pairs);
  for (const pair of pairs) pair.secretKey.fill(0);
  const raw = toBytes(transaction);
  const decoded = decode(solana, raw);
  const fault = faultOf(solana, plan, body, decoded);
  if (fault) throw refused(`the signed bytes differ from the plan: ${fault}`);
  return { hash: decoded.hash, raw, inputs: [], expires: { height: body.lastValid } };
}

/**
 * Reads the effects of signed bytes. The address whose value moves comes before one that only pays the
 * fee.
 *
 * @throws {ChainError} `refused` for bytes that no plan of ours makes, or that nobody signed
 */
export function inspectRaw(solana: Solana, raw: string): Inspection {
  const { hash, signers, effects } = decode(solana, raw);
  const senders = effects.flatMap((one) =>
    one.kind === "coin" || one.kind === "token" ? one.from : []
  );
  return {
    hash,
    inputs: [],
    from: [...new Set([...senders.filter((one) => signers.includes(one)), ...signers])],
    payments: paymentsIn(effects),
    fee: feeIn(signers, effects),
    creates: mintIn(effects),
  };
}

/** The fee of the chain that signed bytes cost, without the rent of accounts that they make. */
export function feeOfRaw(solana: Solana, raw: string): bigint {
  const { signers, effects } = decode(solana, raw);
  return feeIn(signers, effects);
}

/** The accounts that signed bytes make, those of tokens only where they are not there. */
export function accountsMadeBy(solana: Solana, raw: string): string[] {
  const { effects } = decode(solana, raw);
  const made = effects.flatMap((one) => one.kind === "account" ? one.account : []);
  return [...made, ...[mintIn(effects) ?? []].flat()];
}

/** The token accounts that signed bytes close; their rent goes to the payer of the fee. */
export function accountsClosedBy(solana: Solana, raw: string): string[] {
  const { effects } = decode(solana, raw);
  return effects.flatMap((one) => one.kind === "close" ? one.account : []);
}

function mintIn(effects: readonly Effect[]): string | null {
  const steps = effects.flatMap((one) => one.kind === "deploy" ? one.of : []);
  return steps.find(({ step }) => step === "create")?.mint ?? null;
}

/** Builds a transaction. */
export function transactionOf(
  { web3 }: Solana,
  { order, amounts }: { order: SendRequest; amounts: readonly bigint[] },
  body: Body,
): VersionedTransaction {
  const { PublicKey, TransactionMessage, VersionedTransaction } = web3;
  const moves = order.kind === "deploy" && body.mint !== null
    ? deployInstructions(web3, order, body.mint)
    : movesOf(web3, payOf(order), amounts, body);
  const limits = limitInstructions(web3, {
    computeLimit: body.computeLimit,
    price: BigInt(body.price),
  });
  return new VersionedTransaction(
    new TransactionMessage({
      payerKey: new PublicKey(body.feePayer),
      recentBlockhash: body.blockhash,
      instructions: [...limits, ...moves],
    }).compileToLegacyMessage(),
  );
}

function movesOf(
  web3: Web3,
  order: PayOrder,
  amounts: readonly bigint[],
  body: Body,
): TransactionInstruction[] {
  const { from, contract: mint, payments } = order;
  const { token, feePayer: payer } = body;
  return payments.flatMap(({ to }, at): TransactionInstruction[] => {
    const amount = amounts[at];
    if (token === null || mint === null) return [coinInstruction(web3, { from, to, amount })];
    const { program, decimals } = token;
    const transfer = { from, to, mint, program, decimals };
    return [
      ...body.creates[at] ? [accountInstruction(web3, { payer, wallet: to, mint, program })] : [],
      ...body.sources === null
        ? [tokenInstruction(web3, { ...transfer, amount })]
        : body.sources.flatMap(({ account, amount, closes }) => [
          tokenInstruction(web3, { ...transfer, account, amount: BigInt(amount) }),
          ...closes ? [closeInstruction(web3, { account, owner: from, program, to: payer })] : [],
        ]),
    ];
  });
}

/** Writes a transaction in base64. */
export function toBytes(transaction: VersionedTransaction): string {
  return btoa(String.fromCharCode(...transaction.serialize()));
}

/** The signatures of a transaction, each of which is right. */
export interface Signatures {
  /** The transaction that they sign. */
  readonly transaction: VersionedTransaction;
  /** The first of them. */
  readonly hash: string;
  /** The accounts that the transaction names, without those of address tables. */
  readonly keys: readonly string[];
  /** The accounts that signed. */
  readonly signers: readonly string[];
}

/** Reads who signed a transaction, whatever it does; null where a signature is missing or wrong. */
export function signaturesOf(web3: Web3, raw: string): Signatures | null {
  let transaction: VersionedTransaction;
  let signed: Uint8Array;
  try {
    transaction = web3.VersionedTransaction.deserialize(bytesOf(raw));
    // It throws for more bytes than a transaction has; further ones behind its end are not signed.
    signed = transaction.message.serialize();
    if (toBytes(transaction) !== raw) return null;
  } catch {
    return null;
  }
  const { message, signatures } = transaction;
  const keys = message.staticAccountKeys.map((key) => key.toBase58());
  const signers = keys.slice(0, message.header.numRequiredSignatures);
  const isSigned = signatures.length === signers.length && signatures.length > 0 &&
    signers.every((signer, at) => isSignatureOf(signatures[at], signed, signer));
  return isSigned ? { transaction, hash: base58.encode(signatures[0]), keys, signers } : null;
}

/** Reads a transaction, each of whose signatures must be right. */
function decode({ web3 }: Solana, raw: string): Decoded {
  const read = signaturesOf(web3, raw);
  if (read === null) throw refused("it is no transaction, or a signature is missing or wrong");
  const { transaction: { message }, hash, keys, signers } = read;
  if (message.addressTableLookups.length > 0) throw refused("it names accounts by a table");
  const effects = message.compiledInstructions.map((one) => readEffect(web3, keys, one));
  if (effects.includes(null)) throw refused("the transaction does something unknown");
  return {
    hash,
    blockhash: message.recentBlockhash,
    signers,
    effects: effects.flatMap((one) => one ?? []),
  };
}

function isSignatureOf(signature: Uint8Array, message: Uint8Array, signer: string): boolean {
  try {
    return ed25519.verify(signature, message, base58.decode(signer));
  } catch {
    return false;
  }
}

/** Lists payments; what one receiver gets from several accounts of the sender is one payment. */
function paymentsIn(effects: readonly Effect[]): Inspection["payments"] {
  const moves = effects.filter((one) => one.kind === "token");
  const hasSources = new Set(moves.map(({ account }) => account)).size > 1;
  const [first] = moves;
  if (hasSources && moves.every(({ to, mint }) => to === first.to && mint === first.mint)) {
    const amount = moves.reduce((sum, one) => sum + one.amount, 0n);
    return [{ to: first.to, contract: first.mint, amount }];
  }
  return effects.flatMap((one) => {
    if (one.kind === "coin") return { to: one.to, contract: null, amount: one.amount };
    return one.kind === "token" ? { to: one.to, contract: one.mint, amount: one.amount } : [];
  });
}

function feeIn(signers: readonly string[], effects: readonly Effect[]): bigint {
  const computeLimit = effects.find((one) => one.kind === "limit")?.computeLimit ?? 0;
  const price = effects.find((one) => one.kind === "price")?.price ?? 0n;
  return chainFee({ signatures: signers.length, computeLimit, price });
}

/** Names the first difference between signed bytes and their plan, or null. */
function faultOf(
  solana: Solana,
  plan: Plan,
  body: Body,
  { blockhash, signers, effects }: Decoded,
): string | null {
  const { order } = plan;
  if (blockhash !== body.blockhash) return "expiry";
  if (signers.join() !== plan.signers.join()) return "signers";
  if (feeIn(signers, effects) + BigInt(body.rent) > plan.fee) return "fee";
  const steps = effects.flatMap((one) => one.kind === "deploy" ? one.of : []);
  if (order.kind === "deploy" && body.mint !== null) {
    if (plan.creates !== body.mint.mint) return "mint";
    const paid = paymentsIn(effects).length > 0 || effects.some(({ kind }) => kind === "close");
    return paid ? "payment" : faultOfSteps(solana.web3, order, body.mint, steps);
  }
  if (order.kind !== "pay" || steps.length > 0) return "kind";
  const made = effects.filter((one) => one.kind === "account");
  if (made.length !== body.creates.filter(Boolean).length) return "accounts";
  if (made.some(({ payer }) => payer !== body.feePayer)) return "payer of accounts";
  const moves = effects.filter((one) => one.kind === "coin" || one.kind === "token");
  if (moves.some(({ from }) => from !== order.from)) return "sender";
  if (sourcesIn(effects) !== sourcesOf(solana, plan, body)) return "token accounts";
  const payments = paymentsIn(effects);
  if (payments.length !== order.payments.length) return "number of payments";
  const wrong = payments.some(({ to, amount, contract }, at) =>
    to !== order.payments[at].to || amount !== plan.amounts[at] || contract !== order.contract
  );
  return wrong ? "payment" : null;
}

/** The accounts that a plan takes tokens from, each with what happens to it. */
function sourcesOf({ web3 }: Solana, { order, amounts }: Plan, body: Body): string {
  const { from: wallet, contract: mint } = payOf(order);
  if (mint === null || body.token === null) return "";
  const { program } = body.token;
  const associated = { account: tokenAddress(web3, { wallet, mint, program }), closes: false };
  const sources = body.sources ?? amounts.map((amount) => ({ ...associated, amount: `${amount}` }));
  return sources.map(({ account, amount, closes }) =>
    `${account} ${amount}${closes ? ` closed by ${wallet} for ${body.feePayer}` : ""}`
  ).join();
}

/** The accounts that signed bytes take tokens from; a closed one must be the last that was emptied. */
function sourcesIn(effects: readonly Effect[]): string {
  return effects.flatMap((one, at) => {
    if (one.kind === "close") {
      const before = effects[at - 1];
      const isLast = before?.kind === "token" && before.account === one.account;
      return isLast ? [] : ["another account is closed"];
    }
    if (one.kind !== "token") return [];
    const next = effects[at + 1];
    const closing = next?.kind === "close" ? ` closed by ${next.owner} for ${next.to}` : "";
    return [`${one.account} ${one.amount}${closing}`];
  }).join();
}

function payOf(order: SendRequest): PayOrder {
  if (order.kind === "pay") return order;
  throw new ChainError("unsupported", "SOLANA makes no such transaction");
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
