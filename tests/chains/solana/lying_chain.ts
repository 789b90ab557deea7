/** Questions to Solana, on a chain without new blocks. @module */
import { Keypair } from "@solana/web3.js";
import { openSolana } from "../../../workers/chains/solana/chain.ts";
import type { Chain } from "../../../workers/chains/chain.ts";
import type { SendRequest, Signed } from "../../../workers/chains/outgoing.ts";
import { scanned, watching } from "../conformance.ts";
import {
  observationProbes,
  openLyingChain,
  type Payments,
  requestProbes,
  type Scene,
  type Terms,
} from "../lying_chain.ts";
import {
  anything,
  type Probe,
  same,
  scannedAlone,
  scannedBetween,
  type WorkerContext,
} from "../../support/lie_probes.ts";
import { expireTransactions, startSurfpool, type Surfpool } from "../../support/nodes/surfpool.ts";
import {
  fillPayer,
  makeMint,
  makesUsual,
  moves,
  usualAccount,
} from "../../support/nodes/solana_tokens.ts";

const SOL = 1_000_000_000n;
/** No payment of ours bids more: two signatures, and five lamports for each of 400 000 compute units. */
const DEAREST = 10_000n + 5n * 400_000n;

/** With so many addresses more, whole blocks are read. */
const STRANGERS = Array.from({ length: 1_000 }, () => Keypair.generate().publicKey.toBase58());

interface SolanaScene extends Scene {
  readonly mint: string;
}

/** A chain with payments of all kinds behind a node of two faces. */
export async function lyingSolana(): Promise<WorkerContext & AsyncDisposable> {
  const node = await startSurfpool();
  const chain = await openSolana("testnet", [node.url]);
  const scene = await drive(node, chain);
  chain.close();
  const { payee, to, transfers, mined } = scene;
  const terms: Terms = {
    watch: () => watching([payee]),
    block: to - 1,
    searched: transfers[0].hash,
    searchedBetween: anything,
    minedAt: transfers.find(({ hash }) => hash === mined[0].hash)!.block!.height,
    dearest: DEAREST,
  };
  return openLyingChain({
    fixture: { [Symbol.asyncDispose]: () => node.stop() },
    async ask(question) {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ jsonrpc: "2.0", ...question });
      return await (await fetch(node.url, { method: "POST", headers, body })).json();
    },
    kindOf: ({ method, params }) => {
      const { transactionDetails = "", encoding = "" } = (params.at(-1) ?? {}) as Record<
        string,
        string
      >;
      return `${method} ${transactionDetails}${encoding}`;
    },
    probes: [
      ...observationProbes(scene, terms),
      ...heldProbes(scene, terms),
      ...requestProbes(scene, terms),
    ],
    open: (urls) => openSolana("testnet", urls, { limits: { timeoutMs: 10_000 } }),
  });
}

function pays(from: Keypair, to: string, amount: bigint): SendRequest {
  const payer = from.publicKey.toBase58();
  return { kind: "pay", from: payer, contract: null, payments: [{ to, amount }] };
}

async function signed(chain: Chain, from: Keypair, order: SendRequest) {
  const plan = chain.plan(await chain.draft(order, "medium"), {});
  const keys = new Map([[from.publicKey.toBase58(), from.secretKey.slice(0, 32)]]);
  const bytes: Signed = { ...await chain.sign(plan, keys), body: plan.body };
  return { plan, bytes };
}

async function drive(node: Surfpool, chain: Chain): Promise<SolanaScene> {
  const payer = Keypair.generate();
  const payee = Keypair.generate().publicKey.toBase58();
  await node.pay(payer.publicKey.toBase58(), 100n * SOL);
  await node.mine();
  const dead = await signed(chain, payer, pays(payer, payee, 2n * SOL));
  await expireTransactions(node);
  await node.mine();
  const from = (await chain.head()).height + 1;
  const mint = await makeMint(node);
  const source = await fillPayer(node, mint, 1_000n);
  await node.send([
    makesUsual(node, payee, mint),
    moves(node, mint, { from: source, to: usualAccount(payee, mint), amount: 5n }),
  ]);
  await node.pay(payee, 3n * SOL);
  const payments = await paid(node, chain, payer, payee);
  const { height: to } = await chain.head();
  const transfers = (await scanned(chain, from, to, watching([payee])))
    .flatMap((one) => one.transfers);
  const party = { address: payer.publicKey.toBase58(), key: payer.secretKey.slice(0, 32) };
  const found = { payer: party, payee, from, to, transfers, mint: mint.address };
  return { ...payments, ...found, dead: [dead.bytes] };
}

async function paid(
  node: Surfpool,
  chain: Chain,
  payer: Keypair,
  payee: string,
): Promise<Omit<Payments, "dead">> {
  const first = await signed(chain, payer, pays(payer, payee, SOL));
  await chain.broadcast(first.bytes);
  await node.mine(2);
  const waiting = await signed(chain, payer, pays(payer, payee, SOL));
  await chain.broadcast(waiting.bytes);
  return {
    ...{ mined: [first.bytes], most: first.plan.fee, plan: waiting.plan },
    pending: [waiting.bytes],
  };
}

/** Questions about what addresses and mints hold. */
function heldProbes({ payer, payee, mint, from, to }: SolanaScene, { watch }: Terms): Probe[] {
  const coins = { address: payee, contract: null };
  const holdings = [coins, { address: payee, contract: mint }];
  const many = [payee, ...STRANGERS];
  return [
    {
      name: "scan of whole blocks",
      ask: (chain) => scanned(chain, from, to, watching(many)),
      between: scannedBetween as Probe["between"],
      alone: scannedAlone as Probe["between"],
    },
    {
      name: "search of a block",
      ask: (chain) => chain.search({ height: from }, watch()),
      between: anything,
    },
    { name: "balances", ask: (chain) => chain.balances(holdings, null), between: anything },
    { name: "older balances", ask: (chain) => chain.balances(holdings, from), between: anything },
    { name: "a balance", ask: (chain) => chain.balance(coins, to), between: same },
    {
      name: "what was spent",
      ask: (chain) => chain.spent({ address: payer.address, contract: null }, from, to),
      between: anything,
    },
    {
      name: "a token",
      ask: async (chain) => ({ ...await chain.token(mint), supply: null }),
      between: same,
    },
    { name: "a token at a block", ask: (chain) => chain.token(mint, to), between: same },
    {
      name: "funds",
      ask: async (chain) => (await chain.funds(holdings)).amounts,
      between: (answer, truth) => {
        const [told, known] = [answer, truth] as bigint[][];
        return known.some((one, at) => told[at] > one) ? `holds ${told}` : null;
      },
    },
  ];
}
