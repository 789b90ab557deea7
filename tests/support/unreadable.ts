/** Transactions that the holder of a realm's seed makes, and that nothing here can read; and what operators say of them. @module */
import {
  Keypair,
  PublicKey,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { AbiCoder, id as topicOf } from "ethers";
import { selectKeyPositions } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import type { ChainId } from "../../domain/assets.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { dateQuarantines, haltRealm, reconcile } from "./installation.ts";
import { partyOf, toHex } from "./nodes/tron/wallet.ts";
import { rowsOf, type TestRealm } from "./realm.ts";
import type { SolanaRamp } from "./solana_fixture.ts";
import type { TronRamp } from "./tron_fixture.ts";

/** Reconciles; questions stay open. */
export async function reconciled(
  realm: TestRealm,
  stated: Record<string, string | string[] | null> = {},
) {
  const said = new Map(Object.entries(stated).map(([hash, paid]) => [hash, [paid ?? []].flat()]));
  const [report] = await reconcile(realm, () => Promise.resolve(null), said);
  return { report, left: [...said.keys()] };
}

/** What the trail says of statements. */
export async function trailOf(realm: TestRealm) {
  return await rowsOf<{ actor: string | null; action: string; entity: string; hash: string }>(
    realm,
    `select actor, action, entity, coalesce(o.hash, w.hash) as hash from audit a
      left join chain_orders o on o.id = a.entity left join withdrawals w on w.id = a.entity
      where action ^@ 'reconcile.' order by a.id`,
  );
}

/** What `fees` and `world` have of an asset. */
export async function booksOf(realm: TestRealm, asset: string) {
  const rows = await rowsOf<{ system: string; total: string }>(
    realm,
    "select system, trim_scale(total)::text as total from accounts where system in ('fees', 'world') and asset = $1",
    [asset],
  );
  return Object.fromEntries(rows.map(({ system, total }) => [system, Number(total)]));
}

/** Lends the private key of the ramp's address, as the realm's seed gives it. */
export async function withKey<T>(
  { context, realm, address }: { context: WorkerContext; realm: TestRealm; address: string },
  place: { chain: ChainId; network: Network },
  work: (key: Uint8Array) => Promise<T>,
): Promise<T> {
  const rows = await reading(context.pool, (db) => selectKeyPositions(db, place, [address]));
  const paths = rows.map((row) => ({ ...place, ...row }));
  const store = { realm: realm.id, pool: realm.pool };
  return await context.signer.withKeys(
    store,
    paths,
    (keys) => work(Uint8Array.from(keys.get(address)!)),
  );
}

/** Calls a contract with the ramp's key. */
export async function callTron(ramped: TronRamp, contract: string, data: string, value: bigint) {
  const { node } = ramped;
  return await withKey(ramped, { chain: "TRON", network: "main" }, async (key) => {
    const hash = await node.trigger(contract, data, { from: partyOf(key), value });
    await node.mine(3);
    return hash;
  });
}

const PAY_COIN = topicOf("payCoin(address[],uint256)").slice(2, 10);

/** The call that has a `Batcher` pay to each of some addresses. */
export function payCoin(to: readonly string[], each: bigint): string {
  const values = [to.map((one) => `0x${toHex(one).slice(2)}`), each];
  const coded = AbiCoder.defaultAbiCoder().encode(["address[]", "uint256"], values);
  return PAY_COIN + coded.slice(2);
}

/** Pays addresses inside a call, as somebody with the realm's seed could. */
export async function payInside(
  ramped: TronRamp,
  to: string | readonly string[],
  each: bigint,
  value: bigint,
) {
  const contract = await ramped.node.deploy("Batcher");
  return await callTron(ramped, contract, payCoin([to].flat(), each), value);
}

/** Puts the ramp into a quarantine of long ago: nothing that was signed before it can still be mined. */
export async function haltLongAgo(realm: TestRealm): Promise<void> {
  await haltRealm(realm);
  await dateQuarantines(realm, 1);
}

/** Executes an instruction that no plan of ours has, with the ramp's key; another address of ours pays the fee on demand. */
export async function actOnSolana(
  ramped: SolanaRamp,
  data: number[],
  keys: readonly [string, boolean][],
  payer = ramped.address,
) {
  const { node, address, token, context, realm } = ramped;
  const place = { chain: "SOLANA", network: "main" } as const;
  const signers = await Promise.all(
    [...new Set([payer, address])].map((one) =>
      withKey(
        { context, realm, address: one },
        place,
        (key) => Promise.resolve(Keypair.fromSeed(key)),
      )
    ),
  );
  const instruction = new TransactionInstruction({
    programId: new PublicKey(token.program),
    keys: [
      ...keys.map(([one, isWritable]) => ({
        ...{ pubkey: new PublicKey(one), isSigner: false, isWritable },
      })),
      { pubkey: new PublicKey(address), isSigner: true, isWritable: false },
    ],
    data: Uint8Array.from(data) as never,
  });
  const { value } = await node.rpc<{ value: { blockhash: string } }>("getLatestBlockhash");
  const made = new VersionedTransaction(
    new TransactionMessage({
      payerKey: signers[0].publicKey,
      recentBlockhash: value.blockhash,
      instructions: [instruction],
    }).compileToLegacyMessage(),
  );
  made.sign(signers);
  const hash = await node.sendRaw(btoa(String.fromCharCode(...made.serialize())));
  await node.mine(3);
  return hash;
}

/** A number of eight bytes, the least first. */
export function littleEndian(amount: bigint): number[] {
  return Array.from({ length: 8 }, (_, at) => Number(amount >> BigInt(8 * at) & 255n));
}

/** A node before a node of Tron, that alters what that answers at one path. */
export function alteredFront(node: () => string, path: string, alter: (text: string) => string) {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (asked) => {
      const { pathname } = new URL(asked.url);
      const body = await asked.text();
      const answer = await fetch(node() + pathname, {
        method: asked.method,
        ...(body === "" ? {} : { body }),
      });
      const text = await answer.text();
      return new Response(pathname === path ? alter(text) : text);
    },
  );
  return { url: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}
