/**
 * A real Bitcoin-Core-compatible node for tests: litecoind of the system, on a regtest network of its
 * own. It stands for Litecoin, and, since it is only given scripts and raw transactions, for Bitcoin
 * and Dogecoin. It mines only when told.
 * @module
 */
import { Transaction } from "bitcoinjs-lib";
import { until } from "../eventually.ts";
import { freePort } from "../ports.ts";

/** A running node. */
export interface CoinNode extends AsyncDisposable {
  readonly url: string;
  /** Asks the node itself. */
  rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  /** Mines so many blocks with all that waits. */
  mine(blocks?: number): Promise<string[]>;
  /** Pays from the node's own wallet into the mempool. Gives the transaction id. */
  pay(payments: readonly { readonly script: string; readonly amount: bigint }[]): Promise<string>;
  /** Replaces so many of the newest blocks by one more that hold nothing. */
  reorganise(blocks: number): Promise<void>;
  /** Lists the spendable coins under a script. */
  coins(script: string): Promise<FoundCoin[]>;
  /** Ends the process. */
  stop(): Promise<void>;
}

/** An unspent output. */
export interface FoundCoin {
  readonly hash: string;
  readonly index: number;
  readonly amount: bigint;
  readonly height: number;
}

/** Flags that make Litecoin's node as strict as Dogecoin's. */
export const LIKE_DOGECOIN: readonly string[] = [
  "-minrelaytxfee=0.001",
  "-incrementalrelayfee=0.0001",
  "-dustrelayfee=0.01",
  "-maxtxfee=100",
];

const ARGS: readonly string[] = [
  ..."-regtest -server=1 -listen=0 -dnsseed=0 -discover=0 -listenonion=0 -upnp=0".split(" "),
  ..."-rpcbind=127.0.0.1 -rpcallowip=127.0.0.1 -rpcuser=test".split(" "),
  ..."-fallbackfee=0.0001 -dbcache=16 -par=1 -printtoconsole=0 -persistmempool=0".split(" "),
  // A thousand keys made ahead are most of the time that a start takes.
  "-keypool=1",
  // Else the extension block awakes at height 431 and mining stops.
  "-vbparams=mweb:9999999999:9999999999",
  // Litecoin's node takes no replacement unless told.
  "-mempoolreplacement=1",
];
const MATURITY = 101;
/** Blocks that a node begins with. */
const BLOCKS = MATURITY + 9;
const WALLET = "bank";

/** The variable with the folder of a node that lacks the last of its first blocks; where the whole suite runs. */
export const TEMPLATE = "TEST_LITECOIN";

/** Tells whether the node is installed; if not, says how its tests are enabled. */
export function hasLitecoind(): boolean {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    try {
      if (Deno.statSync(`${folder}/litecoind`).isFile) return true;
    } catch {
      // not there
    }
  }
  console.warn(
    "skipped: these tests need litecoind (apt-get install --no-install-recommends litecoind)",
  );
  return false;
}

/** Another program listens on the port that a node was given. */
class PortTaken extends Error {}

/** How often a node that finds its port taken is started on another one. */
const PORTS_MAX = 5;

/** Starts a node whose wallet holds mature coins. */
export async function startLitecoind(...args: string[]): Promise<CoinNode> {
  return await startOnFreePort(args, freePort);
}

/** Starts a node on a port that is free when it listens: until then another program may take the one that it was given. */
export async function startOnFreePort(
  args: readonly string[],
  portOf: () => number,
): Promise<CoinNode> {
  for (let tries = 1;; tries++) {
    try {
      return await startOn(portOf(), args);
    } catch (error) {
      if (!(error instanceof PortTaken) || tries >= PORTS_MAX) throw error;
    }
  }
}

/**
 * Makes a folder that nodes begin with a copy of: to make the blocks takes more than a third of what a start takes of a
 * processor.
 */
export async function makeTemplateNode(template: string): Promise<void> {
  const [node, dir] = await startIn(await workFolder(), freePort(), []);
  try {
    await node.mine(BLOCKS - 1);
    // Both are written whole then.
    await node.rpc("unloadwallet", WALLET);
    await node.rpc("gettxoutsetinfo");
    await copyFolder(dir, template);
  } finally {
    await node.stop();
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  const { success } = await new Deno.Command("cp", { args: ["-a", `${from}/.`, to] }).output();
  if (!success) throw new Error(`${from} could not be copied`);
}

async function startOn(port: number, args: readonly string[]): Promise<CoinNode> {
  const dir = await workFolder();
  const template = Deno.env.get(TEMPLATE);
  // Blocks by other rules are made from the first one on.
  const isCopy = template !== undefined && !args.some((arg) => arg.startsWith("-vbparams"));
  if (isCopy) await copyFolder(template, dir);
  const [node] = await startIn(dir, port, args);
  try {
    await node.mine(isCopy ? 1 : BLOCKS);
    return node;
  } catch (error) {
    await node.stop();
    throw error;
  }
}

async function startIn(
  dir: string,
  port: number,
  args: readonly string[],
): Promise<[node: CoinNode, dir: string]> {
  // Its own: another node that has the port does not answer in its place.
  const password = crypto.randomUUID();
  const child = new Deno.Command("litecoind", {
    args: [`-datadir=${dir}`, `-rpcport=${port}`, `-rpcpassword=${password}`, ...ARGS, ...args],
    env: { HOME: dir },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  const end = new AbortController();
  const rpc = caller(`http://127.0.0.1:${port}`, password, end.signal);
  let running = true;
  const ended = () => {
    running = false;
    end.abort(new Error("litecoind ended")); // what else listens there may never answer
  };
  child.status.then(ended, ended);
  async function stop(): Promise<void> {
    // Asked politely it would wait half a minute for connections that are kept alive.
    if (running) child.kill("SIGKILL");
    await child.status;
    await errors;
    await Deno.remove(dir, { recursive: true });
  }
  try {
    await until(async () => {
      if (!running) throw await whyEnded(dir, await errors);
      return await rpc("getblockcount").then(() => true, () => false);
    });
    const url = `http://test:${password}@127.0.0.1:${port}`;
    return [{ ...await driver(rpc), url, stop, [Symbol.asyncDispose]: stop }, dir];
  } catch (error) {
    await stop();
    throw error;
  }
}

async function whyEnded(dir: string, errors: string): Promise<Error> {
  const log = await Deno.readTextFile(`${dir}/regtest/debug.log`).catch(() => "");
  const why = `litecoind ended: ${errors}`;
  return /Binding RPC on address \S+ port \d+ failed/.test(log)
    ? new PortTaken(why)
    : new Error(why);
}

type Rpc = CoinNode["rpc"];

async function driver(
  rpc: Rpc,
): Promise<Omit<CoinNode, "url" | "stop" | typeof Symbol.asyncDispose>> {
  await rpc("loadwallet", WALLET).catch(() => rpc("createwallet", WALLET));
  const bank = await rpc<string>("getnewaddress");
  async function mine(blocks = 1): Promise<string[]> {
    return await rpc("generatetoaddress", blocks, bank);
  }
  async function pay(payments: Parameters<CoinNode["pay"]>[0]): Promise<string> {
    const draft = new Transaction();
    for (const { script, amount } of payments) {
      draft.addOutput(Uint8Array.fromHex(script), amount);
    }
    const funded = await rpc<{ hex: string }>("fundrawtransaction", draft.toHex(), {}, false);
    const { hex } = await rpc<{ hex: string }>("signrawtransactionwithwallet", funded.hex);
    return await rpc("sendrawtransaction", hex);
  }
  async function reorganise(blocks: number): Promise<void> {
    const height = await rpc<number>("getblockcount");
    await rpc("invalidateblock", await rpc("getblockhash", height - blocks + 1));
    for (let block = 0; block <= blocks; block++) await rpc("generateblock", bank, []);
  }
  async function coins(script: string): Promise<FoundCoin[]> {
    type Found = { txid: string; vout: number; amount: number; height: number };
    const { unspents } = await rpc<{ unspents: Found[] }>("scantxoutset", "start", [
      `raw(${script})`,
    ]);
    return unspents.map(({ txid, vout, amount, height }) => ({
      hash: txid,
      index: vout,
      amount: BigInt(Math.round(amount * 1e8)),
      height,
    }));
  }
  return { rpc, mine, pay, reorganise, coins };
}

/** Makes a caller that throws what the node refuses. */
function caller(url: string, password: string, signal: AbortSignal): Rpc {
  return async <T>(method: string, ...params: unknown[]): Promise<T> => {
    const headers = { authorization: `Basic ${btoa(`test:${password}`)}` };
    const body = JSON.stringify({ jsonrpc: "1.0", id: 1, method, params });
    const response = await fetch(url, { method: "POST", headers, body, signal });
    const { result, error } = await response.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}

/** In memory where that is offered, for the wallet waits for the disk at every step. */
async function workFolder(): Promise<string> {
  const prefix = "purser-litecoind-";
  return await Deno.makeTempDir({ prefix, dir: "/dev/shm" })
    .catch(() => Deno.makeTempDir({ prefix }));
}
