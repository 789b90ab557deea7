import { deepEqual, equal, ok } from "node:assert/strict";
import {
  AddressLookupTableAccount,
  AddressLookupTableProgram,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import type { Chain } from "../../../workers/chains/chain.ts";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { Transfer } from "../../../workers/chains/observations.ts";
import { failsAs, scanned, watching } from "../conformance.ts";
import { startFaultyNode } from "../../support/nodes/faulty_node.ts";
import { startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import {
  fillPayer,
  makeMint,
  makeOther,
  makesUsual,
  moves,
  TOKEN_2022_PROGRAM,
  usualAccount,
} from "../../support/nodes/solana_tokens.ts";

const SOL = 1_000_000_000n;

function somebody(): string {
  return Keypair.generate().publicKey.toBase58();
}

/** With so many addresses more, whole blocks are read; with ours alone, their transactions. */
const STRANGERS = Array.from({ length: 1_000 }, somebody);

/** Scans for addresses in both ways, which must find the same. */
async function found(
  chain: Chain,
  from: number,
  addresses: string[],
  ways: "both" | "blocks" = "both",
): Promise<Transfer[]> {
  const { height } = await chain.head();
  const many = await scanned(chain, from, height, watching([...addresses, ...STRANGERS]));
  if (ways === "both") {
    deepEqual(await scanned(chain, from, height, watching(addresses)), many);
  }
  return many.flatMap(({ transfers }) => transfers);
}

function paysCoin(node: Surfpool, to: string, lamports: bigint) {
  return SystemProgram.transfer({
    fromPubkey: node.payer.publicKey,
    toPubkey: new PublicKey(to),
    lamports,
  });
}

/** A node with the chain over it. */
interface TestChain {
  readonly node: Surfpool;
  readonly chain: Chain;
  readonly payer: string;
}

Deno.test("a scan of Solana reads what arrived, by balances before and after", async (test) => {
  await using node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url]);
  const place = { node, chain, payer: node.payer.publicKey.toBase58() };
  const steps: Readonly<Record<string, (place: TestChain, from: number) => Promise<void>>> = {
    "several transfers of one transaction to several addresses": severalTransfers,
    "a failed transaction pays nobody": failedTransaction,
    "a receiver from an address table": addressTable,
    "a node that does not tell the accounts of address tables": leftOut,
    "tokens of SPL Token at the usual account and at another": (...of) => tokens(...of),
    "tokens of Token-2022 at the usual account and at another": (...of) =>
      tokens(...of, TOKEN_2022_PROGRAM),
    "a token that keeps a part of each transfer": keptPart,
    "tokens that move between accounts of one owner did not arrive": ownMove,
  };
  for (const [name, run] of Object.entries(steps)) {
    await test.step(name, async () => await run(place, (await chain.head()).height + 1));
  }
  chain.close();
});

async function severalTransfers({ node, chain, payer }: TestChain, since: number): Promise<void> {
  const [one, other] = [somebody(), somebody()];
  const hash = await node.send([
    paysCoin(node, one, SOL),
    paysCoin(node, other, 2n * SOL),
    paysCoin(node, one, SOL),
  ]);
  await node.mine();
  const transfers = await found(chain, since, [one, other]);
  deepEqual(
    transfers.map(({ hash, from, to, contract, amount }) => ({ hash, from, to, contract, amount }))
      .toSorted((a) => a.to === one ? -1 : 1),
    [one, other].map((to) => ({ hash, from: payer, to, contract: null, amount: 2n * SOL })),
  );
  equal(new Set(transfers.map(({ index }) => index)).size, 2);
  for (const transfer of transfers) {
    const checked = { transfer, received: 2n * SOL, proven: true };
    deepEqual(await chain.recheck(transfer, { depth: 1 }), checked);
  }
  deepEqual(await chain.search({ hash }, watching([one, other])), transfers);
}

async function failedTransaction({ node, chain }: TestChain, since: number): Promise<void> {
  const ours = somebody();
  const poor = Keypair.generate();
  await node.pay(poor.publicKey.toBase58(), 2_000_000n);
  const { value } = await node.raw<{ value: { blockhash: string } }>("getLatestBlockhash");
  const message = new TransactionMessage({
    payerKey: poor.publicKey,
    recentBlockhash: value.blockhash,
    instructions: [SystemProgram.transfer({
      fromPubkey: poor.publicKey,
      toPubkey: new PublicKey(ours),
      lamports: SOL,
    })],
  }).compileToV0Message();
  const transaction = new VersionedTransaction(message);
  transaction.sign([poor]);
  const raw = transaction.serialize().toBase64();
  await node.rpc("sendTransaction", raw, { encoding: "base64", skipPreflight: true });
  await node.mine();
  deepEqual(await found(chain, since, [ours]), []);
  const coins = { address: poor.publicKey.toBase58(), contract: null };
  const { height } = await chain.head();
  equal(await chain.spent(coins, since - 1, height), 5_000n, "its fee was spent");
}

async function addressTable({ node, chain }: TestChain, since: number): Promise<void> {
  const ours = somebody();
  const hash = await node.sendRaw(await throughTable(node, ours, SOL));
  await node.mine();
  // This node does not list the transactions of addresses that stand in tables; others do.
  const [transfer] = await found(chain, since, [ours], "blocks");
  deepEqual([transfer.hash, transfer.to, transfer.amount], [hash, ours, SOL]);
  equal((await chain.recheck(transfer))?.received, SOL);
}

/** Some versions of nodes do not tell the accounts of address tables beside the plain form of a transaction. */
async function leftOut({ node }: TestChain, since: number): Promise<void> {
  const ours = somebody();
  const hash = await node.sendRaw(await throughTable(node, ours, SOL));
  await node.mine();
  let parsed: "told" | "left out" | "two of one" = "told";
  await using front = startFaultyNode(node.url, async ({ method, params }) => {
    if (method !== "getTransaction") return undefined;
    const [, { encoding }] = params as [string, { encoding: string }];
    const answer = await node.rpc<ToldTransaction>(method, ...params);
    const { message } = answer.transaction;
    if (encoding === "json") {
      if (parsed === "two of one") answer.meta.loadedAddresses?.writable.push(somebody());
      else delete answer.meta.loadedAddresses;
    } else if (parsed === "left out") message.accountKeys.pop();
    return answer;
  });
  const chain = await openSolana("testnet", [front.url]);
  const [transfer] = await found(chain, since, [ours], "blocks");
  deepEqual([transfer.hash, transfer.to, transfer.amount], [hash, ours, SOL]);
  equal((await chain.recheck(transfer))?.received, SOL, "the parsed form tells them");
  const coins = { address: node.payer.publicKey.toBase58(), contract: null };
  const { height } = await chain.head();
  ok(await chain.spent(coins, height - 1, height) >= SOL, "what left is told so too");
  for (const lie of ["left out", "two of one"] as const) {
    parsed = lie;
    await failsAs("unavailable", chain.recheck(transfer));
  }
  chain.close();
  const both = await openSolana("testnet", [front.url, node.url], { quorum: 1 });
  equal((await both.recheck(transfer))?.received, SOL, "another node is asked");
  both.close();
}

interface ToldTransaction {
  readonly meta: { loadedAddresses?: { writable: string[]; readonly: string[] } };
  readonly transaction: { readonly message: { readonly accountKeys: unknown[] } };
}

async function tokens(
  { node, chain, payer }: TestChain,
  since: number,
  program?: string,
): Promise<void> {
  const owner = somebody();
  const mint = await makeMint(node, { program });
  const source = await fillPayer(node, mint, 1_000n);
  const other = await makeOther(node, owner, mint);
  const usual = usualAccount(owner, mint);
  await node.send([
    makesUsual(node, owner, mint),
    moves(node, mint, { from: source, to: usual, amount: 5n }),
  ]);
  await node.send([moves(node, mint, { from: source, to: other, amount: 7n })]);
  await node.mine();
  const transfers = await found(chain, since, [owner]);
  deepEqual(
    transfers.map((one) => [one.from, one.to, one.contract, one.amount]),
    [[payer, owner, mint.address, 5n], [payer, owner, mint.address, 7n]],
  );
  for (const one of transfers) equal((await chain.recheck(one))?.received, one.amount);
  const holding = { address: owner, contract: mint.address };
  const { height } = await chain.head();
  deepEqual((await chain.balances([holding], null)).amounts, [12n]);
  equal(await chain.balance(holding, height - 1), 5n);
  deepEqual((await chain.funds([holding])).amounts, [12n]);
  const spender = { address: payer, contract: mint.address };
  equal(await chain.spent(spender, since - 1, height), 12n);
}

async function keptPart({ node, chain }: TestChain, since: number): Promise<void> {
  const owner = somebody();
  const mint = await makeMint(node, { program: TOKEN_2022_PROGRAM, fee: 250 });
  const source = await fillPayer(node, mint, 10_000n);
  await node.send([
    makesUsual(node, owner, mint),
    moves(node, mint, { from: source, to: usualAccount(owner, mint), amount: 1_000n }),
  ]);
  await node.mine();
  deepEqual((await found(chain, since, [owner])).map(({ amount }) => amount), [975n]);
}

async function ownMove({ node, chain, payer }: TestChain, since: number): Promise<void> {
  const mint = await makeMint(node);
  const source = await fillPayer(node, mint, 1_000n);
  const other = await makeOther(node, payer, mint);
  await node.send([moves(node, mint, { from: source, to: other, amount: 400n })]);
  await node.mine();
  const amounts = (await found(chain, since, [payer])).flatMap(({ contract, amount }) =>
    contract === mint.address ? [amount] : []
  );
  deepEqual(amounts, [1_000n], "made once, and moved without a gain");
}

/** Pays a receiver whose address stands in a table of the chain. */
async function throughTable(node: Surfpool, to: string, lamports: bigint): Promise<string> {
  const recentSlot = await node.raw<number>("getSlot", { commitment: "processed" }) - 1;
  const [create, table] = AddressLookupTableProgram.createLookupTable({
    authority: node.payer.publicKey,
    payer: node.payer.publicKey,
    recentSlot,
  });
  const addresses = [new PublicKey(to)];
  const extend = AddressLookupTableProgram.extendLookupTable({
    ...{ lookupTable: table, authority: node.payer.publicKey, payer: node.payer.publicKey },
    addresses,
  });
  await node.send([create, extend]);
  await node.mine();
  const { value } = await node.raw<{ value: { blockhash: string } }>("getLatestBlockhash");
  const state = {
    deactivationSlot: 2n ** 64n - 1n,
    ...{ lastExtendedSlot: 0, lastExtendedSlotStartIndex: 0, addresses },
  };
  const message = new TransactionMessage({
    payerKey: node.payer.publicKey,
    recentBlockhash: value.blockhash,
    instructions: [paysCoin(node, to, lamports)],
  }).compileToV0Message([new AddressLookupTableAccount({ key: table, state })]);
  equal(message.addressTableLookups.length, 1);
  const transaction = new VersionedTransaction(message);
  transaction.sign([node.payer]);
  return transaction.serialize().toBase64();
}
