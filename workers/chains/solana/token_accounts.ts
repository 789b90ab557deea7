/**
 * Token accounts of an owner. One is associated: derived from the owner, the mint and the mint's program. An
 * owner may have any number of others, and value that arrives there is the owner's too.
 * @module
 */
import { malformedAnswer, readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { type Call, RpcError } from "../rpc.ts";
import type { Address } from "../observations.ts";
import { readAccount, type TokenAccount, tokenAccountIn } from "./accounts.ts";
import type { Web3 } from "./context.ts";
import { FINALIZED, readAddress, readNumber } from "./node_answers.ts";

/** A token account as the chain holds it. */
export interface OwnedAccount extends TokenAccount {
  readonly address: Address;
  /** The token program that it belongs to. */
  readonly program: string;
  /** The rent that comes back when it is closed. */
  readonly lamports: bigint;
}

/** Asks for the token accounts of an owner, of one mint or of a program. */
export function accountsQuestion(
  owner: Address,
  filter: { readonly mint: string } | { readonly programId: string },
): Call {
  const config = { ...FINALIZED, encoding: "base64" };
  return { method: "getTokenAccountsByOwner", params: [owner, filter, config] };
}

/**
 * Lists the token accounts of an owner, of one mint, with the slot that they are of.
 *
 * @throws {ChainError} `refused` if there is no such mint
 */
export async function tokenAccountsOf(
  web3: Web3,
  peer: Peer,
  { owner, mint }: { owner: Address; mint: string },
): Promise<{ slot: number; accounts: OwnedAccount[] }> {
  const [answer] = await peer.batch([accountsQuestion(owner, { mint })]);
  return readTokenAccounts(web3, answer, { owner, mint });
}

/**
 * Reads the answer to {@link accountsQuestion}.
 *
 * @throws {ChainError} `refused` if there is no such mint
 */
export function readTokenAccounts(
  web3: Web3,
  answer: unknown,
  of: { owner: Address; mint?: string },
): { slot: number; accounts: OwnedAccount[] } {
  if (answer instanceof RpcError) {
    if (of.mint === undefined || answer.code !== -32602) throw answer;
    throw new ChainError("refused", `there is no mint ${of.mint}`);
  }
  const { context, value } = readRecord(answer, "token accounts");
  const slot = readNumber(readRecord(context, "a slot").slot, "a slot");
  const accounts = readList(value).map((one) => {
    const { pubkey, account } = readRecord(one, "a token account");
    return readOwned(web3, readAddress(pubkey), account);
  });
  const others = accounts.some(({ owner, mint }) =>
    owner !== of.owner || (of.mint !== undefined && mint !== of.mint)
  );
  if (others) throw new ChainError("unavailable", "the node gave token accounts of others");
  return { slot, accounts };
}

function readOwned(web3: Web3, address: Address, answer: unknown): OwnedAccount {
  const account = readAccount(answer);
  const holding = tokenAccountIn(web3, account);
  if (holding === null) throw malformedAnswer("a token account", address);
  return { ...holding, address, program: account.program, lamports: account.lamports };
}
