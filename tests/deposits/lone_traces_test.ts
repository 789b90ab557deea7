/** Calls that one node alone traces: what it invents is credited to nobody, and hides nothing. */
import { deepEqual } from "node:assert/strict";
import { CALLS } from "../support/nodes/anvil.ts";
import { NodeError } from "../support/nodes/faulty_node.ts";
import { driftsOf } from "../support/ramp_fixture.ts";
import {
  depositsOf,
  retryDepositsNow,
  sharingNodes,
  type Witnessed,
} from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
const PAYER = "0x0000000000000000000000000000000000000004";
const toHex = (units: bigint) => `0x${units.toString(16)}`;

const test = sharingNodes("calls that one of three nodes traces alone, leaves out or invents");

/** Only the lying node offers traces. */
function untrace({ nodes, lying }: Witnessed): void {
  for (const one of nodes) {
    if (one === lying) continue;
    one.trick = ({ method }) => {
      if (method.startsWith("debug_")) throw new NodeError(-32601, "the method does not exist");
    };
  }
}

/** A trace by which a transaction paid one coin inside a call. */
function callTo(address: string) {
  return {
    ...{ type: "CALL", from: address, to: address, value: "0x0" },
    calls: [{ type: "CALL", from: PAYER, to: address, value: toHex(ETHER) }],
  };
}

/** A contract that pays one coin to an address when it is called. */
async function openPayer({ fixture }: Witnessed) {
  const ramp = await fixture.ramp();
  const one = await fixture.address(ramp.id);
  const batcher = await fixture.anvil.deploy("Batcher");
  await fixture.mine(2);
  const data = CALLS.encodeFunctionData("payCoin", [[one.address], ETHER]);
  return { one, pay: () => fixture.anvil.pool({ to: batcher, value: ETHER, data }) };
}

/** What was credited to an account, deposit by deposit; a sweep may have moved it on since. */
async function creditedIn(witnessed: Witnessed, account: string): Promise<string[]> {
  const rows = await depositsOf(witnessed, { id: account });
  return rows.filter(({ status }) => status === "CONFIRMED").map(({ credited }) => credited);
}

/** Nodes deny a call eight times before it is given up; what is waiting is asked for in each round. */
const DENIED_ROUNDS = 12;

async function settled({ fixture }: Witnessed, rounds = DENIED_ROUNDS): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await retryDepositsNow(fixture);
    await fixture.mine();
  }
}

/** Settles until no deposit of an account waits any more. */
async function decided(witnessed: Witnessed, account: string): Promise<void> {
  for (let round = 0; round < 2 * DENIED_ROUNDS; round++) {
    await settled(witnessed, 1);
    const rows = await depositsOf(witnessed, { id: account });
    if (rows.length > 0 && rows.every(({ status }) => status !== "PENDING")) return;
  }
}

for (const nodes of ["lhh", "hlh", "hhl"]) {
  test(
    `a payment is not credited again as a call that one node invents beside it (nodes ${nodes})`,
    nodes,
    async (witnessed) => {
      const { fixture, lying } = witnessed;
      const { anvil } = fixture;
      untrace(witnessed);
      const ramp = await fixture.ramp();
      const one = await fixture.address(ramp.id);
      await fixture.mine(2);
      const hash = await anvil.send({ to: one.address, value: ETHER });
      const frame = callTo(one.address);
      const height = BigInt(await anvil.rpc<string>("eth_blockNumber"));
      lying.trick = async ({ method, params }) => {
        if (method === "debug_traceTransaction") return params[0] === hash ? frame : undefined;
        if (method === "debug_traceBlockByHash") return [{ txHash: hash, result: frame }];
        // What it tells of the balance has the calls searched.
        if (method !== "eth_getBalance" || params[0] !== one.address) return undefined;
        const late = typeof params[1] === "string" && params[1].startsWith("0x") &&
          BigInt(params[1]) >= height;
        const told = BigInt(await anvil.rpc<string>(method, ...params));
        return late ? toHex(told + ETHER) : undefined;
      };
      await settled(witnessed);
      lying.trick = () => undefined;
      await settled(witnessed, 3);
      deepEqual(await creditedIn(witnessed, one.id), ["1"]);
      deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
    },
  );
}

for (const nodes of ["lhh", "hlh", "hhl"]) {
  test(
    `calls that one node leaves out or invents hide none that others trace (nodes ${nodes})`,
    nodes,
    async (witnessed) => {
      const { fixture, lying } = witnessed;
      const { anvil } = fixture;
      const { one, pay } = await openPayer(witnessed);
      for (const lie of ["nothing", "another"]) {
        await pay();
        const other = await anvil.pool({ to: PAYER, value: 1n });
        lying.trick = ({ method, params }) => {
          if (method === "debug_traceTransaction" && params[0] === other) {
            return callTo(one.address);
          }
          if (method !== "debug_traceBlockByHash") return undefined;
          return lie === "nothing" ? [] : [{ txHash: other, result: callTo(one.address) }];
        };
        await fixture.mine();
        // What is left out is traced by others at once; what is invented is denied again and again.
        if (lie === "nothing") await decided(witnessed, one.id);
        await settled(witnessed, lie === "nothing" ? 2 : DENIED_ROUNDS);
        lying.trick = () => undefined;
      }
      deepEqual(
        (await depositsOf(witnessed, one)).map((row) => [row.status, row.index, row.amount]),
        [["CONFIRMED", -2, "1"], ["CONFIRMED", -2, "1"]],
      );
      deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
    },
  );

  test(
    `coins of one call are credited once, although the one node with traces tells two (nodes ${nodes})`,
    nodes,
    async (witnessed) => {
      const { fixture, lying } = witnessed;
      const { anvil } = fixture;
      untrace(witnessed);
      const { one, pay } = await openPayer(witnessed);
      const hash = await pay();
      const other = await anvil.pool({ to: PAYER, value: 1n });
      const told = [hash, other].map((txHash) => ({ txHash, result: callTo(one.address) }));
      lying.trick = ({ method }) => {
        if (method === "debug_traceTransaction") return callTo(one.address);
        return method === "debug_traceBlockByHash" ? told : undefined;
      };
      await fixture.mine();
      await decided(witnessed, one.id); // the other is given up, once nodes denied it again and again
      await settled(witnessed, 3);
      deepEqual(await creditedIn(witnessed, one.id), ["1"]);
      deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
    },
  );
}
