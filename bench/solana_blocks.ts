/**
 * How fast Solana is read: a block of 2000 transactions against 100 000 watched addresses, and the questions
 * about single addresses that take its place while they are few, through HTTP as from a node.
 *
 * @module
 */
import { base58 } from "@scure/base";
import { openSolanaNodes } from "../workers/chains/solana/node_answers.ts";
import { byBlocks } from "../workers/chains/solana/scan.ts";
import { bySignaturesOf } from "../workers/chains/solana/signatures.ts";
import type { WatchList } from "../workers/chains/observations.ts";

const TRANSACTIONS = 2_000;
const WATCHED = 100_000;
/** Accounts of each transaction, and how many of them hold tokens. */
const ACCOUNTS = 24;
const TOKENS = 4;
const SLOT = 400_000_000;
/** Every hundredth transaction pays a watched address. */
const PAYS_EVERY = 100;

/** One line of the table. */
interface Line {
  readonly what: string;
  readonly ms: number;
  readonly found: string;
}

/** A key that depends on nothing but a number. */
function keyAt(number: number): string {
  const bytes = new Uint8Array(32).fill(5);
  new DataView(bytes.buffer).setFloat64(0, number);
  return base58.encode(bytes);
}

function signatureAt(number: number): string {
  const bytes = new Uint8Array(64).fill(6);
  new DataView(bytes.buffer).setFloat64(0, number);
  return base58.encode(bytes);
}

/** A block as a node words it where accounts and balances are asked for. */
function makeBlock(): Record<string, unknown> {
  const transactions = Array.from({ length: TRANSACTIONS }, (_, number) => {
    const first = 2 ** 40 + number * ACCOUNTS;
    const keys = Array.from({ length: ACCOUNTS }, (_, at) => keyAt(first + at));
    if (number % PAYS_EVERY === 0) keys[1] = keyAt(number);
    const before = keys.map((_, at) => 1_000_000_000 + at);
    const after = before.map((amount, at) => at === 0 ? amount - 15_000 : amount);
    after[1] += 10_000;
    const tokens = Array.from({ length: TOKENS }, (_, at) => ({
      accountIndex: at + 2,
      mint: keyAt(2 ** 50),
      owner: keyAt(2 ** 45 + number * TOKENS + at),
      programId: keyAt(2 ** 51),
      uiTokenAmount: { amount: "1000000", decimals: 6, uiAmount: 1, uiAmountString: "1" },
    }));
    const result = { err: null, status: { Ok: null }, fee: 5_000 };
    return {
      meta: {
        ...result,
        ...{ preBalances: before, postBalances: after },
        ...{ preTokenBalances: tokens, postTokenBalances: tokens },
      },
      transaction: {
        accountKeys: keys.map((pubkey, at) => ({
          ...{ pubkey, signer: at === 0, source: "transaction", writable: at < 6 },
        })),
        signatures: [signatureAt(number)],
      },
      version: 0,
    };
  });
  const links = { blockhash: keyAt(2 ** 52), previousBlockhash: keyAt(2 ** 53) };
  return { ...links, parentSlot: SLOT - 1, blockTime: 1_790_000_000, transactions };
}

/** A node with one block; no other address has a transaction. */
function serve(whole: string): Deno.HttpServer<Deno.NetAddr> {
  const { transactions: _, ...bare } = JSON.parse(whole);
  const listed = { context: { slot: SLOT }, value: [] };
  const answers: Readonly<Record<string, string>> = {
    getGenesisHash: JSON.stringify(keyAt(2 ** 54)),
    getTokenAccountsByOwner: JSON.stringify(listed),
    getSignaturesForAddress: "[]",
  };
  function answerTo({ id, method, params }: { id: number; method: string; params: unknown[] }) {
    const detail = (params[1] as { transactionDetails?: string } | undefined)?.transactionDetails;
    const block = detail === "none" ? JSON.stringify(bare) : whole;
    const result = method === "getBlock" ? block : answers[method];
    return `{"jsonrpc":"2.0","result":${result},"id":${id}}`;
  }
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const body = await request.json();
    return new Response(
      Array.isArray(body) ? `[${body.map(answerTo).join()}]` : answerTo(body),
    );
  });
}

function watchOf(many: number): WatchList {
  const addresses = new Set(Array.from({ length: many }, (_, at) => keyAt(at)));
  return { addresses, inputs: new Set(), contracts: null };
}

/** Measures both ways of reading. */
export async function solanaScanning(
  measured: (work: () => Promise<unknown>) => Promise<number>,
): Promise<Line[]> {
  const whole = JSON.stringify(makeBlock());
  const server = serve(whole);
  const nodes = openSolanaNodes("testnet", [`http://127.0.0.1:${server.addr.port}`]);
  const [peer] = nodes.peers;
  const web3 = await import("@solana/web3.js");
  const solana = { network: "testnet" as const, nodes, web3 };
  try {
    const watch = watchOf(WATCHED);
    const [{ transfers }] = await byBlocks(solana, peer, [SLOT], watch);
    const size = `${(whole.length / 2 ** 20).toFixed(1)} MiB`;
    const lines = [{
      what: `Solana: a block of ${TRANSACTIONS} transactions, ${WATCHED} addresses watched`,
      ms: await measured(() => byBlocks(solana, peer, [SLOT], watch)),
      found: `${size}, ${transfers.length} transfers`,
    }];
    for (const many of [25, 250, 2_500]) {
      const some = watchOf(many);
      lines.push({
        what: `Solana: the transactions of ${many} addresses in its place`,
        ms: await measured(() => bySignaturesOf(solana, peer, [SLOT], some)),
        found: `${3 * many} questions, none has any`,
      });
    }
    return lines;
  } finally {
    nodes.close();
    await server.shutdown();
  }
}
