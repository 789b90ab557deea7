/** A false report of a node on a payment is corrected once the node reports the truth: nothing is lost by it. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { CALLS, rich } from "../support/nodes/anvil.ts";
import { rowsOf } from "../support/realm.ts";
import { passOn, type Trick } from "../support/nodes/faulty_node.ts";
import {
  among,
  chainOf,
  depositsOf,
  retryDepositsNow,
  sharingNodes,
  type Witnessed,
} from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
/** More than may stay in dispute. */
const INVENTED = 100;
// deno-lint-ignore no-explicit-any
type Json = any;

const test = sharingNodes("payments that nodes report otherwise, make up or deny");

/** Tells another receiver of a payment. */
function diverts({ url }: Witnessed, hash: string, to: string): Trick {
  const other = (one: Json): Json => one.hash === hash ? { ...one, to: to.toLowerCase() } : one;
  return async (question) => {
    const { method, params } = question;
    const block = method === "eth_getBlockByNumber" && params[1] === true;
    if (!block && (method !== "eth_getTransactionByHash" || params[0] !== hash)) return undefined;
    const { result } = await passOn(url, question) as Json;
    if (!result) return null;
    return block ? { ...result, transactions: result.transactions.map(other) } : other(result);
  };
}

for (const nodes of ["l", "lh"]) {
  test(
    `a payment that one node reported with another receiver is credited to its own once the node reports the truth (nodes ${nodes})`,
    nodes,
    async (staged) => {
      const { fixture, lying } = staged;
      const [ramp, other] = [await fixture.ramp(), await fixture.ramp()];
      await fixture.mine(2);
      const hash = await fixture.anvil.pool({ to: ramp.address, value: ETHER });
      lying.trick = diverts(staged, hash, other.address);
      // Before it is deep enough a lie about it is a node's word against its own balances.
      await fixture.mine();
      lying.trick = () => undefined;
      for (let round = 0; round < 6; round++) {
        await retryDepositsNow(fixture);
        await fixture.mine();
      }
      const totals = await Promise.all(
        [ramp, other].map(async ({ id }) => (await fixture.account(id)).balance.total),
      );
      deepEqual(totals, ["1", "0"]);
      const rows = await depositsOf(staged, ramp, other);
      deepEqual(rows.map((row) => [row.hash, row.status]), [[hash, "CONFIRMED"]]);
    },
  );
}

test(
  "payments that one of two nodes makes up by the hundred hold up the chain visibly, and lose no other",
  "lh",
  async (staged) => {
    const { fixture, lying, url } = staged;
    const ramp = await fixture.ramp();
    await fixture.mine(2);
    const at = parseInt(await fixture.anvil.rpc<string>("eth_blockNumber"), 16) + 1;
    const height = `0x${at.toString(16)}`;
    const fakes = Array.from({ length: INVENTED }, (_, number) => ({
      hash: `0x${`${number}`.padStart(64, "a")}`,
      from: rich(4).address.toLowerCase(),
      to: ramp.address.toLowerCase(),
      value: "0x1",
      nonce: "0x9",
    }));
    lying.trick = async (question) => {
      const { method, params } = question;
      if (method === "eth_getBlockByNumber" && params[0] === height && params[1] === true) {
        const { result } = await passOn(url, question) as Json;
        return result && { ...result, transactions: [...result.transactions, ...fakes] };
      }
      const fake = fakes.find(({ hash }) => hash === params[0]);
      if (fake === undefined) return undefined;
      if (method === "eth_getTransactionByHash") return fake;
      const block = await fixture.anvil.rpc<Json>("eth_getBlockByNumber", height, false);
      return {
        ...{ transactionHash: fake.hash, blockHash: block.hash, blockNumber: height },
        ...{ from: fake.from, status: "0x1", gasUsed: "0x1", effectiveGasPrice: "0x1", logs: [] },
      };
    };
    await fixture.anvil.pool({ to: ramp.address, value: ETHER });
    for (let round = 0; round < 3; round++) await fixture.mine();
    const chain = await chainOf(fixture);
    equal(chain.healthy, false);
    match(chain.error, /contradict each other on too much/);
    ok(chain.lag > 0, `${chain.lag} blocks behind`);
    deepEqual(await depositsOf(staged, ramp), []);
    lying.trick = () => undefined;
    for (let round = 0; round < 4; round++) await fixture.mine();
    equal((await fixture.account(ramp.id)).balance.total, "1");
    deepEqual((await depositsOf(staged, ramp)).map((row) => row.status), ["CONFIRMED"]);
    equal((await chainOf(fixture)).lag, 0);
  },
);

/** Says of a payment that there is none: the first times, or always. */
function denies(hash: string, times = Infinity): Trick {
  let left = times;
  return ({ method, params }) =>
    method === "eth_getTransactionReceipt" && params[0] === hash && left-- > 0 ? null : undefined;
}

Deno.test("a deposit is given up once the quorum has denied it for long, however long nodes were out of reach before", async (t) => {
  const staged = await among("hh");
  const { fixture, nodes } = staged;
  const stateOf = async () => {
    const [{ status, few }] = await rowsOf<Json>(
      fixture.realm,
      "select status, tries < 8 as few from deposits",
    );
    return [status, few];
  };
  try {
    const ramp = await fixture.ramp();
    await fixture.mine(2);
    const hash = await fixture.anvil.pool({ to: ramp.address, value: ETHER });
    await fixture.mine();
    deepEqual(await stateOf(), ["PENDING", true]);
    const before = JSON.stringify({ code: "upstream.failed", detail: "nobody answers" });
    await rowsOf(
      fixture.realm,
      `update deposits set tries = 20, retry_at = now(), error = '${before}'`,
    );
    for (const node of nodes) node.trick = denies(hash);
    await fixture.mine();
    deepEqual(await stateOf(), ["PENDING", true]);
    await rowsOf(fixture.realm, "update deposits set tries = 8, retry_at = now()");
    await fixture.mine();
    deepEqual(await stateOf(), ["ORPHANED", false]);
    const again = async (tries: number) => {
      const due = "update deposits set retry_at = now() where retry_at is not null";
      await rowsOf(fixture.realm, due);
      await rowsOf(fixture.realm, `update deposits set tries = ${tries}`);
      await fixture.mine();
      const [row] = await rowsOf<Json>(
        fixture.realm,
        `select status, tries, error->>'detail' as why,
          round(extract(epoch from retry_at - now()) / 3600)::integer as hours from deposits`,
      );
      return row;
    };
    await t.step("it is asked for again, ever more rarely, and says so", async () => {
      for (const [tries, hours] of [[8, 1], [9, 2], [12, 16], [30, 24]]) {
        const row = await again(tries);
        deepEqual([row.status, row.tries, row.hours], ["ORPHANED", tries + 1, hours]);
        match(row.why, /deny it: it is asked for again/);
      }
      const last = await again(42);
      deepEqual([last.status, last.hours], ["ORPHANED", null]);
      match(last.why, /for a month: only a rescan/);
      // As if the month were not over.
      await rowsOf(fixture.realm, "update deposits set retry_at = now()");
    });
    await t.step("it is credited once when the nodes have it again", async () => {
      for (const node of nodes) node.trick = () => undefined;
      const { total } = (await fixture.account(ramp.id)).balance;
      equal(total, "0");
      for (let round = 0; round < 3; round++) await again(9);
      deepEqual((await fixture.deposits()).map(({ status, error }) => [status, error]), [
        ["CONFIRMED", null],
      ]);
      equal((await fixture.account(ramp.id)).balance.total, "1");
    });
  } finally {
    await staged.end();
  }
});

test(
  "payments out of one call that nodes deny for a moment are each recorded anew, and none in the place of another",
  "hh",
  async (staged) => {
    const { fixture, nodes } = staged;
    const ramps = [await fixture.ramp(), await fixture.ramp()];
    const batcher = await fixture.anvil.deploy("Batcher");
    await fixture.mine(2);
    const data = CALLS.encodeFunctionData("payCoin", [ramps.map((one) => one.address), ETHER]);
    const hash = await fixture.anvil.pool({ to: batcher, value: 2n * ETHER, data });
    await fixture.mine();
    deepEqual((await depositsOf(staged, ...ramps)).map((row) => [row.status, row.index]), [
      ["PENDING", -2],
      ["PENDING", -2],
    ]);
    for (const node of nodes) node.trick = denies(hash, 2);
    for (let round = 0; round < 3; round++) {
      await retryDepositsNow(fixture);
      await fixture.mine();
    }
    const totals = await Promise.all(
      ramps.map(async ({ id }) => (await fixture.account(id)).balance.total),
    );
    deepEqual(totals, ["1", "1"]);
  },
);
