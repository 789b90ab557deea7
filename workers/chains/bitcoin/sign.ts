/**
 * Signs plans, and reads the effects of signed bytes. Signed bytes are read again and compared with
 * their plan before this module returns them.
 * @module
 */
import { writeBitcoin } from "../../../domain/chains/bitcoin_addresses.ts";
import { addressOfKey } from "../../../domain/chains/derivation.ts";
import { ChainError } from "../chain.ts";
import type { Inspection, Keys, Plan, Signed } from "../outgoing.ts";
import type { CoinChain } from "./context.ts";
import { coinOf } from "./node_answers.ts";
import type { Body } from "./payment.ts";
import { fromHex, isOurKind, toHex } from "./scripts.ts";
import {
  digester,
  type DigestTransaction,
  oldDigester,
  scriptCode,
  SIGHASH_ALL,
  SIGHASH_ALL_FORKID,
} from "./sighash.ts";

/** Signatures made between two pauses for other work. */
const SIGNED_AT_ONCE = 25;
/** Sequence numbers with and without an offer of replacement (BIP-125). */
const SEQUENCE = { replaceable: 0xfffffffd, final: 0xffffffff };

/** Signs a plan and makes sure that the bytes carry out exactly this plan. */
export async function signPlan(chain: CoinChain, plan: Plan, keys: Keys): Promise<Signed> {
  const body: Body = JSON.parse(plan.body);
  const [signer] = plan.signers;
  const key = keys.get(signer);
  if (!key) throw refused(`the key of ${signer} is missing`);
  const point = chain.curve.pointFromScalar(key, true);
  if (!point || await addressOfKey(chain.table.id, chain.network, point) !== signer) {
    throw refused(`the key given is not that of ${signer}`);
  }
  if (await chain.scripts.script(signer) !== body.source || !isOurKind(chain.table, body.source)) {
    throw refused(`the coins are not ${signer}'s`);
  }
  const raw = await encode(chain, body, key, point);
  const seen = await inspectRaw(chain, raw);
  const fault = faultOf(plan, body, seen, decode(chain, raw).virtualSize());
  if (fault) throw refused(`the signed bytes differ from the plan: ${fault}`);
  const { inputs, fee } = plan;
  return { hash: seen.hash, raw, inputs, expires: null, fee, body: plan.body };
}

/**
 * Reads the effects of signed bytes. Change is a payment like any other. Inputs that not one key signed, as nothing
 * here does, are others'.
 *
 * @throws {ChainError} `refused` where no input is signed by one key
 */
export async function inspectRaw(chain: CoinChain, raw: string): Promise<Inspection> {
  const { id } = chain.table;
  const transaction = decode(chain, raw);
  const from = new Set<string>();
  let foreign = false;
  let unknown = false;
  for (const input of transaction.ins) {
    const [signature, point] = input.witness.length > 0
      ? input.witness
      : chain.bitcoin.script.decompile(input.script) ?? [];
    if (signature instanceof Uint8Array && point instanceof Uint8Array && isKey(point)) {
      from.add(await addressOfKey(id, chain.network, point));
    } else foreign = true;
  }
  if (from.size === 0) throw refused("no input is signed by one key");
  const payments = [];
  for (const { script, value } of transaction.outs) {
    const address = await writeBitcoin(id, chain.network, script);
    // Where nothing is paid to it, nothing is to be known of it.
    if (address === null && value > 0n) unknown = true;
    const to = address ?? `script:${toHex(script)}`;
    payments.push({ to, contract: null, amount: value });
  }
  return {
    hash: transaction.getId(),
    inputs: transaction.ins.map(({ hash, index }) => `${toHex(hash.toReversed())}:${index}`),
    from: [...from],
    payments,
    fee: null,
    creates: null,
    ...(foreign ? { foreign: true as const } : {}),
    ...(unknown ? { unknown: true as const } : {}),
  };
}

/** Whether bytes have the form of a public key, compressed or not. */
function isKey(point: Uint8Array): boolean {
  return point.length === 33 || point.length === 65;
}

/** Counts the outputs of signed bytes. */
export function outputsOf(chain: CoinChain, raw: string): number {
  return decode(chain, raw).outs.length;
}

function decode({ bitcoin }: CoinChain, raw: string) {
  try {
    return bitcoin.Transaction.fromHex(raw);
  } catch {
    throw refused("these are not the bytes of a transaction");
  }
}

async function encode(
  chain: CoinChain,
  body: Body,
  key: Uint8Array,
  point: Uint8Array,
): Promise<string> {
  const { bitcoin, table } = chain;
  const transaction = new bitcoin.Transaction();
  const { locktime = 0 } = body;
  transaction.version = table.version;
  transaction.locktime = locktime;
  const sequence = table.replaceable ? SEQUENCE.replaceable : SEQUENCE.final;
  const inputs = body.inputs.map(({ input }) => ({ ...coinOf(input), sequence }));
  for (const { hash, index } of inputs) {
    transaction.addInput(fromHex(hash).reverse(), index, sequence);
  }
  const outputs = body.outputs.map(({ script, amount }) => ({ script, amount: BigInt(amount) }));
  for (const { script, amount } of outputs) transaction.addOutput(fromHex(script), amount);
  const whole = { version: table.version, locktime, inputs, outputs };
  const digest = digestOf(chain, body, whole);
  for (const at of inputs.keys()) {
    if (at % SIGNED_AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve));
    const signature = derOf(chain, chain.curve.sign(digest(at), key));
    if (table.witness) transaction.setWitness(at, [signature, point]);
    else transaction.setInputScript(at, bitcoin.script.compile([signature, point]));
  }
  return transaction.toHex();
}

/** Chooses between the digest with amounts and the older one. */
function digestOf(
  { bitcoin, table }: CoinChain,
  body: Body,
  whole: DigestTransaction,
): (at: number) => Uint8Array {
  const { hash256 } = bitcoin.crypto;
  if (!table.witness && !table.forkId) {
    const digest = oldDigester(whole, hash256);
    return (at) => digest(at, body.source);
  }
  const digest = digester(whole, table.forkId ? SIGHASH_ALL_FORKID : SIGHASH_ALL, hash256);
  const script = scriptCode(body.source);
  return (at) => digest(at, { amount: BigInt(body.inputs[at].amount), script });
}

/** Writes a signature in DER with its sighash byte. */
function derOf({ bitcoin, table }: CoinChain, signature: Uint8Array): Uint8Array {
  const der = bitcoin.script.signature.encode(signature, SIGHASH_ALL);
  // The library knows the sighash bytes of Bitcoin only.
  if (table.forkId) der[der.length - 1] = SIGHASH_ALL_FORKID;
  return der;
}

/** Names the first difference between signed bytes and their plan, or null. */
function faultOf(plan: Plan, body: Body, seen: Inspection, vsize: number): string | null {
  const { order } = plan;
  if (plan.vsize === undefined || vsize > plan.vsize) return "size";
  if (seen.inputs.join() !== plan.inputs.join()) return "coins";
  if (seen.from.join() !== plan.signers.join() || seen.foreign !== undefined) return "sender";
  const held = body.inputs.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const gone = seen.payments.reduce((sum, { amount }) => sum + amount, 0n);
  if (held !== gone + plan.fee) return "fee";
  const meant = order.kind === "pay"
    ? order.payments.map(({ to }, at) => ({ to, amount: plan.amounts[at] }))
    : [];
  if (plan.change) meant.splice(plan.change.index, 0, plan.change);
  if (seen.payments.length !== meant.length) return "number of payments";
  const wrong = seen.payments.some(({ to, amount }, at) =>
    to !== meant[at].to || amount !== meant[at].amount
  );
  return wrong ? "payment" : null;
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
