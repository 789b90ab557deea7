/** Payments that are done while the scan is behind their blocks, and whose blocks the chain loses before the scan gets there. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { tellOtherHistory } from "../support/forked_solana.ts";
import { openScene, type Scene } from "../support/kept_payments.ts";
import {
  cancelStored,
  depthOf,
  lastStored,
  type LosingRamp,
  mineInstead,
  reasonOf,
  resent,
  sharingLosingRamp,
  toldOf,
} from "../support/lost_coins.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { head } from "../support/nodes/tron/ledger.ts";
import { newTronParty } from "../support/nodes/tron/wallet.ts";
import { pay } from "../support/pending_withdrawals.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { outsider } from "../support/solana_fixture.ts";
import { openTronRamp } from "../support/tron_fixture.ts";
import { COIN, follow } from "../support/utxo_fixture.ts";

const test = sharingLosingRamp(
  "UTXO payments that are done before their block is scanned",
  !hasLitecoind(),
);

const ROUNDS = 20;

/** Why the ramp is in quarantine; null where it is not. */
async function quarantineOf(realm: TestRealm): Promise<string | null> {
  const [row] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps where quarantined is not null",
  );
  return row?.detail ?? null;
}

/** Takes steps until a withdrawal is done; nothing is scanned. Gives its transaction. */
async function finishUnscanned(
  realm: TestRealm,
  id: string,
  step: () => Promise<void>,
): Promise<{ hash: string; height: number }> {
  for (let round = 0; round < ROUNDS; round++) {
    await step();
    const [row] = await rowsOf<{ state: string; hash: string; height: number; scanned: number }>(
      realm,
      `select o.state, o.hash, o.height, c.height::integer as scanned
        from chain_orders o join chain_cursors c using (chain, network) where o.reference_id = $1`,
      [id],
    );
    if (row.state !== "done") continue;
    ok(row.scanned < row.height, "its block is not scanned");
    return row;
  }
  throw new Error("it is not done");
}

async function statesOf(realm: TestRealm) {
  return await rowsOf(realm, "select hash, state, told from displaced_orders order by hash");
}

/** A withdrawal that is done, and that no scan has seen. */
async function payUnscanned(funded: LosingRamp, value: string) {
  const { realm, node } = funded;
  const { address: to } = await newParty("LITECOIN");
  const id = await pay(funded, to, value);
  await finishUnscanned(realm, id, async () => {
    await funded.advance();
    await node.mine();
  });
  return { id, to, ...await lastStored(funded) };
}

test("LTC: a withdrawal that is done while the scan is behind its block, and whose coin other bytes of ours spend instead before the scan gets there, is told to its user and the operator", async (funded) => {
  await funded.fund(5n * COIN);
  const late = await cancelStored(funded, "1");
  const done = await payUnscanned(funded, "2");
  await mineInstead(funded, await depthOf(funded, done.hash), late.raw);
  deepEqual(await resent(funded), []);
  deepEqual(await toldOf(funded, done.id), [
    `${late.hash} took the place of ${done.hash}, which the chain has lost: no transaction pays it`,
  ]);
  ok(await reasonOf(funded) !== null);
  deepEqual(await funded.held(done.to), []);
});

test("LTC: a withdrawal that is done while the scan is behind its block, which the chain loses before the scan gets there, is sent again, and told to nobody", async (funded) => {
  await funded.fund(5n * COIN);
  const done = await payUnscanned(funded, "2");
  await mineInstead(funded, await depthOf(funded, done.hash));
  deepEqual(await resent(funded), [done.raw]);
  await follow(funded, 3);
  deepEqual(await funded.held(done.to), [2n * COIN]);
  deepEqual([await toldOf(funded, done.id), await reasonOf(funded)], [[], null]);
  await funded.agree();
});

test("LTC: a withdrawal that is done while the scan is behind its block keeps its coins spent where the scan sees it in another block", async (funded) => {
  await funded.fund(5n * COIN);
  const done = await payUnscanned(funded, "2");
  await mineInstead(funded, await depthOf(funded, done.hash) + 1, done.raw);
  deepEqual(await resent(funded), []);
  deepEqual([await toldOf(funded, done.id), await reasonOf(funded)], [[], null]);
  await follow(funded, 3);
  await funded.agree();
});

const ENDS: Record<string, boolean> = {
  "which the chain loses before the scan gets there, is told to its user and the operator": true,
  "is told to nobody where the scan finds it there": false,
};
for (const [end, isLost] of Object.entries(ENDS)) {
  Deno.test(`a payment on Tron that is done while the scan is behind its block, ${end}`, async () => {
    await using ramped = await openTronRamp({ total: 500_000_000n });
    const { realm, node } = ramped;
    const { body: { id } } = await ramped.withdraw(newTronParty().address, "5");
    const { hash, height } = await finishUnscanned(realm, id, async () => {
      await ramped.advance();
      await node.mine();
    });
    if (isLost) await node.reorganiseFinal(Number(head(node.ledger).number) - height + 1);
    for (let round = 0; round < 3; round++) {
      await node.mine(2);
      await ramped.follow();
    }
    const lost = `the chain has lost ${hash}: no transaction pays`;
    equal(await quarantineOf(realm), isLost ? `${lost} ${id}, which is done` : null);
    const { status, history } = await ramped.withdrawal(id);
    equal(status, "DONE");
    const told = history.filter(({ reason }: { reason?: string }) => reason?.startsWith(lost));
    equal(told.length, isLost ? 1 : 0);
    deepEqual(
      await statesOf(realm),
      isLost ? [{ hash, state: "displaced", told: "displaced" }] : [],
    );
  });
}

/** A withdrawal on Solana that is done, and that no scan has seen. */
async function payUnscannedOnSolana({ ramp }: Scene) {
  const { realm, node, context } = ramp;
  const { body: { id } } = await ramp.withdraw("5", { destination: { address: outsider() } });
  await ramp.poller.advance();
  const done = await finishUnscanned(realm, id, async () => {
    const orders = await rowsOf<{ order: string; version: number }>(
      realm,
      `select id as order, schedule_version as version from chain_orders
        where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
    );
    const actor = { ...context.actor, at: Date.now() };
    for (const seen of orders) await advanceOrder({ ...context, actor }, seen);
    await node.mine();
  });
  return { id, ...done };
}

Deno.test("a payment on Solana that is done while the scan is behind its block, which the chain loses before the scan gets there, is told to its user and the operator", async () => {
  await using scene = await openScene();
  const { ramp, faulty } = scene;
  const { realm, node } = ramp;
  const { id, hash, height } = await payUnscannedOnSolana(scene);
  tellOtherHistory(node, faulty, { from: height, without: hash, mark: "22" });
  for (let round = 0; round < 2; round++) {
    await node.mine();
    await ramp.poller.advance();
  }
  equal(
    await quarantineOf(realm),
    `the chain has lost ${hash}: no transaction pays ${id}, which is done`,
  );
  deepEqual(await statesOf(realm), [{ hash, state: "displaced", told: "displaced" }]);
});

const STATUSES: Record<string, unknown> = {
  "does not know it": null,
  "has it in a block that is not final": {
    ...{ slot: 1, confirmations: 1, err: null, status: { Ok: null } },
    confirmationStatus: "confirmed",
  },
};
for (const [known, status] of Object.entries(STATUSES)) {
  Deno.test(`a payment on Solana that is done before the scan reached its block, where an index that lags does not list it, and a server that is behind ${known}, is told to nobody`, async () => {
    await using scene = await openScene();
    const { ramp, faulty } = scene;
    const { realm, node } = ramp;
    const { id, hash } = await payUnscannedOnSolana(scene);
    faulty.trick = async ({ method, params }) => {
      if (method === "getSignaturesForAddress") {
        const told = await node.rpc<{ signature: string }[]>(method, ...params);
        return told.filter(({ signature }) => signature !== hash);
      }
      if (method !== "getSignatureStatuses") return undefined;
      const told = await node.rpc<{ value: unknown[] }>(method, ...params);
      return { ...told, value: told.value.map(() => status) };
    };
    for (let round = 0; round < 3; round++) {
      await node.mine();
      await ramp.poller.advance();
    }
    equal(await quarantineOf(realm), null);
    faulty.trick = () => undefined;
    await node.mine();
    await ramp.poller.advance();
    deepEqual(await statesOf(realm), [{ hash, state: "returned", told: null }]);
    equal(await quarantineOf(realm), null);
    ok(!(await ramp.read(id)).history.some(({ reason }: { reason?: string }) => reason));
  });
}
