/** Cancellations on an EVM chain whose process ends between two steps, beside another, or before nodes that keep bytes back. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { toUnits } from "../../domain/money.ts";
import { CHECKPOINTS, type OnCheckpoint } from "../../workers/sending/order_work.ts";
import { endAt } from "../support/ended_worker.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";
import { rowsOf } from "../support/realm.ts";

const COIN = 10n ** 18n;
const SEND = "eth_sendRawTransaction";

interface Fronted extends AsyncDisposable {
  readonly funded: FundedRamp;
  readonly nodes: readonly FaultyNode[];
}

async function openFronted(count = 1): Promise<Fronted> {
  const nodes: FaultyNode[] = [];
  const front = (url: string) => {
    for (let one = 0; one < count; one++) nodes.push(startFaultyNode(url));
    return nodes.map(({ url: own }) => own).join();
  };
  const funded = await openFundedRamp({ front, coins: 50n * COIN });
  return {
    funded,
    nodes,
    [Symbol.asyncDispose]: async () => {
      await funded[Symbol.asyncDispose]();
      for (const node of nodes) await node[Symbol.asyncDispose]();
    },
  };
}

/** Works and mines until no order is open. */
async function settle(funded: FundedRamp, onCheckpoint?: OnCheckpoint): Promise<void> {
  const open =
    "select from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined')";
  for (let round = 0; round < 20; round++) {
    await funded.advance(onCheckpoint);
    if ((await rowsOf(funded.realm, open)).length === 0) return;
    await funded.anvil.mine();
  }
  throw new Error("orders stay open");
}

/** Ends a worker at a step, and has two at once go on. */
async function interrupt(funded: FundedRamp, step: string): Promise<void> {
  let reached = false;
  const stop: OnCheckpoint = (passed) => {
    if (passed !== step) return;
    reached = true;
    throw new Error("the worker ended");
  };
  await settle(funded, stop).catch((error) => {
    if (!reached) throw error;
  });
  ok(reached, `nobody passed ${step}`);
  await Promise.all([funded.advance(), funded.advance()]);
  await settle(funded);
}

/** Nothing was paid, the account has all of it, and chain and ledger agree. */
async function unpaid({ anvil, address, books }: FundedRamp): Promise<void> {
  const held = async (of: string) =>
    BigInt(await anvil.rpc<string>("eth_getBalance", of, "latest"));
  const { account, world } = await books();
  equal(await held(OUTSIDE), 0n);
  equal(account, "10");
  equal(await held(address) - 50n * COIN, -toUnits(world, 18) - 10n * COIN);
}

Deno.test("a withdrawal that is canceled once it is signed, and whose nonce a worker fills that ends at any place, is not paid, and one transaction fills it", async (t) => {
  await using funded = await openFundedRamp({ coins: 50n * COIN });
  let filled = 0;
  for (const step of CHECKPOINTS) {
    await t.step(step, async () => {
      const { body: { id } } = await funded.withdraw("1");
      await endAt("stored", funded.advance);
      const path = `/v1/withdrawals/${id}/cancel`;
      equal((await funded.realm.admin.send("POST", path)).status, 200);
      await interrupt(funded, step);
      filled++;
      deepEqual(
        await rowsOf(
          funded.realm,
          `select count(distinct k.hash)::integer as made, count(distinct o.id)::integer as orders
            from chain_orders o join order_attempts k on k.order_id = o.id
            where purpose = 'fill' and state = 'done'`,
        ),
        [{ made: filled, orders: filled }],
      );
      await rowsOf(funded.realm, "update chain_orders set updated_at = now() - interval '2 days'");
      equal((await funded.read(id)).status, "CANCELED");
      await unpaid(funded);
    });
  }
});

Deno.test("a withdrawal that no node takes, and that a worker cancels by a replacement and ends at any place, is given back once", async (t) => {
  await using fronted = await openFronted();
  const { funded, nodes: [node] } = fronted;
  for (const step of CHECKPOINTS) {
    await t.step(step, async () => {
      let first: unknown = null;
      node.trick = ({ method, params }) => {
        if (method !== SEND) return undefined;
        first ??= params[0];
        if (params[0] === first) throw new NodeError(-32000, "transaction type not supported");
        return undefined;
      };
      const { body: { id } } = await funded.withdraw("1");
      await funded.advance();
      await rowsOf(
        funded.realm,
        "update chain_orders set created_at = now() - interval '20 minutes'",
      );
      await interrupt(funded, step);
      equal((await funded.read(id)).status, "FAILED");
      const made = await rowsOf<{ cancels: boolean }>(
        funded.realm,
        `select k.cancels from order_attempts k join chain_orders o on o.id = k.order_id
          where o.reference_id = $1 order by attempt`,
        [id],
      );
      deepEqual(made.map(({ cancels }) => cancels), [false, true]);
      await rejects(funded.anvil.rpc(SEND, first), /nonce too low/);
      await unpaid(funded);
    });
  }
});

Deno.test("of bytes and their replacement that a node keeps back with `nonce too low`, and sends later, one alone is mined, and it is paid once", async () => {
  await using fronted = await openFronted();
  const { funded, nodes: [node] } = fronted;
  const kept: unknown[] = [];
  node.trick = ({ method, params }) => {
    if (method !== SEND) return undefined;
    if (!kept.includes(params[0])) kept.push(params[0]);
    throw new NodeError(-32000, "nonce too low");
  };
  const { body: { id } } = await funded.withdraw("1");
  await funded.advance();
  const path = `/v1/withdrawals/${id}/speed-up`;
  ok((await funded.realm.admin.send("POST", path, { speed: "fast" })).status < 300);
  for (let round = 0; round < 3; round++) await funded.advance();
  equal(kept.length, 2);
  equal((await funded.read(id)).status, "PROCESSING");
  await funded.anvil.rpc(SEND, kept[0]);
  await funded.anvil.mine();
  node.trick = () => undefined;
  equal((await funded.finish(id)).status, "DONE");
  await rejects(funded.anvil.rpc(SEND, kept[1]), /nonce too low/);
  equal(BigInt(await funded.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest")), COIN);
  equal(await funded.anvil.rpc("eth_getTransactionCount", funded.address, "latest"), "0x1");
});

Deno.test("of three nodes one whose receipts say that a payment failed, or that never has one, has nothing given back", async (t) => {
  await using fronted = await openFronted(3);
  const { funded, nodes } = fronted;
  const lies = {
    "it failed": (given: object | null) => given && { ...given, status: "0x0", logs: [] },
    "there is none": () => null,
    "garbage": () => ({ status: "0x7" }),
  };
  let paid = 0n;
  for (const [name, lie] of Object.entries(lies)) {
    await t.step(name, async () => {
      nodes[0].trick = async ({ method, params }) =>
        method === "eth_getTransactionReceipt"
          ? lie(await funded.anvil.rpc<object | null>(method, ...params)) as object
          : undefined;
      const { body: { id } } = await funded.withdraw("1");
      equal((await funded.finish(id)).status, "DONE");
      paid += COIN;
      equal(BigInt(await funded.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest")), paid);
    });
  }
});
