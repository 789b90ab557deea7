/**
 * Description that a mint gives of itself. Anybody can make one, so it is untrusted: it is compared with
 * the registry, or shown.
 * @module
 */
import { malformedAnswer, readList, readRecord } from "../answers.ts";
import type { Peer } from "../node_pool.ts";
import { plain } from "../rpc.ts";
import type { TokenDetails } from "../observations.ts";
import { type Account, issuerRightsOf, mintIn, readAccount } from "./accounts.ts";
import type { Solana, Web3 } from "./context.ts";
import { METADATA_PROGRAM } from "./networks.ts";
import { FINALIZED } from "./node_answers.ts";

/** The extension that holds name and symbol. */
const METADATA = 19;
/** Bytes before the name: in the extension the authority and the mint, in the account a key too. */
const BEFORE_NAME = { extension: 64, account: 65 } as const;
const TEXT_MAX = 64;
/** Bytes of a text that are read: zeros may follow it. */
const READ_MAX = 1000;

/**
 * Reads a mint's description as the quorum reports it; without a height its supply, which changes between
 * blocks, is one node's. Null if there is no mint. Nodes tell only the newest supply, so with a height
 * they must agree on that.
 */
export async function tokenDetails(
  { nodes, web3 }: Solana,
  contract: string,
  height?: number,
): Promise<TokenDetails | null> {
  async function read(peer: Peer): Promise<TokenDetails | null> {
    const [mint, metadata] = await accountsAt(peer, [contract, metadataAccount(web3, contract)]);
    const told = mint === null ? null : mintIn(web3, mint);
    if (told === null) return null;
    const { decimals, supply, freezeAuthority, extensions } = told;
    const named = nameOf(extensions.get(METADATA) ?? null, BEFORE_NAME.extension) ??
      nameOf(metadata?.data ?? null, BEFORE_NAME.account);
    const { symbol, name } = named ?? { symbol: null, name: null };
    const issuerRights = issuerRightsOf(web3, told);
    return { contract, symbol, name, decimals, supply, freezeAuthority, issuerRights };
  }
  function keyOf(told: TokenDetails | null): string {
    if (told === null) return "none";
    const supply = height === undefined ? "" : `${told.supply}`;
    const { decimals, symbol, name, freezeAuthority, issuerRights } = told;
    return JSON.stringify([decimals, symbol, name, freezeAuthority, issuerRights, supply]);
  }
  return await nodes.agree(read, keyOf, `the token at ${contract}`);
}

/** Reads final accounts with their data; null for those that do not exist. */
async function accountsAt(peer: Peer, addresses: readonly string[]): Promise<(Account | null)[]> {
  const config = { ...FINALIZED, encoding: "base64" };
  const answer = await peer.call("getMultipleAccounts", [addresses, config]);
  const listed = readList(readRecord(answer, "accounts").value);
  if (listed.length !== addresses.length) throw malformedAnswer("each account", listed.length);
  return listed.map((one) => one === null ? null : readAccount(one));
}

/** The account in which name and symbol of a mint of SPL Token stand. */
function metadataAccount({ PublicKey }: Web3, mint: string): string {
  const program = new PublicKey(METADATA_PROGRAM);
  const seeds = [
    new TextEncoder().encode("metadata"),
    program.toBytes(),
    new PublicKey(mint).toBytes(),
  ];
  return PublicKey.findProgramAddressSync(seeds, program)[0].toBase58();
}

/** Reads name and symbol, each with its length before it; null where they do not fit. */
function nameOf(
  data: Uint8Array | null,
  from: number,
): { name: string; symbol: string } | null {
  if (data === null) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const texts: string[] = [];
  let at = from;
  while (texts.length < 2) {
    if (at + 4 > data.length) return null;
    const length = view.getUint32(at, true);
    at += 4;
    if (at + length > data.length) return null;
    texts.push(shown(data.subarray(at, at + length)));
    at += length;
  }
  return { name: texts[0], symbol: texts[1] };
}

function shown(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, READ_MAX));
  return plain(text.replace(/\0+$/, "")).slice(0, TEXT_MAX);
}
