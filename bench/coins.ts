/**
 * How fast coin chains are read and coins are chosen: a block of 3000 transactions against 100 000
 * watched scripts, through HTTP as from a node, and payments out of up to 10 000 coins; beside them
 * blocks of Solana.
 * Part of a full `deno task bench`; alone by `deno task bench --only=coins`.
 *
 * @module
 */
import { Block, Transaction } from "bitcoinjs-lib";
import { openCoins } from "../workers/chains/bitcoin/chain.ts";
import { feeAt } from "../workers/chains/bitcoin/fees.ts";
import { COIN_TABLES } from "../workers/chains/bitcoin/networks.ts";
import { planDraft } from "../workers/chains/bitcoin/payment.ts";
import type { Coin, Draft } from "../workers/chains/outgoing.ts";
import type { WatchList } from "../workers/chains/observations.ts";
import { median } from "./processes.ts";
import { solanaScanning } from "./solana_blocks.ts";
import { writeBitcoin } from "../domain/chains/bitcoin_addresses.ts";

const TRANSACTIONS = 3_000;
const WATCHED = 100_000;
const INPUTS = 100_000;
const ROUNDS = 5;
const HEIGHT = 900_000;
const SENDER = "ramp";
const SOURCE = `0014${"aa".repeat(20)}`;
const STRANGER = `0014${"bb".repeat(20)}`;

/** A script that depends on nothing but a number. */
function scriptAt(number: number): string {
  return `0014${number.toString(16).padStart(40, "0")}`;
}

function idAt(number: number): string {
  return number.toString(16).padStart(64, "0");
}

/** A block of usual payments; every hundredth output is watched. */
function makeBlock(): { readonly hash: string; readonly hex: string } {
  const coinbase = new Transaction();
  coinbase.addInput(new Uint8Array(32), 0xffffffff, 0xffffffff, new Uint8Array(4));
  coinbase.addOutput(Uint8Array.fromHex(STRANGER), 1n);
  const payments = Array.from({ length: TRANSACTIONS }, (_, at) => {
    const payment = new Transaction();
    for (const input of [0, 1]) {
      const parent = Uint8Array.fromHex(idAt(2 ** 40 + 2 * at + input)).reverse();
      payment.addInput(parent, input, 0xfffffffd);
      payment.setWitness(input, [new Uint8Array(72).fill(0x30), new Uint8Array(33).fill(2)]);
    }
    for (const n of [0, 1, 2]) {
      const script = scriptAt((3 * at + n) % 100 === 0 ? 3 * at + n : 2 ** 40 + 3 * at + n);
      payment.addOutput(Uint8Array.fromHex(script), BigInt(at) * 100_000_000n + 11_111_111n);
    }
    return payment;
  });
  const block = new Block();
  block.prevHash = new Uint8Array(32);
  block.transactions = [coinbase, ...payments];
  block.merkleRoot = Block.calculateMerkleRoot(block.transactions);
  return { hash: block.getId(), hex: block.toHex(false) };
}

function serve({ hash, hex }: ReturnType<typeof makeBlock>): Deno.HttpServer<Deno.NetAddr> {
  const answers: Readonly<Record<string, string>> = {
    getblockchaininfo: `{"chain":"regtest"}`,
    getblockhash: `"${hash}"`,
    getblock: `"${hex}"`,
  };
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const { id, method } = await request.json();
    return new Response(`{"result":${answers[method]},"error":null,"id":${id}}`);
  });
}

async function watchOf(): Promise<WatchList> {
  const addresses = new Set<string>();
  for (let at = 0; at < WATCHED; at++) {
    const bytes = Uint8Array.fromHex(scriptAt(at));
    addresses.add(await writeBitcoin("BITCOIN", "regtest", bytes) ?? "");
  }
  const inputs = new Set(Array.from({ length: INPUTS }, (_, at) => `${idAt(2 ** 40 + at)}:0`));
  return { addresses, inputs, contracts: null };
}

function coinsOf(many: number): Coin[] {
  return Array.from({ length: many }, (_, at) => ({
    hash: idAt(at),
    index: 0,
    address: SENDER,
    amount: 10_000n + BigInt((at * 7919) % 99_991),
    height: 1,
    parent: null,
  }));
}

/** A payment to a script; to its own, the sender gathers. */
function draftOf(amount: bigint | "all", rate: bigint, script: string = SOURCE): Draft {
  const body = {
    rate: `${rate}`,
    step: "1000",
    source: SOURCE,
    scripts: [script],
    budget: null,
    ceiling: "1000000",
  };
  return {
    order: { kind: "pay", from: SENDER, contract: null, payments: [{ to: "somebody", amount }] },
    fee: feeAt(COIN_TABLES.BITCOIN, rate, [SOURCE]),
    feePayer: SENDER,
    lacking: 0n,
    body: JSON.stringify(body),
  };
}

/** One line of the table. */
interface Line {
  readonly what: string;
  /** Median of several rounds, or the only one. */
  readonly ms: number;
  /** Its result. */
  readonly found: string;
}

/** Measures the median of several rounds, in milliseconds. */
async function measured(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await timed(work));
  return median(times);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function scanning(): Promise<Line[]> {
  const block = makeBlock();
  const server = serve(block);
  const chain = await openCoins("BITCOIN", "regtest", [`http://127.0.0.1:${server.addr.port}`]);
  try {
    const watch = await watchOf();
    const scan = async (seen: WatchList) => await Array.fromAsync(chain.scan(HEIGHT, HEIGHT, seen));
    const first = await timed(() => scan(watch));
    const again = await timed(() => scan({ ...watch, addresses: new Set([...watch.addresses]) }));
    const [{ transfers, consumed }] = await scan(watch);
    const size = `${(block.hex.length / 2 ** 21).toFixed(1)} MiB`;
    return [
      {
        what: `a block of ${TRANSACTIONS} transactions, ${WATCHED} scripts watched`,
        ms: await measured(() => scan(watch)),
        found: `${size}, ${transfers.length} transfers, ${consumed.length} coins spent`,
      },
      { what: "the same, a new watch of addresses known before", ms: again, found: "" },
      { what: "the same, addresses turned into scripts first", ms: first, found: "" },
    ];
  } finally {
    chain.close();
    await server.shutdown();
  }
}

async function choosing(): Promise<Line[]> {
  const { BITCOIN } = COIN_TABLES;
  const lines: Line[] = [];
  for (const many of [100, 1_000, 10_000]) {
    const available = { coins: coinsOf(many) };
    for (
      const [what, draft] of [
        ["a payment of one coin's size", draftOf(50_000n, 20_000n)],
        ["a payment of fifty coins' size", draftOf(2_500_000n, 20_000n)],
        ["a payment while rates are low", draftOf(50_000n, 1_000n)],
        ["everything to somebody", draftOf("all", 1_000n, STRANGER)],
        ["the smallest gathered", draftOf("all", 1_000n)],
      ] as const
    ) {
      const plan = () => planDraft(BITCOIN, draft, available);
      const { inputs } = plan();
      lines.push({
        what: `${what}, ${many} coins on offer`,
        ms: await measured(() => Promise.resolve(plan())),
        found: `${inputs.length} spent`,
      });
    }
  }
  return lines;
}

/** Measures scanning and choosing, and prints a table. */
export async function benchCoins(): Promise<void> {
  const lines = [...await scanning(), ...await solanaScanning(measured), ...await choosing()];
  const rows = lines.map(({ what, ms, found }) => `| ${what} | ${ms.toFixed(1)} | ${found} |`);
  console.log(["| coin chains and Solana | ms | |", "|---|--:|---|", ...rows, ""].join("\n"));
}
