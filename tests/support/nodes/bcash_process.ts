/**
 * A Bitcoin Cash node in memory, run as a process of its own by `bcash.ts`: bcash, whose answers are
 * brought into the form that Bitcoin Core's have. It holds a purse from which tests are paid.
 *
 * It needs `NODE_BACKEND=js` and `--unstable-unsafe-proto`.
 * @module
 */
import { Buffer } from "node:buffer";
import Module from "node:module";

const CODES = { method: -1, missing: -25, refused: -26 };
const RATE = 10_000;
const BLOCKS = 110;

// The database that is compiled for a machine is asked for, though all is kept in memory.
// deno-lint-ignore no-explicit-any -- the loader's hook has no type
const loader = Module as any;
const load = loader._load;
loader._load = function (request: string, ...rest: { filename?: string }[]) {
  const native = request === "./level" && `${rest[0]?.filename}`.includes("bdb");
  return native ? {} : load.call(this, request, ...rest);
};

const { default: bcash } = await import("bcash");
const { Address, FullNode, KeyRing, MTX, Script, TX } = bcash;
const { default: common } = await import("bcash/lib/blockchain/common.js");

const node = new FullNode({
  network: "regtest",
  memory: true,
  workers: false,
  httpHost: "127.0.0.1",
  httpPort: Number(Deno.args[0]),
  noAuth: true,
  listen: false,
  maxOutbound: 1,
  discover: false,
  logLevel: "none",
  indexTX: true,
  indexAddress: true,
});
const { chain, mempool, miner, rpc } = node;
const purse = KeyRing.generate();

/** Makes an error that the node's server answers as it is. */
function refusal(code: number, message: string): Error {
  return Object.assign(new Error(message), { code, type: "RPCError" });
}

type Call = (params: never[]) => Promise<unknown>;

function define(name: string, call: Call): void {
  rpc.calls[name] = call;
}

/** As Core does: what is refused is an error, and what is known already has its id. */
async function send(hex: string): Promise<string> {
  let transaction;
  try {
    transaction = TX.fromRaw(hex, "hex");
  } catch {
    throw refusal(-22, "TX decode failed");
  }
  if (mempool.has(transaction.hash())) return transaction.txid();
  if (await chain.hasCoins(transaction)) throw refusal(-27, "transaction already in block chain");
  try {
    const orphans = await mempool.addTX(transaction, -1);
    if (orphans) throw refusal(CODES.missing, "bad-txns-inputs-missingorspent");
  } catch (error) {
    const { type, reason } = error as { type?: string; reason?: string };
    throw type === "VerifyError" ? refusal(CODES.refused, `${reason}`) : error;
  }
  return transaction.txid();
}

async function pay(payments: { script: string; amount: string }[]): Promise<string> {
  const draft = new MTX();
  for (const { script, amount } of payments) {
    draft.addOutput(Script.fromRaw(script, "hex"), Number(amount));
  }
  const mine = (await node.getCoinsByAddress([purse.getAddress()]))
    .filter((coin: { coinbase: boolean; height: number }) =>
      !coin.coinbase || coin.height + 100 <= chain.height
    );
  await draft.fund(mine, { rate: RATE, changeAddress: purse.getAddress() });
  draft.sign(purse);
  return await send(draft.toRaw().toString("hex"));
}

/** Builds a longer branch below a height; what it displaces goes back into the mempool. */
async function branch(height: number): Promise<void> {
  const displaced = [];
  for (let at = height; at <= chain.height; at++) {
    const block = await chain.getBlock(await chain.getHash(at));
    displaced.push(...block.txs.slice(1));
  }
  const blocks = chain.height - height + 2;
  let entry = await chain.getEntryByHeight(height - 1);
  for (let block = 0; block < blocks; block++) {
    const job = await miner.cpu.createJob(entry);
    job.attempt.items.length = 0;
    job.attempt.fees = 0;
    job.refresh();
    entry = await chain.add(await job.mineAsync(), common.flags.DEFAULT_FLAGS);
  }
  for (const transaction of displaced) {
    if (!mempool.has(transaction.hash())) await mempool.addTX(transaction, -1).catch(() => {});
  }
}

async function coins(script: string) {
  const address = Address.fromScript(Script.fromRaw(script, "hex"));
  const found = await node.addrindex.getCoinsByAddress([address]);
  return found.map((coin: { txid(): string; index: number; value: number; height: number }) => ({
    txid: coin.txid(),
    vout: coin.index,
    scriptPubKey: script,
    amount: Number((coin.value / 1e8).toFixed(8)),
    height: coin.height,
  }));
}

const whole = rpc.calls.getblock.bind(rpc);
define("getblock", ([hash, verbosity]) => whole([hash, verbosity > 0, verbosity > 1], false));
define("sendrawtransaction", ([hex]) => send(hex));
define("pay", ([payments]) => pay(payments));
define("branch", ([height]) => branch(height));
define("generate", async ([blocks]) => {
  const address = purse.getAddress().toString("regtest");
  return await rpc.calls.generatetoaddress.call(rpc, [blocks, address]);
});
define("scantxoutset", async ([, wanted]) => {
  const scripts = (wanted as string[]).map((one) => /^raw\((.*)\)$/.exec(one)?.[1] ?? "");
  const unspents = (await Promise.all(scripts.map(coins))).flat();
  return { success: true, height: chain.height, bestblock: chain.tip.rhash(), unspents };
});

await node.ensure();
await node.open();
await rpc.calls.generate([BLOCKS]);
await Deno.stdout.write(Buffer.from("ready\n"));
