/** On a main network the return of value, or a second payment, needs a block that its nodes call final. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { getAddress, hexlify, SigningKey, Transaction } from "ethers";
import { selectKeyPositions } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import type { Evm } from "../../workers/chains/evm/context.ts";
import { finalHeight } from "../../workers/chains/evm/finality.ts";
import { openEvmNodes } from "../../workers/chains/evm/node_answers.ts";
import type { Peer } from "../../workers/chains/node_pool.ts";
import type { FundedRamp } from "../support/evm_fixture.ts";
import { reconcile } from "../support/installation.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { NodeError, passOn, type Trick } from "../support/nodes/faulty_node.ts";
import { type FrontedRamp, sharingFunded } from "../support/sharing_funded.ts";

const ETHER = 10n ** 18n;
const REVERTS = "0x60006000fd";
const FIRST = "0x1";
const MADE = `0x${"cd".repeat(32)}`;
const STRANGER = getAddress(`0x${"5".repeat(40)}`);

const test = sharingFunded("payments that are given back once a block is final");

/** Makes a node report the block at a tag or height as the final one; null: it reports none. */
function final({ anvil }: FundedRamp, at: () => string | null): Trick {
  return async ({ id, method, params }) => {
    if (method !== "eth_getBlockByNumber" || params[0] !== "finalized") return undefined;
    const tag = at();
    if (tag === null) throw new NodeError(-32602, "unknown block tag");
    const told = await passOn(anvil.url, { id, method, params: [tag, false] });
    return (told as { result: unknown }).result;
  };
}

/** The same, and takes no payments. */
function deaf(funded: FundedRamp, at: () => string | null): Trick {
  const told = final(funded, at);
  return (question) => {
    if (question.method !== "eth_sendRawTransaction") return told(question);
    throw new NodeError(-32000, "nonce too low");
  };
}

async function withdrawn({ funded, outside }: Omit<FrontedRamp, "nodes">): Promise<string> {
  const { status, text, body } = await funded.withdraw("1", { destination: { address: outside } });
  equal(status, 201, text);
  return body.id;
}

/** Sends a payment that fails in its block, eight blocks ago. */
async function failed({ funded, outside }: FrontedRamp): Promise<string> {
  const id = await withdrawn({ funded, outside });
  await funded.advance();
  await funded.anvil.rpc("anvil_setCode", outside, REVERTS);
  await funded.anvil.mine(8);
  for (let round = 0; round < 3; round++) await funded.advance();
  return id;
}

/** Uses the first nonce of the ramp's own key for something else, eight blocks ago. */
async function taken({ funded, outside }: FrontedRamp): Promise<string> {
  const id = await withdrawn({ funded, outside });
  await funded.advance();
  const { context, address } = funded;
  const order = { chain: "ETHEREUM", network: "main" } as const;
  const rows = await reading(
    context.pool,
    (db) => selectKeyPositions(db, order as never, [address]),
  );
  const paths = rows.map((row) => ({ ...order, ...row }));
  const store = { realm: context.realm.id, pool: context.pool };
  const raw = await context.signer.withKeys(store, paths, (keys) => {
    const one = Transaction.from({
      ...{ type: 2, chainId: 1, nonce: 0, to: STRANGER, value: 1n, gasLimit: 21_000n },
      ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n },
    });
    one.signature = new SigningKey(hexlify(keys.get(address)!)).sign(one.unsignedHash);
    return Promise.resolve(one.serialized);
  });
  await funded.anvil.rpc("eth_sendRawTransaction", raw);
  await funded.anvil.mine(8);
  for (let round = 0; round < 3; round++) await funded.advance();
  return id;
}

/** Polls until a payment is given back; a foreign use of its nonce by our own key was reconciled before. */
async function givenBack(funded: FundedRamp, id: string, own: boolean): Promise<string> {
  if (own) {
    for (let round = 0; round < 3; round++) await funded.advance();
    equal((await funded.read(id)).status, "PROCESSING");
    const [report] = await reconcile(funded.realm);
    deepEqual([report.lifted, report.open], [true, []]);
  }
  return (await funded.finish(id)).status;
}

const paidTo = async ({ funded, outside }: FrontedRamp) =>
  BigInt(await funded.anvil.rpc<string>("eth_getBalance", outside, "latest"));

async function reportsOf({ context }: FundedRamp): Promise<string> {
  return (await context.chains.open({ chain: "ETHEREUM", testnet: false })).reports().join("\n");
}

/** Takes the last blocks away, with what they held. */
async function reorganised({ funded, outside }: FrontedRamp, blocks: number): Promise<void> {
  await funded.anvil.rpc("anvil_reorg", blocks, []);
  await funded.anvil.rpc("anvil_setCode", outside, "0x");
}

for (
  const [name, lose] of [
    ["that failed in its block", failed],
    ["whose nonce another took", taken],
  ] as const
) {
  test(
    `a payment ${name} is given back only once that block is final: a reorganisation beyond the depth pays once`,
    1,
    async (fronted) => {
      const { funded, nodes: [node] } = fronted;
      node.trick = lose === taken ? deaf(funded, () => FIRST) : final(funded, () => FIRST);
      const id = await lose(fronted);
      equal((await funded.read(id)).status, "PROCESSING");
      await reorganised(fronted, 8);
      node.trick = final(funded, () => FIRST);
      equal((await funded.finish(id)).status, "DONE");
      equal(await paidTo(fronted), ETHER);
    },
  );

  test(`a payment ${name} is given back when that block is final`, 1, async (fronted) => {
    const { funded, nodes: [node] } = fronted;
    let at: string | null = FIRST;
    node.trick = lose === taken ? deaf(funded, () => at) : final(funded, () => at);
    const id = await lose(fronted);
    equal((await funded.read(id)).status, "PROCESSING");
    at = "latest";
    equal(await givenBack(funded, id, lose === taken), "FAILED");
    equal(await paidTo(fronted), 0n);
  });

  test(
    `where a node knows no final block, a payment ${name} is given back by the depth alone, and that is reported`,
    1,
    async (fronted) => {
      const { funded, nodes: [node] } = fronted;
      node.trick = lose === taken ? deaf(funded, () => null) : final(funded, () => null);
      const id = await lose(fronted);
      equal(await givenBack(funded, id, lose === taken), "FAILED");
      match(await reportsOf(funded), /knows no final block/);
    },
  );

  test(
    `of three nodes one that calls every block final has no payment ${name} given back`,
    3,
    async (fronted) => {
      const { funded, nodes } = fronted;
      const tell = lose === taken ? deaf : final;
      for (const [at, node] of nodes.entries()) {
        node.trick = tell(funded, () => at === 0 ? "latest" : FIRST);
      }
      const id = await lose(fronted);
      equal((await funded.read(id)).status, "PROCESSING");
      // Nor does one that calls nothing final hold it up.
      for (const [at, node] of nodes.entries()) {
        node.trick = tell(funded, () => at === 0 ? FIRST : "latest");
      }
      equal(await givenBack(funded, id, lose === taken), "FAILED");
    },
  );
}

test(
  "a payment that is made is settled at its depth, before its block is final",
  1,
  async (fronted) => {
    const { funded, nodes: [node] } = fronted;
    node.trick = final(funded, () => FIRST);
    equal((await funded.finish(await withdrawn(fronted))).status, "DONE");
    equal(await paidTo(fronted), ETHER);
  },
);

for (
  const [name, tell] of [
    ["takes back what it called final", () => FIRST],
    ["calls final what it does not have", () => "0x5000"],
    ["tells no longer what is final", () => null],
  ] as const
) {
  test(
    `a node that ${name} has nothing given back, until it is in step again`,
    1,
    async (fronted) => {
      const { funded, nodes: [node] } = fronted;
      await funded.anvil.mine(4);
      const chain = await funded.context.chains.open({ chain: "ETHEREUM", testnet: false });
      const called = `0x${(await chain.head()).finalized!.toString(16)}`;
      const told = final(funded, tell);
      node.trick = async (question) => {
        const { method, params: [at] } = question;
        if (tell() === FIRST && method === "eth_getBlockByNumber" && at === called) {
          const block = await funded.anvil.rpc("eth_getBlockByNumber", called, false);
          return { ...block as object, hash: MADE };
        }
        const answer = await told(question);
        // Beyond its head there is none to pass on, so one is made up.
        if (answer !== null) return answer;
        const block = await funded.anvil.rpc("eth_getBlockByNumber", FIRST, false);
        return { ...block as object, number: "0x5000" };
      };
      const id = await failed(fronted);
      equal((await funded.read(id)).status, "PROCESSING");
      const [{ error }] = await rowsOf<{ error: string }>(
        funded.realm,
        "select error from chain_orders order by id desc limit 1",
      );
      match(error, /called final|calls block|a final block now/);
      if (tell() !== null) match(await reportsOf(funded), /called final|calls block/);
      node.trick = () => undefined;
      equal((await funded.finish(id)).status, "FAILED");
    },
  );
}

Deno.test("answers that overtake each other, and nodes that lag behind one name, take nothing back", async () => {
  const nodes = openEvmNodes("ETHEREUM", "main", ["http://127.0.0.1:9"]);
  const evm = { nodes, finals: new Map() } as unknown as Evm;
  const block = (height: number) => {
    const hex = (of: number) => `0x${of.toString(16).padStart(64, "0")}`;
    const number = `0x${height.toString(16)}`;
    return { number, hash: hex(height), parentHash: hex(height - 1), timestamp: "0x1" };
  };
  let has: unknown = null;
  const peer: Peer = {
    name: "node",
    call: () => Promise.resolve(has),
    batch: () => Promise.resolve([]),
    join: () => Promise.resolve([]),
    request: () => Promise.reject(new TypeError("not asked")),
  };
  const told = (height: number, since = performance.now()) =>
    finalHeight(evm, peer, { answer: block(height), head: 200, since });
  const before = performance.now();
  equal(await told(110), 110);
  // Asked before, and answered after.
  equal(await told(105, before - 1), 105);
  // A lagging node behind the same name: it may or may not have the block by now.
  has = block(110);
  equal(await told(105), 105);
  has = null;
  await rejects(told(105), /lags behind block 110/);
  deepEqual(nodes.reports(), []);
  has = { ...block(110), hash: MADE };
  await rejects(told(105), /takes back block 110/);
  equal(nodes.reports().length, 1);
  equal(evm.finals.get("node")?.height, 110);
  nodes.close();
});

Deno.test("GET /v1/chains shows the final block of a main network", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  await fixture.ramp();
  await fixture.mine(10);
  const [chain] = (await fixture.realm.admin.send("GET", "/v1/chains")).body;
  deepEqual([chain.chain, chain.height - chain.finalized], ["ETHEREUM", 2]);
  ok(chain.healthy);
});
