/** Deposits of a token behind one node that tells its logs otherwise than they were written. */
import { deepEqual } from "node:assert/strict";
import { passOn, type Question } from "../support/nodes/faulty_node.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";
import { retryDepositsNow, sharingNodes, type Witnessed } from "../support/witnesses.ts";

// deno-lint-ignore no-explicit-any
type Json = any;
const USDC = 10n ** 6n;
const RAISED = `0x${(4000n * USDC).toString(16).padStart(64, "0")}`;

const test = sharingNodes("deposits of a token whose logs a node tells otherwise", {
  testnet: false,
});

/** A deposit account of USDC, and the node that stands before the real one. */
async function openDeposit(witnessed: Witnessed) {
  const { fixture } = witnessed;
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  return { token, account: await fixture.address(ramp.id) };
}

/** Has the node change what the real one says of one method. */
function retell({ lying, url }: Witnessed, method: string, change: (result: Json) => Json): void {
  lying.trick = async (question: Question) => {
    if (question.method !== method) return undefined;
    const { result } = await passOn(url, question) as Json;
    return result === null ? null : change(result);
  };
}

async function credited(
  { fixture }: Witnessed,
  account: string,
): Promise<[amount: string, status: string][]> {
  for (let round = 0; round < 4; round++) {
    await retryDepositsNow(fixture);
    await fixture.mine();
  }
  const rows = await rowsOf<{ credited: string; status: string }>(
    fixture.realm,
    "select trim_scale(credited)::text as credited, status from deposits where account = $1 order by id",
    [account],
  );
  return rows.map((one) => [one.credited, one.status]);
}

test(
  "an amount that the only node raises in a receipt is not credited, and the true one is once it tells it",
  "l",
  async (witnessed) => {
    const { token, account } = await openDeposit(witnessed);
    retell(witnessed, "eth_getTransactionReceipt", (receipt) => ({
      ...receipt,
      logs: receipt.logs.map((log: Json) => ({ ...log, data: RAISED })),
    }));
    await token.pay(account.address, 100n * USDC);
    deepEqual((await credited(witnessed, account.id)).map(([, status]) => status), ["PENDING"]);
    witnessed.lying.trick = () => undefined;
    deepEqual(await credited(witnessed, account.id), [["100", "CONFIRMED"]]);
  },
);

test("a log that a receipt repeats is credited once", "l", async (witnessed) => {
  const { token, account } = await openDeposit(witnessed);
  retell(witnessed, "eth_getTransactionReceipt", (receipt) => ({
    ...receipt,
    logs: [...receipt.logs, ...receipt.logs],
  }));
  await token.pay(account.address, 100n * USDC);
  deepEqual(await credited(witnessed, account.id), [["100", "CONFIRMED"]]);
});

test(
  "a repeated log of a receipt under a number of its own is credited to nobody",
  "l",
  async (witnessed) => {
    const { token, account } = await openDeposit(witnessed);
    retell(witnessed, "eth_getTransactionReceipt", (receipt) => ({
      ...receipt,
      logs: receipt.logs.flatMap((log: Json) => [log, { ...log, logIndex: "0x7f" }]),
    }));
    await token.pay(account.address, 100n * USDC);
    deepEqual((await credited(witnessed, account.id)).map(([, status]) => status), [
      "PENDING",
      "PENDING",
    ]);
    witnessed.lying.trick = () => undefined;
    deepEqual((await credited(witnessed, account.id))[0], ["100", "CONFIRMED"]);
  },
);

test(
  "logs of a block that a node lists twice leave nothing of a deposit out",
  "l",
  async (witnessed) => {
    const { token, account } = await openDeposit(witnessed);
    retell(witnessed, "eth_getLogs", (logs) => [...logs, ...logs]);
    await token.pay(account.address, 100n * USDC);
    deepEqual(await credited(witnessed, account.id), [["100", "CONFIRMED"]]);
  },
);
