/** Nodes that lag behind, are of another chain, or take their time, while something is withdrawn. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type Desk, openDesk, OUTSIDE } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { type Rogue, RogueError, startRogue } from "../support/nodes/misbehaving_node.ts";

const ETHER = 10n ** 18n;
const SEND = "eth_sendRawTransaction";

async function rogueDesk(): Promise<{ desk: Desk; rogue: Rogue }> {
  const made: Rogue[] = [];
  const desk = await openDesk({
    front: (url) => {
      made.push(startRogue(url));
      return made[0].url;
    },
  });
  return { desk, rogue: made[0] };
}

Deno.test("a node that lags behind tells old nonces: none is taken twice, each is paid once", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const old = await desk.anvil.rpc("eth_getBlockByNumber", "latest", false);
  equal((await desk.finish((await desk.withdraw("1")).body.id)).status, "DONE");
  const { body: { id } } = await desk.withdraw("2");
  rogue.trick = ({ method, params }) => {
    if (method === "eth_getTransactionCount") return "0x0";
    if (method === "eth_getTransactionReceipt") return null;
    if (method === "eth_blockNumber") return (old as { number: string }).number;
    if (method === "eth_getBlockByNumber" && params[0] === "latest") return old;
  };
  for (let round = 0; round < 3; round++) {
    await desk.look();
    await desk.anvil.mine();
  }
  equal((await desk.read(id)).status, "PROCESSING");
  rogue.trick = () => undefined;
  const done = await desk.finish(id);
  deepEqual([done.status, done.chain.nonce], ["DONE", 1]);
  await paid(desk, 3n, 2n);
});

Deno.test("a node that turns out to be of another chain is given nothing to send", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const { body: { id } } = await desk.withdraw("1");
  // What stands behind its name was exchanged; it has answered nothing else since.
  rogue.trick = ({ method }) => {
    if (method === "eth_chainId") return "0x5";
    return new Response("gone", { status: 502 });
  };
  await desk.look();
  await desk.look();
  equal((await desk.read(id)).status, "PROCESSING");
  equal(rogue.asked.includes(SEND), false);
  const [{ error }] = await rowsOf<{ error: string }>(desk.realm, "select error from orders");
  match(error, /of chain 5, for ETHEREUM main it must be 1/);
  rogue.trick = () => undefined;
  equal((await desk.finish(id)).status, "DONE");
  await paid(desk, 1n, 1n);
});

Deno.test("a node that is slow delays a withdrawal, and it is paid exactly once", async () => {
  const { desk, rogue } = await rogueDesk();
  await using _rogue = rogue;
  await using _desk = desk;
  const { body: { id } } = await desk.withdraw("1");
  rogue.trick = async () => {
    await new Promise((resolve) => setTimeout(resolve, 40));
    return undefined;
  };
  // Others look meanwhile, as processes do whose patience differs.
  await Promise.all([desk.look(), desk.look(), desk.look()]);
  equal((await desk.finish(id)).status, "DONE");
  await paid(desk, 1n, 1n);
});

Deno.test("what one node says waits, and the others have dropped, is sent again, the same bytes", async () => {
  const nodes: Rogue[] = [];
  await using desk = await openDesk({
    front: (url) => {
      nodes.push(startRogue(url), startRogue(url));
      return nodes.map((one) => one.url).join();
    },
  });
  await using liar = nodes[0];
  await using _honest = nodes[1];
  const { body: { id } } = await desk.withdraw("1");
  await desk.look();
  const [{ hash }] = await rowsOf<{ hash: string }>(desk.realm, "select hash from orders");
  const waiting = await desk.anvil.rpc("eth_getTransactionByHash", hash);
  liar.trick = ({ method, params }) => {
    if (params[0] !== hash) return undefined;
    if (method === "eth_getTransactionByHash") return waiting;
  };
  await desk.anvil.rpc("anvil_dropTransaction", hash);
  equal((await desk.finish(id)).status, "DONE");
  await paid(desk, 1n, 1n);
});

Deno.test("a withdrawal that one of two nodes refuses waits, tells its user why, and keeps no other waiting", async () => {
  const made: Rogue[] = [];
  const front = (url: string) => {
    made.push(startRogue(url));
    return `${made[0].url},${url}`;
  };
  await using desk = await openDesk({ front });
  await using liar = made[0];
  const refused = "0x00000000000000000000000000000000000b0b06";
  liar.trick = ({ method, params }) => {
    if (method === "eth_getCode" && params[0] !== OUTSIDE) return "0x60006000fd";
    if (method === "eth_estimateGas") throw new RogueError(3, "execution reverted");
  };
  const { body: { id } } = await desk.withdraw("1", { destination: { address: refused } });
  const other = (await desk.withdraw("1")).body.id;
  for (let round = 0; round < 2; round++) await desk.look();
  const { status, history } = await desk.read(id);
  equal(status, "PROCESSING");
  const told = history.filter(({ event }: { event: string }) => event === "waiting");
  deepEqual(told.map(({ reason }: { reason: string }) => reason), [
    "nodes do not agree on whether it would work: it goes on once they do, or is canceled",
  ]);
  equal((await desk.finish(other)).status, "DONE");
  const canceled = await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
  equal(canceled.body.status, "CANCELED", canceled.text);
  await paid(desk, 1n, 1n);
});

Deno.test("a price that one of two nodes tells far too low is bid anew once it tells the truth, for what was charged", async () => {
  const made: Rogue[] = [];
  const front = (url: string) => {
    made.push(startRogue(url));
    return `${made[0].url},${url}`;
  };
  await using desk = await openDesk({ front });
  await using liar = made[0];
  liar.trick = ({ method }) => {
    if (method !== "eth_feeHistory") return undefined;
    return { oldestBlock: "0x1", baseFeePerGas: ["0x1", "0x1"], gasUsedRatio: [0], reward: [] };
  };
  const { body: { id } } = await desk.withdraw("1");
  for (let round = 0; round < 2; round++) await desk.look();
  const orders = "select state, error, charged::text, fee::text from orders";
  const [before] = await rowsOf<Record<string, string>>(desk.realm, orders);
  equal(before.state, "sent");
  match(before.error, /less than block base fee/);
  liar.trick = () => undefined;
  equal((await desk.finish(id)).status, "DONE");
  const [after] = await rowsOf<Record<string, string>>(desk.realm, orders);
  equal(after.charged, before.charged);
  ok(BigInt(after.fee) <= BigInt(after.charged), `${after.fee} of ${after.charged}`);
  await paid(desk, 1n, 1n);
});

/** So many coins arrived outside, by so many transactions. */
async function paid(desk: Desk, coins: bigint, transactions: bigint): Promise<void> {
  const read = async (method: string, of: string) =>
    BigInt(await desk.anvil.rpc<string>(method, of, "latest"));
  deepEqual(
    [await read("eth_getBalance", OUTSIDE), await read("eth_getTransactionCount", desk.address)],
    [coins * ETHER, transactions],
  );
}
