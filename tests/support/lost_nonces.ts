/** Withdrawals on Ethereum that have ended, and whose blocks a reorganisation takes away. @module */
import { equal } from "node:assert/strict";
import { endAt } from "./ended_worker.ts";
import { OUTSIDE } from "./evm_fixture.ts";
import { type LateScene, mineInstead } from "./late_nonces.ts";
import { rowsOf } from "./realm.ts";

/** Code that takes no payment. */
const REVERT = "0x60006000fd";

/** A withdrawal that has ended, and its bytes. */
export interface Ended {
  readonly id: string;
  readonly order: string;
  readonly hash: string;
  readonly raw: string;
  /** Takes the chain back to before it was mined. */
  goBack(): Promise<void>;
}

/** Has a withdrawal end, whose destination takes payments, or none; before its block is scanned, or after. */
export async function end(
  scene: LateScene,
  { takes, scanned = true }: { takes: boolean; scanned?: boolean },
): Promise<Ended> {
  const { funded, poller } = scene;
  const { anvil } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await endAt("stored", funded.advance);
  const [made] = await rowsOf<Pick<Ended, "order" | "hash" | "raw">>(
    funded.realm,
    `select k.order_id as order, k.hash, k.raw from order_attempts k join chain_orders o on o.id = k.order_id
      where o.reference_id = $1`,
    [id],
  );
  let fork = await anvil.rpc<string>("evm_snapshot");
  if (!takes) await anvil.rpc("anvil_setCode", OUTSIDE, REVERT);
  equal((await funded.finish(id)).status, takes ? "DONE" : "FAILED");
  if (scanned) await poller.advance();
  return {
    ...{ id, ...made },
    async goBack() {
      await anvil.rpc("evm_revert", fork);
      fork = await anvil.rpc<string>("evm_snapshot");
      await anvil.rpc("anvil_dropAllTransactions");
    },
  };
}

/**
 * Mines it in another block, where its destination takes payments, or none, and has that scanned. A node counts again once it
 * calls a block final above the one that it took back.
 */
export async function mineAgain(
  scene: LateScene,
  { raw }: Ended,
  { takes, blocks = 60 }: { takes: boolean; blocks?: number },
) {
  await scene.funded.anvil.rpc("anvil_setCode", OUTSIDE, takes ? "0x" : REVERT);
  await mineInstead(scene.funded, raw, blocks);
  for (let round = 0; round < 3; round++) await scene.poller.advance();
}

/** What is known of the transactions that the chain has lost. */
export async function displacedOf({ funded }: LateScene) {
  return await rowsOf<{ hash: string; state: string; told: string | null }>(
    funded.realm,
    "select hash, state, told from displaced_orders order by hash",
  );
}

/** What operators are warned of. */
export async function warningOf({ funded: { realm } }: LateScene): Promise<string | null> {
  const [{ warning }] = await rowsOf<{ warning: string | null }>(
    realm,
    "select warning from chain_cursors",
  );
  return warning;
}
