/** Deposits that no instruction of their transaction names: a program of a stranger's pays them by inner ones. */
import { deepEqual, equal } from "node:assert/strict";
import {
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { findAsset } from "../../../domain/assets.ts";
import { checkLedger } from "../../../domain/audit/ledger_check.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import { rowsOf } from "../../support/realm.ts";
import { throughProgram } from "../../support/nodes/solana_program.ts";
import {
  fillPayer,
  makeOther,
  makesUsual,
  moves,
  plantMint,
  type TestMint,
  usualAccount,
} from "../../support/nodes/solana_tokens.ts";
import type { Surfpool } from "../../support/nodes/surfpool.ts";
import { openSolanaFixture, type SolanaFixture } from "../../support/solana_deposit_fixture.ts";
import { outsider } from "../../support/solana_fixture.ts";
import { scanned, watching } from "../conformance.ts";

const SOL = 1_000_000_000n;
const PYUSD = 1_000_000n;

/** Deposit addresses for SOL and for a token. */
interface Scene {
  readonly fixture: SolanaFixture;
  readonly mint: TestMint;
  /** The payer's tokens. */
  readonly source: string;
  readonly ramps: { readonly coin: string; readonly token: string };
  readonly coin: string;
  readonly token: string;
}

async function openScene(fixture: SolanaFixture): Promise<Scene> {
  const { node } = fixture;
  const { contract, decimals } = findAsset("PYUSD_SOL")!;
  const mint = await plantMint(node, { address: contract!, symbol: "PYUSD", decimals });
  const [coins, tokens] = [await fixture.ramp(), await fixture.ramp("PYUSD_SOL")];
  const coin = (await fixture.address(coins.id)).address;
  const token = (await fixture.address(tokens.id)).address;
  await node.pay(tokens.address, SOL);
  const source = await fillPayer(node, mint, 100n * PYUSD);
  await node.send([makesUsual(node, token, mint)]);
  await fixture.mine();
  return { fixture, mint, source, ramps: { coin: coins.id, token: tokens.id }, coin, token };
}

function paysCoin({ payer }: Surfpool, to: string, lamports: bigint) {
  const fromPubkey = payer.publicKey;
  return SystemProgram.transfer({ fromPubkey, toPubkey: new PublicKey(to), lamports });
}

/** A stranger's program pays twice, and another of the same transaction's instructions once more, to each address. */
async function payByProgram(scene: Scene, fails = false): Promise<string> {
  const { fixture: { node }, mint, source, coin, token } = scene;
  const usual = usualAccount(token, mint);
  const other = await makeOther(node, token, mint);
  const [some, more] = [usual, other].map((to) =>
    moves(node, mint, { from: source, to, amount: to === usual ? 5n * PYUSD : 7n * PYUSD })
  );
  const instructions = [
    await throughProgram(node, paysCoin(node, coin, SOL)),
    paysCoin(node, coin, 2n * SOL),
    await throughProgram(node, some),
    more,
  ];
  if (!fails) return await node.send(instructions);
  const tooMuch = paysCoin(node, outsider(), 10n ** 15n);
  return await sendAnyway(node, [...instructions, tooMuch]);
}

/** Sends a transaction that its block has as failed. */
async function sendAnyway(node: Surfpool, instructions: TransactionInstruction[]): Promise<string> {
  const { payer } = node;
  const { value } = await node.raw<{ value: { blockhash: string } }>("getLatestBlockhash");
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: value.blockhash,
    instructions,
  }).compileToLegacyMessage();
  const transaction = new VersionedTransaction(message);
  transaction.sign([payer]);
  const how = { encoding: "base64", skipPreflight: true };
  return await node.rpc("sendTransaction", transaction.serialize().toBase64(), how);
}

Deno.test("what a program pays by inner instructions is credited once, beside other transfers of its transaction", async () => {
  await using fixture = await openSolanaFixture({ main: true });
  const scene = await openScene(fixture);
  const { realm, node, mine } = fixture;
  await payByProgram(scene, true);
  await mine();
  deepEqual(await fixture.deposits(), [], "what failed paid nobody");
  const hash = await payByProgram(scene);
  await mine();
  const expected = [
    { address: scene.coin, asset: "SOL", amount: "3", status: "CONFIRMED" },
    { address: scene.token, asset: "PYUSD_SOL", amount: "12", status: "CONFIRMED" },
  ];
  deepEqual(await fixture.deposits(), expected);
  const { meta } = await node.rpc<{ meta: { innerInstructions: unknown[] } }>(
    ...["getTransaction", hash, { encoding: "json", maxSupportedTransactionVersion: 0 }] as const,
  );
  equal(meta.innerInstructions.length, 2, "two of its instructions paid by inner ones");
  const again = await realm.admin.send("POST", "/v1/deposits/rescan", { chain: "SOLANA", hash });
  equal(again.status, 200, again.text);
  await realm.drain();
  deepEqual(await fixture.deposits(), expected, "a rescan finds the same");
  await fixture.mineUntil(async () =>
    (await fixture.account(scene.ramps.token)).balance.total === "12" &&
    (await fixture.account(scene.ramps.coin)).balance.total !== "0"
  );
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  deepEqual(await rowsOf(realm, "select address from unexplained_gains"), []);
  // Both ways of reading tell the same transfers.
  const chain = await openSolana("main", [node.url]);
  const { height } = await chain.head();
  const ways = [[], Array.from({ length: 1_000 }, outsider)].map((others) =>
    scanned(chain, height - 40, height, watching([scene.coin, scene.token, ...others]))
  );
  const [few, many] = (await Promise.all(ways)).map((blocks) =>
    blocks.flatMap(({ transfers }) => transfers).filter((one) => one.hash === hash)
  );
  deepEqual(few, many);
  deepEqual(few.map(({ to, amount }) => [to, amount]), [
    [scene.coin, 3n * SOL],
    [scene.token, 12n * PYUSD],
  ]);
  chain.close();
});
