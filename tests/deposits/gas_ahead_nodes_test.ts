/** Gas that is sent ahead behind several nodes, of which one lies about what it takes or what is there. */
import { deepEqual, ok } from "node:assert/strict";
import { among, type Witnessed } from "../support/witnesses.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;
/** So many runs of every job that is due: a node that was believed had gas sent in every sixth. */
const ROUNDS = 20;

/** A ramp with gas, and a deposit of a token that no gas was sent for yet. */
async function openTokenDeposit({ fixture }: Witnessed): Promise<{ id: string; address: string }> {
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(deposit.address, 25n * USDC);
  return deposit;
}

/** Lets all that is due be done, and blocks be mined. */
async function work({ fixture }: Witnessed): Promise<void> {
  const due = "update sweeps set updated_at = now() - interval '1 hour'";
  for (let round = 0; round < ROUNDS; round++) {
    await rowsOf(fixture.realm, "update jobs set run_at = now() where state = 'ready'");
    await rowsOf(fixture.realm, due);
    await fixture.mine();
  }
}

async function ordersOf({ fixture }: Witnessed): Promise<[purpose: string, state: string][]> {
  const rows = await rowsOf<{ purpose: string; state: string }>(
    fixture.realm,
    "select purpose, state from chain_orders order by id",
  );
  return rows.map(({ purpose, state }) => [purpose, state]);
}

for (const nodes of ["lhh", "hlh", "lh"]) {
  Deno.test(`a node that denies the gas sent ahead has it sent once (nodes ${nodes})`, async () => {
    const witnessed = await among(nodes, { testnet: false });
    try {
      const { address } = await openTokenDeposit(witnessed);
      const { lying } = witnessed;
      lying.trick = ({ method, params }) =>
        method === "eth_getBalance" && params[0] === address ? "0x0" : undefined;
      await work(witnessed);
      const sent = await ordersOf(witnessed);
      if (nodes === "lh") deepEqual(sent, [["gas", "done"]], "nobody knows which of two is right");
      lying.trick = () => undefined;
      await work(witnessed);
      deepEqual(await ordersOf(witnessed), [["gas", "done"], ["sweep", "done"]]);
    } finally {
      await witnessed.end();
    }
  });
}

Deno.test("a node that tells of gas at a deposit address where none is does not keep it from being sent", async () => {
  const witnessed = await among("lhh", { testnet: false });
  try {
    const { address } = await openTokenDeposit(witnessed);
    witnessed.lying.trick = ({ method, params }) =>
      method === "eth_getBalance" && params[0] === address ? "0xde0b6b3a7640000" : undefined;
    await work(witnessed);
    witnessed.lying.trick = () => undefined;
    await work(witnessed);
    deepEqual(await ordersOf(witnessed), [["gas", "done"], ["sweep", "done"]]);
  } finally {
    await witnessed.end();
  }
});

Deno.test("a node that counts far too much gas for a sweep has no more sent ahead", async () => {
  const witnessed = await among("lhh", { testnet: false });
  try {
    await openTokenDeposit(witnessed);
    const { fixture, lying } = witnessed;
    lying.trick = ({ method }) => method === "eth_estimateGas" ? "0xd0000" : undefined;
    await work(witnessed);
    const [gas, sweep] = await rowsOf<{ state: string; amount: string; fee: string }>(
      fixture.realm,
      "select state, amount::text as amount, fee::text as fee from chain_orders order by id",
    );
    deepEqual([gas.state, sweep.state], ["done", "done"]);
    ok(BigInt(gas.amount) < 4n * BigInt(sweep.fee), `${gas.amount} for ${sweep.fee}`);
  } finally {
    await witnessed.end();
  }
});

Deno.test("a node that tells of more coins than a deposit address holds has no sweep signed that nobody could pay for", async () => {
  const witnessed = await among("lhh", { testnet: false });
  try {
    const { fixture, lying } = witnessed;
    const ramp = await fixture.ramp();
    const { address } = await fixture.address(ramp.id);
    await fixture.anvil.pool({ to: address, value: ETHER });
    lying.trick = ({ method, params }) =>
      method === "eth_getBalance" && params[0] === address ? "0x8ac7230489e80000" : undefined;
    await work(witnessed);
    deepEqual(await ordersOf(witnessed), [["sweep", "done"]]);
  } finally {
    await witnessed.end();
  }
});
