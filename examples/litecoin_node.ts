/**
 * A private Litecoin node on a network of its own, which mines on demand; for examples.
 * @module
 */
import { nodePort } from "./installation.ts";

/** A running node. */
export interface LitecoinNode extends AsyncDisposable {
  /** Its address for the service. */
  url: string;
  /** Asks the node. */
  rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  /** Mines blocks with all waiting transactions. */
  mine(blocks: number): Promise<void>;
}

const MISSING = "This example needs litecoind, a real Litecoin node, in the PATH. On Debian and " +
  "Ubuntu: apt-get install --no-install-recommends litecoind. Elsewhere: Litecoin Core's release " +
  "for your system. Then run it again. (deposit_to_withdrawal.ts does without.)";
/** Flags that the service needs; see docs/operations/nodes.md. */
const NEEDED = "-server=1 -rpcbind=127.0.0.1 -rpcallowip=127.0.0.1 -rpcuser=me -rpcpassword=me " +
  "-mempoolreplacement=1";
/** Flags that an example needs: no peers, a wallet that pays, and no extension blocks. */
const ALONE = "-regtest -listen=0 -dnsseed=0 -discover=0 -upnp=0 -fallbackfee=0.0001 -keypool=1 " +
  "-printtoconsole=0 -vbparams=mweb:9999999999:9999999999";
/** Newly made coins are mature after a hundred blocks. */
const RIPE = 110;

/** Starts a node whose wallet has coins; ends the program where it is not installed. */
export async function startLitecoinNode(): Promise<LitecoinNode> {
  const folder = await Deno.makeTempDir({ prefix: "purser-litecoin-" });
  const port = nodePort("LITECOIN_TESTNET_RPC_URL");
  const args = [`-datadir=${folder}`, `-rpcport=${port}`, ...`${NEEDED} ${ALONE}`.split(" ")];
  const child = spawn(args);
  if (child === null) {
    console.error(MISSING);
    await Deno.remove(folder);
    Deno.exit(1);
  }
  const rpc = caller(`http://127.0.0.1:${port}`);
  while (!await rpc("getblockcount").then(() => true, () => false)) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await rpc("createwallet", "bank");
  const bank = await rpc("getnewaddress");
  const mine = async (blocks: number) => void await rpc("generatetoaddress", blocks, bank);
  await mine(RIPE);
  return {
    url: `http://me:me@127.0.0.1:${port}`,
    rpc,
    mine,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

function spawn(args: string[]): Deno.ChildProcess | null {
  try {
    const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
    return new Deno.Command("litecoind", { args, ...quiet }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function caller(url: string): LitecoinNode["rpc"] {
  const authorization = `Basic ${btoa("me:me")}`;
  return async <T>(method: string, ...params: unknown[]): Promise<T> => {
    const body = JSON.stringify({ jsonrpc: "1.0", id: 1, method, params });
    const response = await fetch(url, { method: "POST", headers: { authorization }, body });
    const { result, error } = await response.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}
