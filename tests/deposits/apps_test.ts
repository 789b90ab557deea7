import { deepEqual, equal, match } from "node:assert/strict";
import { driftsOf, mineUntil } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken, type TestToken } from "../support/token_contracts.ts";
import { sharingNodes, type Witnessed } from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

const test = sharingNodes("deposit applications whose token turned bad", { testnet: false });

/** A deposit application for USDC whose deposits cannot be carried on. */
interface Broken {
  fixture: Witnessed["fixture"];
  id: string;
  token: TestToken;
  target: string;
  address: string;
  // deno-lint-ignore no-explicit-any
  read(): Promise<any>;
  /** The token is honest again. */
  mend(): Promise<void>;
}

test(
  "an application whose deposit cannot go on is FAILED with the reason, and nothing is lost",
  "h",
  async ({ fixture: shared }) => {
    const broken = await openBroken(shared, "Liar");
    const app = await broken.read();
    deepEqual([app.status, app.error.code], ["FAILED", "upstream.failed"]);
    equal(app.error.detail, "the token moved nothing");
    equal(app.deposits.length, 1);
    const { fixture } = broken;
    const query = encodeURIComponent(JSON.stringify({ account: app.source.account }));
    const [deposit] =
      (await fixture.realm.admin.send("GET", `/v1/deposits/all?query=${query}`)).body;
    deepEqual([deposit.status, deposit.amount], ["CONFIRMED", "10"]);
    equal((await fixture.account(app.source.account)).balance.total, "10");
    equal((await fixture.account(broken.target)).balance.total, "0");
  },
);

test(
  "a transfer that the node refuses is FAILED before anything is spent on it",
  "h",
  async ({ fixture: shared }) => {
    const broken = await openBroken(shared, "Refuser");
    const app = await broken.read();
    equal(app.status, "FAILED");
    match(app.error.detail, /refuse|false|revert/i);
    equal(
      (await rowsOf(
        broken.fixture.realm,
        "select id from chain_orders where purpose = 'sweep' and sender = $1",
        [broken.address],
      )).length,
      0,
    );
  },
);

for (const fault of ["Liar", "Refuser"] as const) {
  test(
    `FAILED by ${fault} is tried again by itself: PROCESSING, then DONE`,
    "h",
    async ({ fixture: shared }) => {
      const broken = await openBroken(shared, fault);
      const { fixture } = broken;
      await broken.mend();
      await fixture.mine(2);
      equal((await broken.read()).status, "FAILED", "not at once: it would only cost gas");
      await later(fixture);
      await mineUntil(fixture, async () => (await broken.read()).status === "DONE");
      equal((await broken.read()).error, null);
      equal((await fixture.account(broken.target)).balance.total, "10");
      deepEqual(await turnsOf(broken), ["PROCESSING", "FAILED", "PROCESSING", "DONE"]);
      await fixture.mine();
      deepEqual(await driftsOf(fixture), [["USDC", "0"]]);
    },
  );
}

test(
  "a further deposit resumes a FAILED application, with its earlier deposits",
  "h",
  async ({ fixture: shared }) => {
    const broken = await openBroken(shared, "Liar");
    const { fixture } = broken;
    await broken.mend();
    await broken.token.pay(broken.address, 5n * USDC);
    await fixture.mine();
    await later(fixture);
    await mineUntil(fixture, async () => (await broken.read()).status === "DONE");
    equal((await fixture.account(broken.target)).balance.total, "15");
    equal((await broken.read()).deposits.length, 2);
    deepEqual(await turnsOf(broken), ["PROCESSING", "FAILED", "PROCESSING", "DONE"]);
  },
);

test(
  "a repeat that fails again leaves the application FAILED, and the next one still works",
  "h",
  async ({ fixture: shared }) => {
    const broken = await openBroken(shared, "Liar");
    const { fixture } = broken;
    await later(fixture);
    const failures = async () =>
      (await rowsOf(
        fixture.realm,
        "select id from sweeps where state = 'failed' and account = $1",
        [(await broken.read()).source.account],
      )).length;
    await mineUntil(fixture, async () => await failures() === 2);
    equal((await broken.read()).status, "FAILED");
    await broken.mend();
    await later(fixture);
    await mineUntil(fixture, async () => (await broken.read()).status === "DONE");
    equal((await fixture.account(broken.target)).balance.total, "10");
  },
);

/** Opens an application whose first deposit has arrived, of a token that turned bad then. */
async function openBroken(
  fixture: Witnessed["fixture"],
  fault: "Liar" | "Refuser",
): Promise<Broken> {
  const { anvil } = fixture;
  const { send } = fixture.realm.admin;
  const token = await installToken(anvil, "USDC");
  const honest = await anvil.rpc<string>("eth_getCode", token.contract, "latest");
  const ramp = await fixture.ramp("USDC");
  const asked = { type: "virtual", asset: "USDC", ramp: ramp.id };
  const target = (await send("POST", "/v1/accounts", asked)).body.id;
  await fixture.realm.drain();
  const wanted = { destination: { account: target }, asset: "USDC" };
  const made = await send("POST", "/v1/apps/deposit", wanted);
  await fixture.realm.drain();
  const { id, source } = made.body;
  const read = async () => (await send("GET", `/v1/apps/deposit/${id}`)).body;
  await anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(source.deposit_address, 10n * USDC);
  await fixture.mine();
  await token.become(fault);
  await mineUntil(fixture, async () => (await read()).status === "FAILED");
  return {
    fixture,
    id,
    token,
    target,
    address: source.deposit_address,
    read,
    mend: async () => await anvil.rpc("anvil_setCode", token.contract, honest),
  };
}

/** Makes failed deposits and sweeps due, as if the pause before a retry had passed. */
async function later(fixture: Witnessed["fixture"]): Promise<void> {
  await fixture.realm.command((tx) =>
    tx`update deposits set updated_at = now() - interval '1 hour'`
  );
  await fixture.realm.command((tx) =>
    tx`update sweeps set updated_at = now() - interval '8 hours'`
  );
}

/** The states that the application has told of. */
async function turnsOf({ fixture, id }: Broken): Promise<string[]> {
  const events = await rowsOf<{ status: string }>(
    fixture.realm,
    `select payload->>'status' as status from events
      where type = 'app.deposit.updated' and payload->>'id' = $1 order by position`,
    [id],
  );
  return events.map((one) => one.status);
}
