/**
 * Proof that a transaction spent a coin of ours: its bytes hash to its id, they spend the coin, and its
 * signature is by the key that the coin is locked to.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Signed } from "../outgoing.ts";
import { isHex, RpcError } from "../rpc.ts";
import { wholeBlock } from "./block.ts";
import type { CoinChain } from "./context.ts";
import type { Body } from "./payment.ts";
import { toHex } from "./scripts.ts";
import { digester, oldDigester, scriptCode, SIGHASH_ALL, SIGHASH_ALL_FORKID } from "./sighash.ts";
import type { Spender } from "./spend_index.ts";

/** A coin of ours, as recorded. */
export interface Coin {
  readonly input: string;
  /** Base units. */
  readonly amount: bigint;
  /** Its locking script, in hexadecimal. */
  readonly source: string;
}

/** Whether a coin of bytes that were found is a stranger's: our coins are recorded with the bytes that spend them. */
export function isForeign({ body }: Signed, input: string): boolean {
  return body !== undefined &&
    !(JSON.parse(body) as Pick<Body, "inputs">).inputs.some((one) => one.input === input);
}

/**
 * Makes sure that a transaction spends a coin of one of our own, signed by its key. A stranger's coin beside ours,
 * whose key is not known, is spent by the bytes of a whole block, which the quorum of nodes says is the chain's: as
 * much as a deposit is believed for.
 *
 * @throws {ChainError} `unavailable` if a node does not prove it
 */
export async function assertSpent(
  chain: CoinChain,
  peer: Peer,
  spender: Spender,
  of: { readonly input: string; readonly attempt: Signed },
): Promise<void> {
  if (isForeign(of.attempt, of.input)) {
    const { transactions } = await wholeBlock(chain, peer, { ...spender, hash: spender.blockHash });
    const whole = transactions.find(({ hash }) => hash === spender.hash);
    if (whole?.spends.includes(of.input)) return;
    throw new ChainError("unavailable", `${peer.name} does not prove ${spender.hash}`);
  }
  const coin = coinIn(of.attempt, of.input);
  const raw = await rawOf(chain, peer, spender);
  if (coin !== null && raw !== null && areSigned(chain, { raw, hash: spender.hash }, [coin])) {
    return;
  }
  throw new ChainError("unavailable", `${peer.name} does not prove ${spender.hash}`);
}

function coinIn({ body }: Signed, input: string): Coin | null {
  if (body === undefined) return null;
  const { inputs, source }: Body = JSON.parse(body);
  const spent = inputs.find((one) => one.input === input);
  return spent === undefined ? null : { input, amount: BigInt(spent.amount), source };
}

/** Reads the bytes of a mined transaction, with its block or by its id. */
async function rawOf(
  chain: CoinChain,
  peer: Peer,
  { hash, blockHash, height }: Spender,
): Promise<string | null> {
  for (const params of [[hash, false, blockHash], [hash, false], [hash, 0]]) {
    const [answer] = await peer.batch([{ method: "getrawtransaction", params }]);
    if (!(answer instanceof RpcError)) return hexIn(answer);
  }
  const { transactions } = await wholeBlock(chain, peer, { hash: blockHash, height });
  return transactions.find((one) => one.hash === hash)?.bytes.toHex() ?? null;
}

function hexIn(answer: unknown): string | null {
  return typeof answer === "string" && answer !== "" && isHex(answer) ? answer : null;
}

/**
 * Tells whether bytes spend some coins of ours, each signed by the key that it is locked to, with a signature of the
 * one kind that our keys make.
 */
export function areSigned(
  chain: CoinChain,
  { raw, hash }: Pick<Signed, "raw" | "hash">,
  coins: readonly Coin[],
): boolean {
  const read = decode(chain, raw);
  if (read === null || read.getId() !== hash) return false;
  const inputs = read.ins.map((input) => ({
    hash: toHex(input.hash.toReversed()),
    index: input.index,
    sequence: input.sequence,
  }));
  const places = new Map(inputs.map(({ hash, index }, at) => [`${hash}:${index}`, at]));
  const { version, locktime, outs } = read;
  const outputs = outs.map((one) => ({ script: toHex(one.script), amount: one.value }));
  const digest = digestsOf(chain, { version, locktime, inputs, outputs });
  return coins.every((coin) => {
    const at = places.get(coin.input);
    return at !== undefined && isSigned(chain, read.ins[at], digest(at, coin), coin);
  });
}

function isSigned(
  chain: CoinChain,
  { witness, script }: { witness: readonly Uint8Array[]; script: Uint8Array },
  digest: Uint8Array,
  coin: Coin,
): boolean {
  const { bitcoin, curve } = chain;
  const [der, point] = witness.length > 0 ? witness : bitcoin.script.decompile(script) ?? [];
  if (!(der instanceof Uint8Array) || !(point instanceof Uint8Array)) return false;
  const code = scriptCode(coin.source);
  if (code !== `76a914${toHex(bitcoin.crypto.hash160(point))}88ac`) return false;
  const signature = signatureIn(chain, der);
  return signature !== null && curve.verify(digest, point, signature);
}

function decode({ bitcoin }: CoinChain, raw: string) {
  try {
    return bitcoin.Transaction.fromHex(raw);
  } catch {
    return null;
  }
}

/** Reads a signature of the one kind that our keys make; null for any other. */
function signatureIn({ bitcoin, table }: CoinChain, der: Uint8Array): Uint8Array | null {
  const kind = table.forkId ? SIGHASH_ALL_FORKID : SIGHASH_ALL;
  if (der.at(-1) !== kind) return null;
  try {
    // The library knows the sighash bytes of Bitcoin only.
    return bitcoin.script.signature.decode(Uint8Array.of(...der.slice(0, -1), SIGHASH_ALL))
      .signature;
  } catch {
    return null;
  }
}

function digestsOf(
  { bitcoin, table }: CoinChain,
  whole: Parameters<typeof digester>[0],
): (at: number, coin: Coin) => Uint8Array {
  const { hash256 } = bitcoin.crypto;
  if (!table.witness && !table.forkId) {
    const digest = oldDigester(whole, hash256);
    return (at, { source }) => digest(at, source);
  }
  const digest = digester(whole, table.forkId ? SIGHASH_ALL_FORKID : SIGHASH_ALL, hash256);
  return (at, { source, amount }) => digest(at, { amount, script: scriptCode(source) });
}
