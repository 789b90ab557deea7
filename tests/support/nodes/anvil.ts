/**
 * A real EVM node for tests: anvil, run from Deno's npm cache on a port of its own choice. It mines
 * only when told, so a test decides what is in which block.
 * @module
 */
import anvilPackage from "@foundry-rs/anvil-linux-amd64/package.json" with { type: "json" };
import { getAddress, getBytes, HDNodeWallet, Interface } from "ethers";
import { until } from "../eventually.ts";
import strange from "../contracts/Strange.json" with { type: "json" };

/** The amount that a rich account sends. */
export interface Sent {
  readonly to?: string;
  readonly value?: bigint;
  readonly data?: string;
  /** Number of the rich account. */
  readonly from?: number;
  /** Tip per gas in wei; where left out, the node's own of 1e9. */
  readonly tip?: bigint;
}

/** A running node. */
export interface Anvil extends AsyncDisposable {
  readonly url: string;
  /** Asks the node itself. */
  rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  /** Mines so many blocks. */
  mine(blocks?: number): Promise<void>;
  /** Sends without mining. Gives the transaction id. */
  pool(fields: Sent): Promise<string>;
  /** Sends and mines one block. */
  send(fields: Sent): Promise<string>;
  /** Deploys a contract of tests/support/contracts, mined. */
  deploy(name: keyof typeof strange.bytecode): Promise<string>;
  /** Ends the process. */
  stop(): Promise<void>;
}

/** Encodes the calls that tests make. */
export const CALLS: Interface = new Interface([
  "function transfer(address,uint256)",
  "function payCoin(address[],uint256) payable",
  "function payToken(address,address[],uint256)",
  "function swallowFailure(address) payable",
  "function shout(address,uint256)",
]);

const PHRASE = "test test test test test test test test test test test junk";
const READY = /Listening on (\S+)/;
/** Less than a block may hold. */
const GAS = "0x1c00000";

const derived = new Map<number, HDNodeWallet>();

/** Gives a rich account of every such node. */
export function rich(index = 0): { address: string; key: Uint8Array } {
  const known = derived.get(index);
  const wallet = known ?? HDNodeWallet.fromPhrase(PHRASE, "", `m/44'/60'/0'/0/${index}`);
  derived.set(index, wallet);
  return { address: wallet.address, key: getBytes(wallet.privateKey) };
}

/** The final block lies two below the newest, where it would be 64. */
const FINAL = ["--slots-in-an-epoch", "1"];

/** Starts a node with a chain id. */
export async function startAnvil(chainId = 1, ...args: string[]): Promise<Anvil> {
  const folder = import.meta.resolve("@foundry-rs/anvil-linux-amd64/package.json");
  const child = new Deno.Command(new URL(anvilPackage.bin.anvil, folder), {
    args: [...["--port", "0", "--host", "127.0.0.1", "--no-mining", ...FINAL], ...args]
      .concat("--chain-id", `${chainId}`),
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const url = `http://${await listening(output)}`;
  const drained = drain(output);
  let running = true;
  async function stop(): Promise<void> {
    if (running) child.kill("SIGTERM");
    running = false;
    await child.status;
    await drained;
  }
  return { ...anvilAt(url), url, stop, [Symbol.asyncDispose]: stop };
}

/** Drives a node that is there. */
export function anvilAt(url: string): Pick<Anvil, "rpc" | "mine" | "pool" | "send" | "deploy"> {
  async function rpc<T>(method: string, ...params: unknown[]): Promise<T> {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await (await fetch(url, { method: "POST", headers, body })).json();
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }
  async function mine(blocks = 1): Promise<void> {
    await rpc("anvil_mine", `0x${blocks.toString(16)}`);
    // Anvil writes its history of fees later than the block, and leaves out what is not there yet.
    await until(async () => {
      const history = await rpc<{ gasUsedRatio: number[] }>("eth_feeHistory", "0x1", "latest", []);
      return history.gasUsedRatio.length > 0;
    }, 2);
  }
  async function pool({ from = 0, value = 0n, tip, ...rest }: Sent): Promise<string> {
    const fields = { from: rich(from).address, value: `0x${value.toString(16)}`, gas: GAS };
    const bid = tip === undefined ? {} : { maxPriorityFeePerGas: `0x${tip.toString(16)}` };
    return await rpc("eth_sendTransaction", { ...fields, ...bid, ...rest });
  }
  async function send(fields: Sent): Promise<string> {
    const hash = await pool(fields);
    await mine();
    return hash;
  }
  async function deploy(name: keyof typeof strange.bytecode): Promise<string> {
    const hash = await send({ data: strange.bytecode[name] });
    const receipt: { contractAddress: string } = await rpc("eth_getTransactionReceipt", hash);
    return getAddress(receipt.contractAddress);
  }
  return { rpc, mine, pool, send, deploy };
}

async function listening(output: ReadableStreamDefaultReader<string>): Promise<string> {
  let text = "";
  for (;;) {
    const { value, done } = await output.read();
    if (done) throw new Error(`anvil ended: ${text}`);
    text += value;
    const address = READY.exec(text)?.[1];
    if (address) return address;
  }
}

/** Keeps reading, or the node would halt once the pipe is full. */
async function drain(output: ReadableStreamDefaultReader<string>): Promise<void> {
  while (!(await output.read()).done);
}
