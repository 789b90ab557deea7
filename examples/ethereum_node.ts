/**
 * A local node that stands for Ethereum, with USDC at its real address; for examples. It makes a block every second.
 * Where PURSER_URL is set, the node at ETHEREUM_RPC_URL is used, which is such a node of that installation.
 * @module
 */
import { formatEther, formatUnits, Interface, parseEther, parseUnits } from "ethers";
import { anvilAt, startAnvil } from "../tests/support/nodes/anvil.ts";
import { installToken } from "../tests/support/token_contracts.ts";
import { everySecond } from "./walk.ts";

/** A node, asked as a third party would ask it. Amounts are whole units. */
export interface EthereumNode extends AsyncDisposable {
  readonly url: string;
  /** Pays from outside. Gives the hash of the transaction. */
  pay(asset: "ETH" | "USDC", to: string, amount: string): Promise<string>;
  /** What an address holds. */
  held(asset: "ETH" | "USDC", address: string): Promise<string>;
  /** What a transaction has moved, whichever of the two it was, and what it cost. */
  payment(hash: string): Promise<{ to: string; amount: string; fee: string }>;
}

const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const USDC_DECIMALS = 6;
/**
 * Tip per gas in wei of payments from outside: no more than Purser bids by itself. The node's own tip is a hundred times
 * the price of gas here; where several examples pay at once, it became the market between a quote and its payment, and
 * withdrawals were refused as costlier than they were charged.
 */
const TIP = 1n;
const TOKEN = new Interface([
  "function transfer(address, uint256)",
  "function balanceOf(address) view returns (uint256)",
]);

/** Starts a node, unless there is one. */
export async function startEthereum(): Promise<EthereumNode> {
  const given = Deno.env.get("PURSER_URL") ? Deno.env.get("ETHEREUM_RPC_URL") : undefined;
  if (given) return { ...asking(given), [Symbol.asyncDispose]: () => Promise.resolve() };
  const node = await startAnvil(1);
  await installToken(node, "USDC");
  const blocks = everySecond(() => node.mine());
  return {
    ...asking(node.url),
    async [Symbol.asyncDispose]() {
      await blocks[Symbol.asyncDispose]();
      await node.stop();
    },
  };
}

/** Makes up an address of somebody outside. */
export function outsider(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(20));
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function asking(url: string): Omit<EthereumNode, keyof AsyncDisposable> {
  const { rpc, pool } = anvilAt(url);
  // All pay from one account. Of two at the same moment both may get one nonce; the node then refuses the second.
  const send: typeof pool = async (sent) => {
    for (let tries = 1;; tries++) {
      try {
        return await pool(sent);
      } catch (error) {
        if (tries >= 100 || !/underpriced|nonce too low/.test(`${error}`)) throw error;
      }
    }
  };
  return {
    url,
    pay: (asset, to, amount) =>
      asset === "ETH" ? send({ to, value: parseEther(amount), tip: TIP }) : send({
        to: USDC,
        tip: TIP,
        data: TOKEN.encodeFunctionData("transfer", [to, parseUnits(amount, USDC_DECIMALS)]),
      }),
    async held(asset, address) {
      if (asset === "ETH") return formatEther(await rpc("eth_getBalance", address, "latest"));
      const data = TOKEN.encodeFunctionData("balanceOf", [address]);
      const held: string = await rpc("eth_call", { to: USDC, data }, "latest");
      return formatUnits(held, USDC_DECIMALS);
    },
    async payment(hash) {
      const { to, value, input }: Record<string, string> = await rpc(
        "eth_getTransactionByHash",
        hash,
      );
      const { gasUsed, effectiveGasPrice }: Record<string, string> = await rpc(
        "eth_getTransactionReceipt",
        hash,
      );
      const fee = formatEther(BigInt(gasUsed) * BigInt(effectiveGasPrice));
      const call = TOKEN.parseTransaction({ data: input });
      if (call === null) return { to, amount: formatEther(value), fee };
      const [payee, units] = call.args;
      return { to: payee, amount: formatUnits(units, USDC_DECIMALS), fee };
    },
  };
}
