/** A node of Solana that keeps payments back, and calls them expired. @module */
import { type FaultyNode, NodeError, startFaultyNode } from "./nodes/faulty_node.ts";
import type { Surfpool } from "./nodes/surfpool.ts";
import { rowsOf } from "./realm.ts";
import { type AddFirstRamp, sharingFirstRamp } from "./sharing_first_ramp.ts";
import {
  openSolanaRamp,
  openSolanaRealm,
  outsider,
  prepareSolanaRamp,
  type SolanaRamp,
} from "./solana_fixture.ts";

const FAR = 1_000_000_000;

/** Keeps bytes back, and calls every transaction expired if told so. */
export function keepBack(
  node: Surfpool,
  faulty: FaultyNode,
  kept: string[],
  expired: boolean,
): void {
  faulty.trick = async ({ method, params }) => {
    if (method === "sendTransaction") {
      if (!kept.includes(String(params[0]))) kept.push(String(params[0]));
      throw new NodeError(-32005, "the bytes are kept");
    }
    if (!expired) return undefined;
    if (method === "getBlock") {
      return { ...await node.rpc<object>(method, ...params), blockHeight: FAR };
    }
    if (method === "isBlockhashValid") return { context: { slot: FAR }, value: false };
    return undefined;
  };
}

/** Calls every transaction expired, and hides those that are in blocks from questions about their status. */
export function hideMined(node: Surfpool, faulty: FaultyNode): void {
  keepBack(node, faulty, [], true);
  const { trick } = faulty;
  faulty.trick = async (question) => {
    const { method, params } = question;
    if (method !== "getSignatureStatuses") return await trick(question);
    const told = await node.rpc<{ value: unknown[] }>(method, ...params);
    return { ...told, value: told.value.map(() => null) };
  };
}

/** A ramp of a token on Solana, and the node before it that keeps payments back. */
export interface Scene extends AsyncDisposable {
  readonly ramp: SolanaRamp;
  readonly faulty: FaultyNode;
}

/** Opens the ramp. */
export async function openScene(): Promise<Scene> {
  let faulty: FaultyNode | null = null;
  const ramp = await openSolanaRamp({ front: (url) => (faulty = startFaultyNode(url)).url });
  return {
    ramp,
    faulty: faulty!,
    [Symbol.asyncDispose]: async () => {
      await ramp[Symbol.asyncDispose]();
      await faulty![Symbol.asyncDispose]();
    },
  };
}

/** Opens a realm for several tests, which are the steps of one: each is given a ramp. */
export function sharingScene(title: string): AddFirstRamp<Scene> {
  return sharingFirstRamp(title, {
    async open(file) {
      let faulty: FaultyNode | null = null;
      const front = (url: string) => (faulty = startFaultyNode(url)).url;
      const { end, ...opened } = await openSolanaRealm({ front }, file);
      return {
        ...{ ...opened, faulty: faulty! as FaultyNode },
        async end() {
          await end();
          await faulty![Symbol.asyncDispose]();
        },
      };
    },
    async calm({ node, faulty }) {
      faulty.trick = () => undefined;
      await node.mine();
    },
    async make({ faulty, ...ground }, realm) {
      const ramp = await prepareSolanaRamp({ ...ground, realm, end: () => Promise.resolve() });
      return { ramp, faulty, [Symbol.asyncDispose]: () => ramp[Symbol.asyncDispose]() };
    },
  });
}

/** Asks for a payment whose bytes the node keeps back. */
export async function pay(
  { ramp, faulty }: Scene,
): Promise<{ id: string; to: string; kept: string[] }> {
  const kept: string[] = [];
  keepBack(ramp.node, faulty, kept, false);
  const to = outsider();
  const { body: { id } } = await ramp.withdraw("5", { destination: { address: to } });
  await ramp.advance();
  return { id, to, kept };
}

/** Has the newest transaction given up, as the node calls it expired. */
export async function giveUp({ ramp, faulty }: Scene, kept: string[]): Promise<void> {
  keepBack(ramp.node, faulty, kept, true);
  await ramp.advance();
  keepBack(ramp.node, faulty, kept, false);
}

/** Lists all attempts, the first one first. */
export async function attemptsOf({ realm }: SolanaRamp) {
  return await rowsOf<{ order: string; hash: string; proof: string | null; booked: boolean }>(
    realm,
    `select order_id as order, hash, proof, late_order_id is not null as booked from order_attempts
      order by attempt`,
  );
}

/** Has a quarter of an hour gone by since the attempts were planned. */
export async function agePlans({ realm }: SolanaRamp): Promise<void> {
  await rowsOf(realm, "update order_attempts set created_at = created_at - interval '15 minutes'");
}
