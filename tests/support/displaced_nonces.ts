/** A withdrawal on Ethereum that is done, and in whose place a reorganisation mines what was to cancel it. @module */
import { equal } from "node:assert/strict";
import { OUTSIDE } from "./evm_fixture.ts";
import { type LateScene, mineInstead, openLateScene, seeLate } from "./late_nonces.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "./nodes/faulty_node.ts";
import { type Answer, rowsOf } from "./realm.ts";

/** The scene, once the scan has seen that. */
export interface DisplacedScene extends AsyncDisposable {
  readonly scene: LateScene;
  readonly ramp: string;
  /** The withdrawal, as it was when it was done. */
  readonly id: string;
  readonly done: Answer["body"];
  readonly order: string;
  /** Its bytes. */
  readonly raw: string;
  /** What took its place. */
  readonly hash: string;
  /** The bytes that the node was sent so far. */
  readonly sent: string[];
  /** Takes the chain back to before either was mined. */
  goBack(): Promise<void>;
}

/** What the withdrawal's destination has, in wei. */
export async function paidOut({ funded: { anvil } }: LateScene): Promise<bigint> {
  return BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
}

/** Opens it. */
export async function openDisplaced(): Promise<DisplacedScene> {
  let faulty: FaultyNode | null = null;
  const scene = await openLateScene({ front: (url) => (faulty = startFaultyNode(url)).url });
  const node = faulty!;
  const { funded, poller } = scene;
  const { realm, anvil } = funded;
  const sent: string[] = [];
  const { body: { id } } = await funded.withdraw("1");
  let raw: string | null = null;
  node.trick = ({ method, params }) => {
    if (method !== "eth_sendRawTransaction") return undefined;
    raw ??= String(params[0]);
    if (params[0] === raw) throw new NodeError(-32000, "transaction type not supported");
    return undefined;
  };
  await funded.advance();
  let fork = await anvil.rpc<string>("evm_snapshot");
  async function goBack(): Promise<void> {
    await anvil.rpc("evm_revert", fork);
    fork = await anvil.rpc<string>("evm_snapshot");
    await anvil.rpc("anvil_dropAllTransactions");
  }
  await rowsOf(realm, "update chain_orders set created_at = now() - interval '20 minutes'");
  const canceling = () =>
    rowsOf<{ order: string; hash: string; raw: string }>(
      realm,
      "select order_id as order, hash, raw from order_attempts where cancels and sent_at is not null",
    );
  for (let round = 0; (await canceling()).length === 0 && round < 9; round++) {
    await funded.advance();
  }
  const [{ order, hash, raw: noop }] = await canceling();
  node.trick = ({ method, params }) => {
    if (method === "eth_sendRawTransaction") sent.push(String(params[0]));
    return undefined;
  };
  await mineInstead(funded, raw!, 3);
  const done = await funded.finish(id);
  equal(done.status, "DONE");
  equal(await paidOut(scene), 10n ** 18n);
  await poller.advance();
  await goBack();
  await mineInstead(funded, noop, 30);
  await seeLate(scene, hash);
  equal(await paidOut(scene), 0n);
  const [{ ramp }] = await rowsOf<{ ramp: string }>(realm, "select ramp from chain_orders limit 1");
  return {
    ...{ scene, ramp, id, done, order, raw: raw!, hash, sent, goBack },
    [Symbol.asyncDispose]: async () => {
      await scene[Symbol.asyncDispose]();
      await node.abort();
    },
  };
}
