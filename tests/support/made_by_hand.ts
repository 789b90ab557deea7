/** Transactions that the holder of a realm's seed makes by hand, beside the service, on a coin chain. @module */
import { equal } from "node:assert/strict";
import * as curve from "@bitcoinerlab/secp256k1";
import { payments, script as scripts, Transaction } from "bitcoinjs-lib";
import { selectKeyPositions } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import { scriptOf } from "../../domain/chains/addresses.ts";
import type { UtxoRamp } from "./utxo_fixture.ts";

const NETWORK = "regtest" as const;
/** What such a transaction costs, in base units. */
export const FEE = 10_000n;

/** An output of the node's own wallet: a stranger's coin. */
export interface Strange {
  readonly txid: string;
  readonly vout: number;
  readonly amount: bigint;
}

/** Picks a coin of the node's wallet; one that a script of several keys locks, where asked. */
export async function strangeCoin({ node }: UtxoRamp, many = false): Promise<Strange> {
  const of: string[] = [];
  if (many) {
    const keys = [await node.rpc("getnewaddress"), await node.rpc("getnewaddress")];
    const made = await node.rpc<{ address: string }>("addmultisigaddress", 2, keys, "", "bech32");
    await node.rpc("sendtoaddress", made.address, 2);
    await node.mine();
    of.push(made.address);
  }
  const [{ txid, vout, amount }] = await node.rpc<
    { txid: string; vout: number; amount: number }[]
  >("listunspent", 1, 9_999_999, of);
  return { txid, vout, amount: BigInt(Math.round(amount * 1e8)) };
}

/** A payment that is made by hand; to an address, or to `script:` and a script in hexadecimal. */
export interface HandPayment {
  readonly to: string;
  readonly amount: bigint;
}

/** What else such a transaction spends, and what it does not. */
export interface HandInputs {
  /** Other addresses of ours. */
  readonly others?: readonly string[];
  /** Coins that stay, as `txid:index`. */
  readonly kept?: readonly string[];
}

/** Signs as {@link signByHand} does, and mines that in a block which holds nothing else. Gives the hash. */
export async function mineByHand(
  funded: UtxoRamp,
  strange: Strange | null,
  paying: readonly HandPayment[],
  inputs: HandInputs = {},
): Promise<string> {
  const { raw, hash } = await signByHand(funded, strange, paying, inputs);
  await funded.node.rpc("generateblock", await funded.node.rpc("getnewaddress"), [raw]);
  return hash;
}

/** Signs a transaction that spends all coins of the ramp and, where given, a stranger's, who signs with it. */
export async function signByHand(
  funded: UtxoRamp,
  strange: Strange | null,
  paying: readonly HandPayment[],
  { others = [], kept = [] }: HandInputs = {},
): Promise<{ raw: string; hash: string }> {
  const { context, address, realm, node } = funded;
  const ours = [address, ...others];
  const coins: (Awaited<ReturnType<typeof node.coins>>[number] & { of: string })[] = [];
  for (const of of ours) {
    const own = (await scriptOf("LITECOIN", NETWORK, of)).toHex();
    for (const coin of await node.coins(own)) {
      if (!kept.includes(`${coin.hash}:${coin.index}`)) coins.push({ ...coin, of });
    }
  }
  const made = new Transaction();
  made.version = 2;
  for (const { hash, index } of coins) {
    made.addInput(Uint8Array.fromHex(hash).reverse(), index, 0xfffffffd);
  }
  if (strange !== null) {
    made.addInput(Uint8Array.fromHex(strange.txid).reverse(), strange.vout, 0xfffffffd);
  }
  for (const { to, amount } of paying) {
    const script = /^script:(.*)$/.exec(to)?.[1];
    const output = script === undefined
      ? await scriptOf("LITECOIN", NETWORK, to)
      : Uint8Array.fromHex(script);
    made.addOutput(output, amount);
  }
  const place = { chain: "LITECOIN" as const, network: NETWORK };
  const rows = await reading(context.pool, (db) => selectKeyPositions(db, place, ours));
  const paths = rows.map((row) => ({ ...place, ...row }));
  const store = { realm: realm.id, pool: realm.pool };
  await context.signer.withKeys(store, paths, (keys) => {
    for (const [at, { amount, of }] of coins.entries()) {
      const key = keys.get(of)!;
      const point = curve.pointFromScalar(key, true)!;
      const code = payments.p2pkh({ pubkey: point }).output!;
      const digest = made.hashForWitnessV0(at, code, amount, Transaction.SIGHASH_ALL);
      const der = scripts.signature.encode(curve.sign(digest, key), Transaction.SIGHASH_ALL);
      made.setWitness(at, [der, point]);
    }
    return Promise.resolve();
  });
  const { hex, complete } = await node.rpc<{ hex: string; complete: boolean }>(
    "signrawtransactionwithwallet",
    made.toHex(),
  );
  equal(complete, true, "both have signed");
  return { raw: hex, hash: Transaction.fromHex(hex).getId() };
}
