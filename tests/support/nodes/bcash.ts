/**
 * A real Bitcoin Cash node for tests: bcash from npm, in a process of its own that keeps all in
 * memory. It mines only when told.
 * @module
 */
import type { CoinNode, FoundCoin } from "./litecoind.ts";
import { freePort } from "../ports.ts";

const PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-read", "--allow-env", "--allow-sys"];

/** Starts a node whose purse holds mature coins. */
export async function startBcash(): Promise<CoinNode> {
  const url = `http://127.0.0.1:${freePort()}`;
  const script = new URL("bcash_process.ts", import.meta.url);
  const config = new URL("../../deno.json", import.meta.url);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-check", "--frozen", "--unstable-unsafe-proto", ...PERMISSIONS],
      ...["--config", config.pathname, script.pathname, new URL(url).port],
    ],
    env: { NODE_BACKEND: "js" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  const output = child.stdout.getReader();
  let running = true;
  const ended = () => running = false;
  child.status.then(ended, ended);
  async function stop(): Promise<void> {
    if (running) child.kill("SIGKILL");
    await child.status;
    await output.cancel();
    await errors;
  }
  const { done } = await output.read();
  if (done) {
    await stop();
    throw new Error(`bcash ended: ${await errors}`);
  }
  return { ...driver(url), url, stop, [Symbol.asyncDispose]: stop };
}

function driver(url: string): Omit<CoinNode, "url" | "stop" | typeof Symbol.asyncDispose> {
  async function rpc<T>(method: string, ...params: unknown[]): Promise<T> {
    const body = JSON.stringify({ id: 1, method, params });
    const headers = { "content-type": "application/json" };
    const { result, error } = await (await fetch(url, { method: "POST", headers, body })).json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }
  async function reorganise(blocks: number): Promise<void> {
    await rpc("branch", await rpc<number>("getblockcount") - blocks + 1);
  }
  async function coins(script: string): Promise<FoundCoin[]> {
    type Found = { txid: string; vout: number; amount: number; height: number };
    const question = ["start", [`raw(${script})`]] as const;
    const { unspents } = await rpc<{ unspents: Found[] }>("scantxoutset", ...question);
    return unspents.map(({ txid, vout, amount, height }) => ({
      hash: txid,
      index: vout,
      amount: BigInt(Math.round(amount * 1e8)),
      height,
    }));
  }
  return {
    rpc,
    reorganise,
    coins,
    mine: (blocks = 1) => rpc("generate", blocks),
    pay: (payments) => rpc("pay", payments.map((one) => ({ ...one, amount: `${one.amount}` }))),
  };
}
