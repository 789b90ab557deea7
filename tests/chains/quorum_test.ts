/** Quorum: the report of a single node neither credits nor hides a deposit. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { rich } from "../support/nodes/anvil.ts";
import { rowsOf } from "../support/realm.ts";
import { passOn, type Question, type Trick } from "../support/nodes/faulty_node.ts";
import {
  among,
  chainOf,
  retryDepositsNow,
  sharingNodes,
  type Witnessed,
} from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
const FAKE = `0x${"ab".repeat(32)}`;
// deno-lint-ignore no-explicit-any
type Json = any;

const test = sharingNodes("deposits that one of several nodes reports otherwise");

/** Invents a payment of 777 ETH in the next block. */
async function invention({ fixture, url }: Witnessed, to: string) {
  const at = parseInt(await fixture.anvil.rpc<string>("eth_blockNumber"), 16) + 1;
  const height = `0x${at.toString(16)}`;
  const fake = {
    hash: FAKE,
    from: rich(4).address.toLowerCase(),
    to: to.toLowerCase(),
    value: `0x${(777n * ETHER).toString(16)}`,
    nonce: "0x9",
  };
  const trick: Trick = async (question) => {
    const { method, params } = question;
    if (method === "eth_getBlockByNumber" && params[0] === height && params[1] === true) {
      const { result } = await passOn(url, question) as Json;
      return result && { ...result, transactions: [...result.transactions, fake] };
    }
    if (params[0] !== FAKE) return undefined;
    if (method === "eth_getTransactionByHash") return fake;
    if (method !== "eth_getTransactionReceipt") return undefined;
    const block = await fixture.anvil.rpc<Json>("eth_getBlockByNumber", height, false);
    return block && {
      ...{ transactionHash: FAKE, blockHash: block.hash, blockNumber: height, from: fake.from },
      ...{ status: "0x1", gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: [] },
    };
  };
  return trick;
}

for (const nodes of ["lh", "hl", "lhh", "hhl", "l"]) {
  Deno.test(`a deposit that one node invents is not credited (nodes ${nodes})`, async () => {
    const staged = await among(nodes);
    const { fixture, lying } = staged;
    try {
      const ramp = await fixture.ramp();
      await fixture.mine(2);
      lying.trick = await invention(staged, ramp.address);
      // An honest payment in the same block must not lend its balance to the invented one.
      await fixture.anvil.pool({ to: ramp.address, value: ETHER });
      for (let round = 0; round < 5; round++) {
        await fixture.mine();
        await retryDepositsNow(fixture);
      }
      await fixture.mine();
      const { total } = (await fixture.account(ramp.id)).balance;
      const fakes = (await fixture.deposits()).filter((row) => row.hash === FAKE);
      ok(fakes.every((row) => row.status === "PENDING"));
      if (nodes === "l") {
        // One node is all there is, but its own balances contradict it.
        equal(fakes.length, 1);
        match(fakes[0].error.detail, /does not bear out/);
        equal((await chainOf(fixture)).healthy, false);
      } else {
        equal(total, "1");
      }
      ok(total === "0" || total === "1");
      if (fakes.length > 0 && nodes === "lh") {
        match(fakes[0].error.detail, /1 of 2 nodes confirm/);
        const chain = await chainOf(fixture);
        deepEqual([chain.healthy, chain.nodes, chain.quorum], [false, 2, 2]);
        match(chain.error, /1 deposits wait until enough nodes confirm them/);
      }
    } finally {
      await staged.end();
    }
  });
}

for (const nodes of ["lhh", "hlh", "hhl"]) {
  test(
    `a deposit that one node of three keeps back is credited (nodes ${nodes})`,
    nodes,
    async (staged) => {
      const { fixture, lying, url } = staged;
      const ramp = await fixture.ramp();
      await fixture.mine(2);
      const hash = await fixture.anvil.pool({ to: ramp.address, value: ETHER });
      lying.trick = withholds(url, hash, ramp.address);
      const total = async () => (await fixture.account(ramp.id)).balance.total;
      for (let round = 0; round < 10 && await total() === "0"; round++) {
        await fixture.mine();
        await retryDepositsNow(fixture);
      }
      await fixture.mine();
      equal(await total(), "1");
    },
  );
}

/** A node that reports neither a payment nor the balance that the payment made. */
function withholds(url: string, hash: string, address: string): Trick {
  return async (question: Question) => {
    const { method, params } = question;
    if (params[0] === hash) return null;
    if (method === "eth_getBalance" && String(params[0]).toLowerCase() === address.toLowerCase()) {
      return "0x0";
    }
    if (method !== "eth_getBlockByNumber" || params[1] !== true) return undefined;
    const { result } = await passOn(url, question) as Json;
    if (!result) return null;
    const transactions = result.transactions.filter((one: Json) => one.hash !== hash);
    return { ...result, transactions };
  };
}

Deno.test("a deposit that one node of two keeps back is found through the other, and waits visibly", async () => {
  const staged = await among("lh");
  const { fixture, lying, url } = staged;
  try {
    const ramp = await fixture.ramp();
    await fixture.mine(2);
    const hash = await fixture.anvil.pool({ to: ramp.address, value: ETHER });
    lying.trick = withholds(url, hash, ramp.address);
    for (let round = 0; round < 8; round++) {
      await fixture.mine();
      await retryDepositsNow(fixture);
    }
    const [row] = await fixture.deposits();
    equal(row.status, "PENDING");
    match(row.error.detail, /1 of 2 nodes confirm/);
    equal((await chainOf(fixture)).healthy, false);
    lying.trick = () => undefined;
    await retryDepositsNow(fixture);
    // It is recorded as both tell it, and then credited.
    await fixture.mine(2);
    await fixture.mine();
    equal((await fixture.account(ramp.id)).balance.total, "1");
    equal((await fixture.deposits())[0].error, null);
    // While one node alone reported the payment, it alone reported the sender too.
    const senders = await rowsOf<{ sender: string }>(fixture.realm, "select sender from deposits");
    deepEqual(senders.map(({ sender }) => sender), [rich(0).address]);
  } finally {
    await staged.end();
  }
});

for (const nodes of ["lh", "lhh"]) {
  test(
    `an amount that one node distorts is credited as the quorum reports it, and delays no other (nodes ${nodes})`,
    nodes,
    async (staged) => {
      const { fixture, lying, url } = staged;
      const [ramp, other] = [await fixture.ramp(), await fixture.ramp()];
      await fixture.mine(2);
      const hash = await fixture.anvil.pool({ to: ramp.address, value: ETHER });
      await fixture.anvil.pool({ from: 4, to: other.address, value: ETHER });
      // The lying node answers first.
      for (const one of staged.nodes) {
        one.trick = async ({ method }) => {
          if (method === "eth_getBlockByNumber") await new Promise((done) => setTimeout(done, 200));
          return undefined;
        };
      }
      lying.trick = diminishes(url, hash);
      await fixture.mine();
      for (const one of staged.nodes) one.trick = () => undefined;
      for (let round = 0; round < 8; round++) {
        await fixture.mine();
        await retryDepositsNow(fixture);
      }
      const totals = await Promise.all(
        [ramp, other].map(async ({ id }) => (await fixture.account(id)).balance.total),
      );
      deepEqual(totals, ["1", "1"]);
    },
  );
}

/** A node that tells less of a payment. */
function diminishes(url: string, hash: string): Trick {
  const less = (one: Json): Json => one.hash === hash ? { ...one, value: "0x1" } : one;
  return async (question: Question) => {
    const { method, params } = question;
    const block = method === "eth_getBlockByNumber" && params[1] === true;
    if (!block && (method !== "eth_getTransactionByHash" || params[0] !== hash)) return undefined;
    const { result } = await passOn(url, question) as Json;
    if (!result) return null;
    return block ? { ...result, transactions: result.transactions.map(less) } : less(result);
  };
}

Deno.test("a head too far ahead of the time is not believed", async () => {
  const staged = await among("l");
  const { fixture, lying, url } = staged;
  try {
    await fixture.ramp();
    await fixture.mine(2);
    lying.trick = async (question) => {
      if (question.params[0] !== "latest" || question.method !== "eth_getBlockByNumber") return;
      const { result } = await passOn(url, question) as Json;
      return { ...result, number: "0xfffffff" };
    };
    await fixture.mine();
    match((await chainOf(fixture)).error, /blocks ahead of the last/);
    lying.trick = async (question) => {
      if (question.params[0] !== "latest" || question.method !== "eth_getBlockByNumber") return;
      const { result } = await passOn(url, question) as Json;
      return { ...result, timestamp: "0xffffffff" };
    };
    await fixture.mine();
    match((await chainOf(fixture)).error, /of the future/);
    lying.trick = () => undefined;
    await fixture.mine();
    equal((await chainOf(fixture)).error, null);
  } finally {
    await staged.end();
  }
});

test("of three nodes one that shows another height changes nothing", "lhh", async (staged) => {
  const { fixture, lying, url } = staged;
  for (const shift of [-3, 1000]) {
    const ramp = await fixture.ramp();
    await fixture.mine(5);
    lying.trick = async (question) => {
      if (question.method === "eth_blockNumber") {
        const { result } = await passOn(url, question) as Json;
        return `0x${(parseInt(result, 16) + shift).toString(16)}`;
      }
      if (question.params[0] !== "latest" || question.method !== "eth_getBlockByNumber") return;
      const { result } = await passOn(url, question) as Json;
      return { ...result, number: `0x${(parseInt(result.number, 16) + shift).toString(16)}` };
    };
    await fixture.anvil.pool({ to: ramp.address, value: ETHER });
    await fixture.mine();
    // Not as deep as it must be, whatever the lying node says.
    equal((await fixture.account(ramp.id)).balance.total, "0");
    await fixture.mine();
    await fixture.mine();
    equal((await fixture.account(ramp.id)).balance.total, "1");
  }
});
