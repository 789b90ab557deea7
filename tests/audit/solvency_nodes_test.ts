/** Chain and ledger are compared behind several nodes, of which one lies about what the ramp holds. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { mineUntil } from "../support/ramp_fixture.ts";
import { among, type Witnessed } from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
const toHex = (units: bigint) => `0x${units.toString(16)}`;

/** A ramp that is owed what it holds. */
async function openRamp({ fixture }: Witnessed): Promise<string> {
  const { id, address } = await fixture.ramp();
  await fixture.anvil.pool({ to: address, value: 5n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(id)).balance.total === "5");
  return address;
}

/** Compares at each of the next blocks, as many as there are nodes: each is asked first once. */
async function compareAtEach(
  { fixture, nodes }: Witnessed,
): Promise<{ drift: string; stopped: boolean }[]> {
  const context = await workerContextOf(fixture.realm);
  const told: { drift: string; stopped: boolean }[] = [];
  for (const _ of nodes) {
    await fixture.mine();
    await checkSolvency({ ...context, actor: { ...context.actor, at: Date.now() } });
    const { body: [one] } = await fixture.realm.admin.send("GET", "/v1/solvency");
    if (one !== undefined) told.push({ drift: one.drift, stopped: !one.solvent });
  }
  context.chains.close();
  return told;
}

for (const units of [4n * ETHER, 6n * ETHER]) {
  Deno.test(`a balance that one node of three tells alone stops no withdrawals, and is no surplus (${units / ETHER} of 5)`, async () => {
    const witnessed = await among("lhh");
    try {
      const address = await openRamp(witnessed);
      witnessed.lying.trick = ({ method, params }) =>
        method === "eth_getBalance" && params[0] === address ? toHex(units) : undefined;
      const told = await compareAtEach(witnessed);
      ok(told.length > 0);
      deepEqual(told, told.map(() => ({ drift: "0", stopped: false })));
    } finally {
      await witnessed.end();
    }
  });
}

for (const nodes of ["lh", "hl", "lhh", "hlh"]) {
  Deno.test(`a balance that one node tells while another is away stops no withdrawals (nodes ${nodes})`, async () => {
    const witnessed = await among(nodes);
    try {
      const address = await openRamp(witnessed);
      witnessed.lying.trick = ({ method, params }) =>
        method === "eth_getBalance" && params[0] === address ? toHex(4n * ETHER) : undefined;
      // Blocks are read: only balances are not told.
      witnessed.nodes.find((one) => one !== witnessed.lying)!.trick = ({ method }) =>
        method === "eth_getBalance" ? new Response("busy", { status: 503 }) : undefined;
      const told = await compareAtEach(witnessed);
      deepEqual(told.filter(({ stopped }) => stopped), []);
    } finally {
      await witnessed.end();
    }
  });
}

Deno.test("a loss that one node of three hides is seen by the others", async () => {
  const witnessed = await among("lhh");
  try {
    const address = await openRamp(witnessed);
    witnessed.lying.trick = ({ method, params }) =>
      method === "eth_getBalance" && params[0] === address ? toHex(5n * ETHER) : undefined;
    await witnessed.fixture.anvil.rpc("anvil_setBalance", address, toHex(3n * ETHER));
    const told = await compareAtEach(witnessed);
    equal(told.some(({ drift, stopped }) => drift === "-2" && stopped), true, JSON.stringify(told));
  } finally {
    await witnessed.end();
  }
});

Deno.test("that a chain cannot be asked is logged once, and so is that it can be asked again", async () => {
  const witnessed = await among("l");
  const { fixture, lying } = witnessed;
  try {
    await openRamp(witnessed);
    let isAway = false;
    lying.trick = ({ method }) =>
      isAway && method === "eth_getBalance" ? new Response("busy", { status: 503 }) : undefined;
    const context = await workerContextOf(fixture.realm);
    const said: string[] = [];
    const log = (_level: string, message: string) => void said.push(message.split(":")[0]);
    for (const away of [true, true, true, false, false, true, true]) {
      isAway = away;
      await fixture.mine();
      await checkSolvency({ ...context, log, actor: { ...context.actor, at: Date.now() } });
    }
    context.chains.close();
    const [no, yes] = ["solvency not compared", "solvency is compared again"];
    deepEqual(said.filter((message) => message.startsWith("solvency")), [no, yes, no]);
  } finally {
    await witnessed.end();
  }
});
