/**
 * A real Solana node for tests: surfpool, in process, behind a proxy on loopback. Surfpool executes each
 * transaction at once in a block of its own. The proxy decides which blocks are final, so a test does, and
 * mends what surfpool 1.5.0 tells wrong: hashes of blocks do not link, times are divided by 1000,
 * most answers ignore the commitment, a closed token account keeps its tokens, and the least slot that a node must have
 * reached hides what is older. Slots may be left out, as if they were skipped.
 * @module
 */
import { createRequire } from "node:module";
import {
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionMessage,
} from "@solana/web3.js";
import type { Signer, TransactionInstruction } from "@solana/web3.js";
import surfpoolPackage from "@solana/surfpool-linux-x64-gnu/package.json" with { type: "json" };
import { GENESIS_HASHES } from "../../../workers/chains/solana/networks.ts";
import { until } from "../eventually.ts";
import type { Question } from "./faulty_node.ts";
import {
  type Asker,
  type BlockPlaces,
  type Executed,
  FIRST,
  hasTransactions,
  openBlockPlaces,
  withoutClosed,
} from "./surfpool_blocks.ts";

/** A running node. */
export interface Surfpool extends AsyncDisposable {
  /** Address of the proxy. */
  readonly url: string;
  /** Somebody with plenty of SOL. */
  readonly payer: Keypair;
  /** Asks through the proxy. */
  rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  /** Asks surfpool itself, also for its own methods (`surfnet_setAccount`). */
  raw<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  /** Makes all executed blocks final, or one empty one where there are none, and so many in all. */
  mine(blocks?: number): Promise<void>;
  /** Makes so many executed blocks final, and leaves those above as they are. */
  settle(blocks: number): Promise<void>;
  /** Sends lamports from the payer, or executes instructions that it pays for. Gives the signature. */
  pay(to: string, lamports: bigint): Promise<string>;
  send(instructions: readonly TransactionInstruction[], signers?: Signer[]): Promise<string>;
  /** Sends signed bytes in base64. */
  sendRaw(raw: string): Promise<string>;
  /** Leaves so many slots without a block above the newest one. */
  skip(slots: number): Promise<void>;
  /** Ends it. */
  stop(): Promise<void>;
}

/** The parts of surfpool's own interface that are used here. */
interface Surfnet {
  readonly rpcUrl: string;
  readonly payerSecretKey: number[];
  fundSol(address: string, lamports: number): void;
  drainEvents(): unknown;
  stop(): void;
}

/** Slots go by only when a transaction is executed or a test says so. */
const CONFIG = { offline: true, blockProductionMode: "transaction", slotTimeMs: 3_600_000 };
const PUMP_MS = 50;
/** Hash of the first block of the test network that the proxy shows. */
const LOCAL_GENESIS = "GEnSELRyrEKW9d8H4xra8WkRL5xvPshJpr9BjrGrrxQd";
const PROCESSED = { commitment: "processed" } as const;

/** Starts a node whose genesis hash is the main network's, or a local one's. */
export async function startSurfpool(
  network: "main" | "testnet" = "testnet",
  port = 0,
): Promise<Surfpool> {
  const folder = import.meta.resolve("@solana/surfpool-linux-x64-gnu/package.json");
  const file = new URL(surfpoolPackage.main, folder).pathname;
  const net: Surfnet = createRequire(import.meta.url)(file).Surfnet.startWithConfig(CONFIG);
  // Without it surfpool's answers end after about a thousand events.
  const pump = setInterval(() => net.drainEvents(), PUMP_MS);
  const raw = asker(net.rpcUrl);
  const view = await openView(raw, network);
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen: () => {} }, view.serve);
  const url = `http://127.0.0.1:${server.addr.port}`;
  const rpc = asker(url);
  const payer = Keypair.fromSecretKey(Uint8Array.from(net.payerSecretKey));
  net.fundSol(payer.publicKey.toBase58(), 1_000_000_000_000);
  const sendRaw = (bytes: string) => rpc<string>("sendTransaction", bytes, { encoding: "base64" });
  async function send(
    instructions: readonly TransactionInstruction[],
    signers: Signer[] = [],
  ): Promise<string> {
    const { value } = await raw<{ value: { blockhash: string; lastValidBlockHeight: number } }>(
      "getLatestBlockhash",
      PROCESSED,
    );
    const transaction = new Transaction({ feePayer: payer.publicKey, ...value });
    transaction.add(...instructions).sign(payer, ...signers);
    return await sendRaw(transaction.serialize().toString("base64"));
  }
  let running = true;
  async function stop(): Promise<void> {
    if (!running) return;
    running = false;
    await server.shutdown();
    clearInterval(pump);
    net.stop();
  }
  return {
    ...{ url, payer, rpc, raw, send, sendRaw, stop },
    ...{ mine: view.mine, settle: view.settle, skip: view.skip },
    pay: (to, lamports) =>
      send([SystemProgram.transfer({
        fromPubkey: payer.publicKey,
        toPubkey: new PublicKey(to),
        lamports,
      })]),
    [Symbol.asyncDispose]: stop,
  };
}

function asker(url: string): Asker {
  return async <T>(method: string, ...params: unknown[]) => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await (await fetch(url, { method: "POST", headers, body })).json();
    if (answer.error) throw new Refusal(answer.error.code, `${method}: ${answer.error.message}`);
    return answer.result;
  };
}

class Refusal extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

/** The proxy: which slots are final, which are skipped, and how the answers are mended. */
interface View {
  mine(blocks?: number): Promise<void>;
  settle(blocks: number): Promise<void>;
  skip(slots: number): Promise<void>;
  serve(request: Request): Promise<Response>;
}

/** Which slots a node shows, and as what. */
interface Slots {
  readonly network: "main" | "testnet";
  readonly skipped: Set<number>;
  readonly startedAt: number;
  readonly places: BlockPlaces;
  /** The newest final one. */
  final: number;
  /** The slot that is being filled. */
  open(): Promise<number>;
  /** Leaves slots behind, each with an empty block. */
  travel(slot: number): Promise<void>;
  /** The newest slot of a commitment. */
  top(commitment: unknown): Promise<number>;
}

async function openView(raw: Asker, network: "main" | "testnet"): Promise<View> {
  const places = openBlockPlaces(raw);
  const slots: Slots = {
    network,
    places,
    skipped: new Set(),
    startedAt: Math.floor(Date.now() / 1000),
    final: FIRST,
    open: async () => await raw<number>("getSlot", PROCESSED),
    async travel(slot) {
      await raw("surfnet_timeTravel", { absoluteSlot: slot });
      await places.noteNewest();
    },
    top: async (commitment) =>
      commitment === undefined || commitment === "finalized" ? slots.final : await slots.open() - 1,
  };
  await slots.travel(await slots.open() + 2);
  slots.final = await slots.open() - 1;
  const answers = { ...answersOfBlocks(raw, slots), ...answersOfTransactions(raw, slots) };
  async function answerTo({ id, method, params }: Question): Promise<unknown> {
    try {
      const given = params ?? [];
      const result = await (method in answers ? answers[method](given) : raw(method, ...given));
      return { jsonrpc: "2.0", id, result: await withSlot(slots, result, given) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { jsonrpc: "2.0", id, error: { code: error.code, message: error.message } };
    }
  }
  return {
    async mine(blocks = 1) {
      const tip = await slots.open() - 1;
      let next = tip;
      // A transaction that was sent twice leaves an empty slot above its own.
      while (next > slots.final && !await hasTransactions(raw, next)) next--;
      let final = Math.max(next, slots.final + 1) + blocks - 1;
      // Transactions name a final block: surfpool takes the hash of no empty one.
      if (final <= tip && !await slots.places.isNamed(final)) final = tip + 1;
      if (final > tip) await slots.travel(final + 1);
      slots.final = final;
    },
    async settle(blocks) {
      slots.final = Math.min(slots.final + blocks, await slots.open() - 1);
    },
    async skip(count) {
      const from = await slots.open();
      for (let at = from; at < from + count; at++) slots.skipped.add(at);
      // The block above them shows that they were skipped.
      await slots.travel(from + count + 1);
    },
    async serve(request) {
      const body = await request.json();
      if (!Array.isArray(body)) return Response.json(await answerTo(body));
      const all: unknown[] = [];
      for (const question of body) all.push(await answerTo(question));
      return Response.json(all);
    },
  };
}

/** Answers that the proxy makes or mends. */
type Answers = Readonly<Record<string, (params: readonly unknown[]) => Promise<unknown>>>;

function answersOfBlocks(raw: Asker, slots: Slots): Answers {
  return {
    getGenesisHash: () =>
      Promise.resolve(slots.network === "main" ? GENESIS_HASHES.main : LOCAL_GENESIS),
    getSlot: ([config]) => slots.top(commitmentOf(config)),
    async getBlockHeight([config]) {
      if (commitmentOf(config) === "processed") return await raw("getBlockHeight", PROCESSED);
      return await slots.places.heightOf(await slots.top(commitmentOf(config)));
    },
    async isBlockhashValid([hash, config]) {
      const answer = await raw<{ value: boolean }>("isBlockhashValid", hash, PROCESSED);
      const top = await slots.top(commitmentOf(config));
      return {
        ...answer,
        value: answer.value && !await slots.places.isAbove(top, String(hash)),
      };
    },
    async getBlocks([from, to, config]) {
      const top = await slots.top(commitmentOf(config));
      const [low, high] = [Math.max(FIRST, Number(from)), Math.min(top, Number(to ?? top))];
      const all = Array.from({ length: Math.max(0, high - low + 1) }, (_, at) => low + at);
      return all.filter((slot) => !slots.skipped.has(slot));
    },
    async getBlock([slot, config]) {
      const at = Number(slot);
      if (at > await slots.top(commitmentOf(config))) {
        throw new Refusal(-32004, `Block not available for slot ${at}`);
      }
      if (slots.skipped.has(at) || at < FIRST) {
        throw new Refusal(-32007, `Slot ${at} was skipped, or missing`);
      }
      const asked = { encoding: "json", ...config as object, commitment: "confirmed" };
      const block = await raw<{ transactions?: Executed[] } | null>("getBlock", at, asked);
      const transactions = block?.transactions?.map(withoutClosed);
      return {
        ...{ ...emptyBlock(config), ...block, ...await linksOf(slots, at) },
        ...transactions === undefined ? {} : { transactions },
      };
    },
  };
}

function answersOfTransactions(raw: Asker, slots: Slots): Answers {
  return {
    // Surfpool answers before the block is made.
    async sendTransaction(params) {
      const signature = await raw<string>("sendTransaction", ...params);
      await until(async () => {
        const { value: [status] } = await raw<{ value: ({ slot: number } | null)[] }>(
          "getSignatureStatuses",
          [signature],
        );
        return status !== null && status.slot < await slots.open();
      }, 2);
      return signature;
    },
    async getTransaction([signature, config]) {
      const asked = { encoding: "json", ...config as object, commitment: "confirmed" };
      const found = await raw<Executed & { slot: number } | null>(
        "getTransaction",
        signature,
        asked,
      );
      if (found === null || found.slot > await slots.top(commitmentOf(config))) return null;
      return { ...withoutClosed(found), blockTime: timeOf(slots, found.slot) };
    },
    async getSignaturesForAddress([address, config]) {
      const top = await slots.top(commitmentOf(config));
      const { minContextSlot = 0, ...rest } = config as { minContextSlot?: number };
      if (minContextSlot > top) throw new Refusal(-32016, "the slot has not been reached");
      const asked = { ...rest, commitment: "confirmed" };
      const found = await raw<{ slot: number }[]>("getSignaturesForAddress", address, asked);
      return found.filter(({ slot }) => slot <= top)
        .map((one) => ({ ...one, blockTime: timeOf(slots, one.slot) }));
    },
    async getSignatureStatuses([signatures, config]) {
      const answer = await raw<{ value: ({ slot: number } | null)[] }>(
        "getSignatureStatuses",
        signatures,
        ...config === undefined ? [] : [config],
      );
      const final = { confirmations: null, confirmationStatus: "finalized" };
      const open = { confirmations: 0, confirmationStatus: "confirmed" };
      const value = answer.value.map((one) =>
        one && { ...one, ...(one.slot <= slots.final ? final : open) }
      );
      return { ...answer, value };
    },
  };
}

/** Surfpool reads the newest state whatever the commitment, and tells its slot. */
async function withSlot(
  slots: Slots,
  result: unknown,
  params: readonly unknown[],
): Promise<unknown> {
  if (typeof result !== "object" || result === null || !("context" in result)) return result;
  const slot = await slots.top(commitmentOf(params[params.length - 1]));
  return { ...result, context: { ...result.context as object, slot } };
}

async function linksOf(slots: Slots, slot: number) {
  const { skipped, places } = slots;
  let parentSlot = slot - 1;
  while (skipped.has(parentSlot)) parentSlot--;
  return {
    blockhash: await places.hashOf(slot),
    previousBlockhash: await places.hashOf(parentSlot),
    parentSlot,
    blockTime: timeOf(slots, slot),
    blockHeight: await places.heightOf(slot),
  };
}

function timeOf({ startedAt }: Slots, slot: number): number {
  return startedAt + Math.floor((slot - FIRST) * 0.4);
}

function commitmentOf(config: unknown): unknown {
  return typeof config === "object" && config !== null && "commitment" in config
    ? config.commitment
    : undefined;
}

function emptyBlock(config: unknown): Record<string, unknown> {
  const detail = (config as { transactionDetails?: string } | undefined)?.transactionDetails;
  if (detail === "none") return {};
  return detail === "signatures" ? { signatures: [] } : { transactions: [] };
}

/** Blocks from one to the last that takes a transaction which names it, and one more. */
const VALID_BLOCKS = 153;
/** Amounts of the last blocks, which differ from those before. */
const ABOVE = [1_001n, 1_002n, 1_003n, 1_004n];
/** Of an Ed25519 key in PKCS 8; its 32 bytes follow. */
const PKCS8 = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
/** Lamports are the last eight bytes of a message that only moves some. */
const LAMPORTS_BYTES = 8;

/** Lets every transaction that is signed by now expire: so many blocks are executed, none of them final. */
export async function expireTransactions(node: Surfpool): Promise<void> {
  const { payer } = node;
  const secret = Uint8Array.from([...PKCS8, ...payer.secretKey.slice(0, 32)]);
  const key = await crypto.subtle.importKey("pkcs8", secret, "Ed25519", false, ["sign"]);
  const { value: { blockhash } } = await node.raw<{ value: { blockhash: string } }>(
    "getLatestBlockhash",
    PROCESSED,
  );
  const self = { fromPubkey: payer.publicKey, toPubkey: payer.publicKey, lamports: 0 };
  const instructions = [SystemProgram.transfer(self)];
  const base = { payerKey: payer.publicKey, recentBlockhash: blockhash, instructions };
  const message = Uint8Array.from(
    new TransactionMessage(base).compileToLegacyMessage().serialize(),
  );
  const lamports = new DataView(message.buffer, message.length - LAMPORTS_BYTES);
  for (let at = 1; at <= VALID_BLOCKS; at++) {
    lamports.setBigUint64(0, BigInt(at), true);
    const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", key, message));
    const bytes = String.fromCharCode(1, ...signature, ...message);
    const how = { encoding: "base64", skipPreflight: true };
    await node.raw("sendTransaction", btoa(bytes), how).catch((error) => {
      // The last of them name a block that is too old by then, as they should.
      if (at < VALID_BLOCKS - 3) throw error;
    });
  }
  const isValid = async () =>
    (await node.raw<{ value: boolean }>("isBlockhashValid", blockhash, PROCESSED)).value;
  for (let at = 1n; await isValid(); at++) {
    await node.pay(payer.publicKey.toBase58(), at);
  }
  // The final height is a few blocks below the newest.
  for (const more of ABOVE) await node.pay(payer.publicKey.toBase58(), more);
}
