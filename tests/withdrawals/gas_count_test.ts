/** Payments that run code, behind several nodes of which one miscounts the gas. */
import { equal } from "node:assert/strict";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import type { Trick } from "../support/nodes/faulty_node.ts";
import { mineUntil } from "../support/ramp_fixture.ts";
import { installToken } from "../support/token_contracts.ts";
import { among, type Witnessed } from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;
/** Enough for the bytes of a transfer, and for nothing that it does. */
const FEW: Trick = ({ method }) => method === "eth_estimateGas" ? "0x6400" : undefined;

/** A ramp that holds 100 of its asset, and gas. */
async function openRamp({ fixture }: Witnessed, asset: "ETH" | "USDC"): Promise<string> {
  const { anvil, realm } = fixture;
  const token = asset === "ETH" ? null : await installToken(anvil, asset);
  const ramp = await fixture.ramp(asset);
  await anvil.pool({ to: ramp.address, value: 100n * ETHER });
  await token?.pay(ramp.address, 100n * USDC);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "100");
  const context = await workerContextOf(realm);
  await refreshFees(context);
  context.chains.close();
  return ramp.id;
}

async function withdraw({ fixture }: Witnessed, account: string, address: string) {
  const asked = { source: { account }, destination: { address }, value: "10" };
  const made = await fixture.realm.admin.send("POST", "/v1/withdrawals", asked);
  equal(made.status, 201, made.text);
  return made.body.id as string;
}

async function read({ fixture }: Witnessed, id: string) {
  return (await fixture.realm.admin.send("GET", `/v1/withdrawals/${id}`)).body;
}

async function ended(witnessed: Witnessed, id: string): Promise<string> {
  await mineUntil(
    witnessed.fixture,
    async () => (await read(witnessed, id)).status !== "PROCESSING",
  );
  return (await read(witnessed, id)).status;
}

Deno.test("one node of three that counts too little gas makes no token payment fail", async () => {
  const witnessed = await among("lhh", { testnet: false });
  try {
    const ramp = await openRamp(witnessed, "USDC");
    witnessed.lying.trick = FEW;
    const id = await withdraw(witnessed, ramp, OUTSIDE);
    equal(await ended(witnessed, id), "DONE");
  } finally {
    await witnessed.end();
  }
});

Deno.test("one node of three that counts too little gas makes no payment of coins fail to a contract that it hides", async () => {
  const witnessed = await among("lhh", { testnet: false });
  try {
    const ramp = await openRamp(witnessed, "ETH");
    const contract = await witnessed.fixture.anvil.deploy("Batcher");
    await witnessed.fixture.mine(2);
    witnessed.lying.trick = ({ method }) => method === "eth_getCode" ? "0x" : undefined;
    const id = await withdraw(witnessed, ramp, contract);
    equal(await ended(witnessed, id), "DONE");
  } finally {
    await witnessed.end();
  }
});

Deno.test("a token's payment on whose gas two nodes disagree waits, unsigned, until they agree", async () => {
  const witnessed = await among("lh", { testnet: false });
  try {
    const ramp = await openRamp(witnessed, "USDC");
    witnessed.lying.trick = FEW;
    const id = await withdraw(witnessed, ramp, OUTSIDE);
    const reasons = async () =>
      (await read(witnessed, id)).history.map(({ reason }: { reason?: string }) => reason);
    await mineUntil(
      witnessed.fixture,
      async () => (await reasons()).some((one: string) => /do not agree/.test(one)),
    );
    equal((await read(witnessed, id)).chain, undefined);
    witnessed.lying.trick = () => undefined;
    equal(await ended(witnessed, id), "DONE");
  } finally {
    await witnessed.end();
  }
});
