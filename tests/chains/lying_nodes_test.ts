/** Nodes that lag behind, are of another chain, or take their time, while something is withdrawn. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { rowsOf } from "../support/realm.ts";
import { NodeError, type Trick } from "../support/nodes/faulty_node.ts";
import { type FrontedRamp, sharingFunded } from "../support/sharing_funded.ts";

const ETHER = 10n ** 18n;
const SEND = "eth_sendRawTransaction";

const test = sharingFunded("withdrawals behind nodes that lie");

/** Withdraws to the address outside. */
async function withdrawn({ funded, outside }: FrontedRamp, value: string): Promise<string> {
  const { status, text, body } = await funded.withdraw(value, {
    destination: { address: outside },
  });
  equal(status, 201, text);
  return body.id;
}

test(
  "a node that lags behind reports old nonces: none is taken twice, each is paid once",
  1,
  async (fronted) => {
    const { funded, nodes: [faulty] } = fronted;
    const old = await funded.anvil.rpc("eth_getBlockByNumber", "latest", false);
    equal((await funded.finish(await withdrawn(fronted, "1"))).status, "DONE");
    const id = await withdrawn(fronted, "2");
    faulty.trick = ({ method, params }) => {
      if (method === "eth_getTransactionCount") return "0x0";
      if (method === "eth_getTransactionReceipt") return null;
      if (method === "eth_blockNumber") return (old as { number: string }).number;
      if (method === "eth_getBlockByNumber" && params[0] === "latest") return old;
    };
    for (let round = 0; round < 3; round++) {
      await funded.advance();
      await funded.anvil.mine();
    }
    equal((await funded.read(id)).status, "PROCESSING");
    faulty.trick = () => undefined;
    const done = await funded.finish(id);
    deepEqual([done.status, done.chain.nonce], ["DONE", 1]);
    await paid(fronted, 3n, 2n);
  },
);

test(
  "a node that turns out to be of another chain is given nothing to send",
  1,
  async (fronted) => {
    const { funded, nodes: [faulty] } = fronted;
    const id = await withdrawn(fronted, "1");
    // The node behind its name was exchanged; it has answered nothing else since.
    faulty.trick = ({ method }) => {
      if (method === "eth_chainId") return "0x5";
      return new Response("gone", { status: 502 });
    };
    const asked = faulty.asked.length;
    await funded.advance();
    await funded.advance();
    equal((await funded.read(id)).status, "PROCESSING");
    equal(faulty.asked.slice(asked).includes(SEND), false);
    const [{ error }] = await rowsOf<{ error: string }>(
      funded.realm,
      "select error from chain_orders where sender = $1",
      [funded.address],
    );
    match(error, /of the network 5, for ETHEREUM main it must be 1/);
    faulty.trick = () => undefined;
    equal((await funded.finish(id)).status, "DONE");
    await paid(fronted, 1n, 1n);
  },
);

test("a node that is slow delays a withdrawal, and it is paid exactly once", 1, async (fronted) => {
  const { funded, nodes: [faulty] } = fronted;
  const id = await withdrawn(fronted, "1");
  faulty.trick = async () => {
    await new Promise((resolve) => setTimeout(resolve, 40));
    return undefined;
  };
  // Other processes poll meanwhile, with other time-outs.
  await Promise.all([funded.advance(), funded.advance(), funded.advance()]);
  equal((await funded.finish(id)).status, "DONE");
  await paid(fronted, 1n, 1n);
});

test(
  "a transaction that one node reports as waiting, and the others have dropped, is sent again, the same bytes",
  2,
  async (fronted) => {
    const { funded, nodes: [lying] } = fronted;
    const id = await withdrawn(fronted, "1");
    await funded.advance();
    const [{ hash }] = await rowsOf<{ hash: string }>(
      funded.realm,
      "select hash from chain_orders where sender = $1",
      [funded.address],
    );
    const waiting = await funded.anvil.rpc("eth_getTransactionByHash", hash);
    lying.trick = ({ method, params }) => {
      if (params[0] !== hash) return undefined;
      if (method === "eth_getTransactionByHash") return waiting;
    };
    await funded.anvil.rpc("anvil_dropTransaction", hash);
    equal((await funded.finish(id)).status, "DONE");
    await paid(fronted, 1n, 1n);
  },
);

test(
  "a withdrawal that one of two nodes refuses waits with the reason, and delays no other",
  2,
  async (fronted) => {
    const { funded, nodes: [lying], outside } = fronted;
    const refused = "0x00000000000000000000000000000000000b0b06";
    lying.trick = ({ method, params }) => {
      if (method === "eth_getCode" && params[0] !== outside) return "0x60006000fd";
      if (method === "eth_estimateGas") throw new NodeError(3, "execution reverted");
    };
    const { body: { id } } = await funded.withdraw("1", { destination: { address: refused } });
    const other = await withdrawn(fronted, "1");
    for (let round = 0; round < 2; round++) await funded.advance();
    const { status, history } = await funded.read(id);
    equal(status, "PROCESSING");
    const told = history.filter(({ event }: { event: string }) => event === "waiting");
    deepEqual(told.map(({ reason }: { reason: string }) => reason), [
      "nodes do not agree on whether it would work: it continues once they do, or is canceled",
    ]);
    equal((await funded.finish(other)).status, "DONE");
    const canceled = await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
    equal(canceled.body.status, "CANCELED", canceled.text);
    await paid(fronted, 1n, 1n);
  },
);

const LOW = { oldestBlock: "0x1", baseFeePerGas: ["0x1", "0x1"], gasUsedRatio: [0], reward: [] };

test(
  "a withdrawal and its charge are priced by the newest block while one of two nodes reports hardly any base fee",
  2,
  async (fronted) => {
    const { funded, nodes: [lying] } = fronted;
    lying.trick = ({ method }) => method === "eth_feeHistory" ? LOW : undefined;
    await refreshFees(funded.context);
    const id = await withdrawn(fronted, "1");
    equal((await funded.finish(id)).status, "DONE");
    const [order] = await rowsOf<Record<string, string>>(
      funded.realm,
      "select charged::text, fee::text, (select count(*) from order_attempts where order_id = id)::text as attempts from chain_orders where sender = $1",
      [funded.address],
    );
    equal(order.attempts, "1");
    ok(BigInt(order.fee) <= BigInt(order.charged), `${order.fee} of ${order.charged}`);
    await paid(fronted, 1n, 1n);
  },
);

test(
  "a price that one of two nodes reports far too low is bid anew once it reports the truth, within the charge",
  2,
  async (fronted) => {
    const { funded, nodes: [lying, other] } = fronted;
    // Neither shows the header of a block, which would prove the base fee.
    const hidden: Trick = ({ method }) => method === "eth_getBlockByHash" ? null : undefined;
    other.trick = hidden;
    lying.trick = (question) => question.method === "eth_feeHistory" ? LOW : hidden(question);
    const id = await withdrawn(fronted, "1");
    for (let round = 0; round < 2; round++) await funded.advance();
    const orders =
      "select state, error, charged::text, fee::text from chain_orders where sender = $1";
    const [before] = await rowsOf<Record<string, string>>(funded.realm, orders, [
      funded.address,
    ]);
    equal(before.state, "sent");
    match(before.error, /less than block base fee/);
    lying.trick = () => undefined;
    equal((await funded.finish(id)).status, "DONE");
    const [after] = await rowsOf<Record<string, string>>(funded.realm, orders, [
      funded.address,
    ]);
    equal(after.charged, before.charged);
    ok(BigInt(after.fee) <= BigInt(after.charged), `${after.fee} of ${after.charged}`);
    await paid(fronted, 1n, 1n);
  },
);

/** So many coins arrived outside, by so many transactions. */
async function paid(
  { funded, outside }: FrontedRamp,
  coins: bigint,
  transactions: bigint,
): Promise<void> {
  const read = async (method: string, of: string) =>
    BigInt(await funded.anvil.rpc<string>(method, of, "latest"));
  deepEqual(
    [await read("eth_getBalance", outside), await read("eth_getTransactionCount", funded.address)],
    [coins * ETHER, transactions],
  );
}
