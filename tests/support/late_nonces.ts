/** Withdrawals on Ethereum that were given up, and whose bytes somebody keeps. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { endAt } from "./ended_worker.ts";
import { type FundedRamp, openFundedRamp, sameFundedRamp } from "./evm_fixture.ts";
import { keepChain } from "./kept_state.ts";
import { rowsOf } from "./realm.ts";
import { openTestPoller, type TestPoller } from "./scan_steps.ts";
import { type AddKept, type KeptOptions, sharingKept } from "./sharing_kept.ts";
import { testFile } from "./test_file.ts";

/** A ramp whose chain is scanned when the test says so. */
export interface LateScene extends AsyncDisposable {
  readonly funded: FundedRamp;
  readonly poller: TestPoller;
}

/** A withdrawal that was canceled, and its bytes, which never left. */
export interface Canceled {
  readonly id: string;
  readonly order: string;
  readonly hash: string;
  readonly raw: string;
}

/** Opens the ramp. */
export async function openLateScene(
  options: Parameters<typeof openFundedRamp>[0] = {},
): Promise<LateScene> {
  const scene = sceneOf(await openFundedRamp(options));
  await scene.funded.anvil.mine(4);
  await scene.poller.advance();
  return scene;
}

/** Opens the ramp once for several tests, each of which begins with it. */
export function sharingLateScene(title: string, options: KeptOptions = {}): AddKept<LateScene> {
  const file = testFile();
  return sharingKept(title, async (front) => {
    const { funded, ...opened } = await openLateScene({ front, file });
    return {
      ...{ ...opened, realm: funded.realm, keepChain: () => keepChain(funded.anvil) },
      begin: async (realm) => sceneOf(await sameFundedRamp(funded, realm)),
    };
  }, options);
}

function sceneOf(funded: FundedRamp): LateScene {
  const poller = openTestPoller(funded.realm);
  return {
    ...{ funded, poller },
    [Symbol.asyncDispose]: async () => {
      poller[Symbol.dispose]();
      await funded[Symbol.asyncDispose]();
    },
  };
}

/** Has a withdrawal of one ETH canceled once its bytes are stored. */
export async function cancelSigned(funded: FundedRamp): Promise<Canceled> {
  const { realm } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await endAt("stored", funded.advance);
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  const [made] = await rowsOf<Omit<Canceled, "id">>(
    realm,
    `select k.order_id as order, k.hash, k.raw from order_attempts k join chain_orders o on o.id = k.order_id
      where o.reference_id = $1`,
    [id],
  );
  return { id, ...made };
}

/** The last order that fills a nonce. */
export async function fillOf({ realm }: FundedRamp) {
  const [row] = await rowsOf<{ id: string; hash: string | null; state: string }>(
    realm,
    "select id, hash, state from chain_orders where purpose = 'fill' order by id desc limit 1",
  );
  return row;
}

/** Puts bytes into a block instead of all that nodes' pools have, and mines until it is final. */
export async function mineInstead(funded: FundedRamp, raw: string, blocks = 6): Promise<void> {
  const { anvil } = funded;
  await anvil.rpc("anvil_dropAllTransactions");
  await anvil.rpc("eth_sendRawTransaction", raw);
  await anvil.mine(blocks);
}

/** Why the ramp is in quarantine; null where it is not. */
export async function quarantineOf({ realm }: FundedRamp): Promise<string | null> {
  const [{ detail }] = await rowsOf<{ detail: string | null }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps",
  );
  return detail;
}

/** Has the chain scanned, which puts the ramp into quarantine for bytes that were given up. */
export async function seeLate(scene: LateScene, hash: string): Promise<void> {
  for (let round = 0; round < 2; round++) await scene.poller.advance();
  const detail = await quarantineOf(scene.funded);
  match(detail ?? "no quarantine", /was given up, and was mined/);
  equal(detail!.startsWith(hash), true, detail!);
}

/** What the chain holds more than the books say; the ledger agrees with itself. */
export async function driftOf({ realm, context }: FundedRamp): Promise<string> {
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  await checkSolvency({ ...context, actor: { ...context.actor, at: Date.now() } });
  const { body } = await realm.admin.send("GET", "/v1/solvency");
  return body.find((row: { asset: string }) => row.asset === "ETH").drift;
}
