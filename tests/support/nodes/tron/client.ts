/**
 * Questions of tests to the Tron node, asked as any client would.
 * @module
 */
import { AbiCoder, Interface } from "ethers";
import { parseJson, writeJson } from "./json.ts";
import type { TronNode } from "./node.ts";

/** Calls of tokens that tests make. */
export const TRC20: Interface = new Interface([
  "function transfer(address,uint256)",
  "function balanceOf(address) view returns (uint256)",
  "function addBlackList(address)",
  "function setParams(uint256)",
]);

/** One TRX in sun. */
export const TRX = 1_000_000n;

/** An answer whose fields a test reads as it expects them. */
// deno-lint-ignore no-explicit-any
export type Json = any;

/** Asks a node. Integers of the answer are bigint. */
export async function ask(node: { url: string }, path: string, body: unknown = {}): Promise<Json> {
  const response = await fetch(`${node.url}/${path}`, { method: "POST", body: writeJson(body) });
  return parseJson(await response.text());
}

/** Writes 21 bytes as the 20 of a contract's parameter. */
export function word(address: string): string {
  return `0x${address.slice(2)}`;
}

/** Reads the result of a transaction. */
export async function infoOf(node: { url: string }, id: string): Promise<Json> {
  return await ask(node, "wallet/gettransactioninfobyid", { value: id });
}

/** Reads a balance in sun. */
export async function balance(
  node: { url: string },
  address: string,
  space = "wallet",
): Promise<bigint> {
  return (await ask(node, `${space}/getaccount`, { address })).balance ?? 0n;
}

/** Mines what was sent. Gives its id. */
export async function mined(node: TronNode, sent: Promise<string>): Promise<string> {
  const id = await sent;
  await node.mine();
  return id;
}

/** Reads a balance of a token. */
export async function tokenBalance(
  node: { url: string },
  token: string,
  of: string,
): Promise<bigint> {
  const { constant_result } = await ask(node, "wallet/triggerconstantcontract", {
    owner_address: of,
    contract_address: token,
    function_selector: "balanceOf(address)",
    parameter: AbiCoder.defaultAbiCoder().encode(["address"], [word(of)]).slice(2),
  });
  return BigInt(`0x${constant_result[0]}`);
}
