/** Payments of Litecoin whose blocks a reorganisation takes away, over a node of which a test knows what it is sent. @module */
import { equal } from "node:assert/strict";
import { verifyRound } from "../../workers/sending/utxos.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { startFaultyNode } from "./nodes/faulty_node.ts";
import { type CoinNode, startLitecoind } from "./nodes/litecoind.ts";
import { cancel, crashAt, pay } from "./pending_withdrawals.ts";
import { rowsOf } from "./realm.ts";
import { sharingUtxoRamp } from "./sharing_utxo_ramp.ts";
import { LITECOIN, type UtxoRamp } from "./utxo_fixture.ts";

/** A ramp of coins, and what it was asked to send. */
export interface LosingRamp extends UtxoRamp {
  /** The bytes that the node was sent so far. */
  readonly sent: string[];
}

/** Bytes of an order that were stored. */
export interface Stored {
  readonly order: string;
  readonly hash: string;
  readonly raw: string;
}

const PLACE = { chain: "LITECOIN", network: "regtest" } as const;

/** Opens a realm once for several tests, each of which is given a ramp without coins. */
export function sharingLosingRamp(
  title: string,
  ignore: boolean,
): (title: string, work: (ramp: LosingRamp) => Promise<void>) => void {
  let sent: string[] = [];
  async function start(): Promise<CoinNode> {
    const node = await startLitecoind();
    const front = startFaultyNode(node.url);
    front.trick = ({ method, params }) => {
      if (method === "sendrawtransaction") sent.push(String(params[0]));
      return undefined;
    };
    const stop = async () => {
      await node.stop();
      await front.abort();
    };
    return { ...node, url: front.url, stop };
  }
  const test = sharingUtxoRamp(title, { ...LITECOIN, start }, ignore);
  return (name, work) =>
    test(name, async (ramp) => {
      sent = [];
      await work({ ...ramp, sent });
    });
}

/** The last bytes that were stored. */
export async function lastStored({ realm }: UtxoRamp): Promise<Stored> {
  const [row] = await rowsOf<Stored>(
    realm,
    `select order_id as order, hash, raw from order_attempts where raw is not null
      order by created_at desc, attempt desc limit 1`,
  );
  return row;
}

/** Has a withdrawal canceled once its bytes are stored. */
export async function cancelStored(funded: UtxoRamp, value: string): Promise<Stored> {
  const { address } = await newParty("LITECOIN");
  const id = await pay(funded, address, value);
  equal((await crashAt(funded, "stored")).done, true);
  const stored = await lastStored(funded);
  equal((await cancel(funded, id)).status, 200);
  return stored;
}

/** A withdrawal that is done, and its bytes. */
export interface DonePayment extends Stored {
  readonly id: string;
  readonly to: string;
}

/** Withdraws, and mines until that is done. */
export async function payDone(funded: UtxoRamp, value: string): Promise<DonePayment> {
  const { address: to } = await newParty("LITECOIN");
  const id = await pay(funded, to, value);
  const [{ status }] = await funded.ended([id]);
  equal(status, "DONE");
  return { id, to, ...await lastStored(funded) };
}

/** Replaces the newest blocks by those of some transactions, one each, and as many empty ones as make the chain longer. */
export async function mineInstead(
  { node }: UtxoRamp,
  blocks: number,
  ...raws: readonly string[]
): Promise<void> {
  const height = await node.rpc<number>("getblockcount");
  await node.rpc("invalidateblock", await node.rpc("getblockhash", height - blocks + 1));
  const bank = await node.rpc("getnewaddress");
  for (const raw of raws) await node.rpc("generateblock", bank, [raw]);
  for (let made = raws.length; made <= blocks; made++) await node.rpc("generateblock", bank, []);
}

/** How many blocks lie above the one before a transaction's. */
export async function depthOf({ node, realm }: UtxoRamp, hash: string): Promise<number> {
  const [{ height }] = await rowsOf<{ height: number }>(
    realm,
    "select height::float8 as height from chain_orders where hash = $1 and height is not null limit 1",
    [hash],
  );
  return await node.rpc<number>("getblockcount") - height + 1;
}

/** Scans, and has workers send what they would send again; gives what they did. */
export async function resent(funded: LosingRamp): Promise<string[]> {
  const { context, sent } = funded;
  const before = sent.length;
  for (let round = 0; round < 2; round++) await funded.follow();
  await funded.advance();
  const chain = await context.chains.open({ chain: "LITECOIN", testnet: true });
  await verifyRound(context, chain, PLACE);
  return sent.slice(before);
}

/** Why the ramp is in quarantine; null where it is not. */
export async function reasonOf({ realm }: UtxoRamp): Promise<string | null> {
  const [row] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps where quarantined is not null",
  );
  return row?.detail ?? null;
}

/** The reasons that the history of a withdrawal tells. */
export async function toldOf(funded: UtxoRamp, id: string): Promise<string[]> {
  const { history } = await funded.withdrawal(id);
  return history.flatMap(({ reason }: { reason?: string }) => reason ?? []);
}
