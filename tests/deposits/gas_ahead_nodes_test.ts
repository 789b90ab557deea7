/** Gas that is sent ahead behind several nodes, of which one lies about what it takes or what is there. */
import { deepEqual, ok } from "node:assert/strict";
import { sharingNodes, type Witnessed } from "../support/witnesses.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;
/** So many runs of every job that is due under a lie: a node that was believed had gas sent in every sixth. */
const ROUNDS = 14;
/** So many after which all must have come to its end. */
const ROUNDS_MAX = 20;

const test = sharingNodes("gas that is sent ahead behind several nodes", { testnet: false });

/** Who sends: a ramp, and a deposit address. */
interface Senders {
  ramp: string;
  address: string;
}

/** A ramp with gas, and a deposit of a token that no gas was sent for yet. */
async function openTokenDeposit({ fixture }: Witnessed): Promise<Senders> {
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(deposit.address, 25n * USDC);
  return { ramp: ramp.address, address: deposit.address };
}

/** Lets all that is due be done, and a block be mined. */
async function step({ fixture }: Witnessed): Promise<void> {
  const due = "update sweeps set updated_at = now() - interval '1 hour'";
  await rowsOf(fixture.realm, "update jobs set run_at = now() where state = 'ready'");
  await rowsOf(fixture.realm, due);
  await fixture.mine();
}

/** Works for as long as a node that is believed would have gas, or coins that are not there, sent twice. */
async function work(witnessed: Witnessed): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await step(witnessed);
}

/** Works until a sweep is done, and a little longer. */
async function swept(witnessed: Witnessed, by: Senders): Promise<void> {
  for (let [round, more] = [0, 2]; round < ROUNDS_MAX && more > 0; round++) {
    await step(witnessed);
    const orders = await ordersOf(witnessed, by);
    if (orders.some(([purpose, state]) => purpose === "sweep" && state === "done")) more--;
  }
}

async function ordersOf(
  { fixture }: Witnessed,
  { ramp, address }: Senders,
): Promise<[purpose: string, state: string][]> {
  const rows = await rowsOf<{ purpose: string; state: string }>(
    fixture.realm,
    "select purpose, state from chain_orders where sender in ($1, $2) order by id",
    [ramp, address],
  );
  return rows.map(({ purpose, state }) => [purpose, state]);
}

for (const nodes of ["lhh", "hlh", "lh"]) {
  test(
    `a node that denies the gas sent ahead has it sent once (nodes ${nodes})`,
    nodes,
    async (witnessed) => {
      const by = await openTokenDeposit(witnessed);
      const { address } = by;
      const { lying } = witnessed;
      lying.trick = ({ method, params }) =>
        method === "eth_getBalance" && params[0] === address ? "0x0" : undefined;
      await work(witnessed);
      const sent = await ordersOf(witnessed, by);
      if (nodes === "lh") deepEqual(sent, [["gas", "done"]], "nobody knows which of two is right");
      lying.trick = () => undefined;
      await swept(witnessed, by);
      deepEqual(await ordersOf(witnessed, by), [["gas", "done"], ["sweep", "done"]]);
    },
  );
}

test(
  "a node that tells of gas at a deposit address where none is does not keep it from being sent",
  "lhh",
  async (witnessed) => {
    const by = await openTokenDeposit(witnessed);
    const { address } = by;
    witnessed.lying.trick = ({ method, params }) =>
      method === "eth_getBalance" && params[0] === address ? "0xde0b6b3a7640000" : undefined;
    await work(witnessed);
    witnessed.lying.trick = () => undefined;
    await swept(witnessed, by);
    deepEqual(await ordersOf(witnessed, by), [["gas", "done"], ["sweep", "done"]]);
  },
);

test(
  "a node that counts far too much gas for a sweep has no more sent ahead",
  "lhh",
  async (witnessed) => {
    const by = await openTokenDeposit(witnessed);
    const { fixture, lying } = witnessed;
    lying.trick = ({ method }) => method === "eth_estimateGas" ? "0xd0000" : undefined;
    await swept(witnessed, by);
    const [gas, sweep] = await rowsOf<{ state: string; amount: string; fee: string }>(
      fixture.realm,
      "select state, amount::text as amount, fee::text as fee from chain_orders where sender in ($1, $2) order by id",
      [by.ramp, by.address],
    );
    deepEqual([gas.state, sweep.state], ["done", "done"]);
    ok(BigInt(gas.amount) < 4n * BigInt(sweep.fee), `${gas.amount} for ${sweep.fee}`);
  },
);

test(
  "a node that tells of more coins than a deposit address holds has no sweep signed that nobody could pay for",
  "lhh",
  async (witnessed) => {
    const { fixture, lying } = witnessed;
    const ramp = await fixture.ramp();
    const { address } = await fixture.address(ramp.id);
    const by = { ramp: ramp.address, address };
    await fixture.anvil.pool({ to: address, value: ETHER });
    lying.trick = ({ method, params }) =>
      method === "eth_getBalance" && params[0] === address ? "0x8ac7230489e80000" : undefined;
    await work(witnessed);
    deepEqual(await ordersOf(witnessed, by), [["sweep", "done"]]);
  },
);
