/** A realm that is thousands of blocks behind, and chains that take another course meanwhile. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { enqueue } from "../../domain/jobs.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { asOwner, schemaOf } from "../support/index_steps.ts";
import { type LongChain, startLongChain } from "../support/nodes/long_chain.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

const ETHER = 10n ** 18n;
const PLACE = { chain: "ETHEREUM", network: "testnet" } as const;
/** Blocks that a pass reads at most, and that are remembered below the cursor. */
const WINDOW = 1024;
/** Blocks of one step of the cursor. */
const BLOCK_RANGE = 64;

/** A ramp that is followed on a long chain. */
interface Climb extends AsyncDisposable {
  fixture: RampFixture;
  chain: LongChain;
  ramp: { id: string; address: string };
  /** Pays a coin into the ramp, in a block of its own. */
  pay(): Promise<void>;
  /** Makes one pass of the scanner; tells how it ended. */
  pass(): Promise<string>;
  /** The chain as the API shows it. */
  // deno-lint-ignore no-explicit-any
  shown(): Promise<any>;
  total(): Promise<string>;
}

async function openClimb(env: Record<string, string> = {}): Promise<Climb> {
  const made: LongChain[] = [];
  const through = (url: string) => {
    made.push(startLongChain(url));
    return made[0].url;
  };
  const fixture = await openRampFixture({ through, env });
  const [chain] = made;
  const ramp = await fixture.ramp();
  await fixture.mine();
  const context = await workerContextOf(fixture.realm);
  return {
    fixture,
    chain,
    ramp,
    pay: async () => void await fixture.anvil.send({ to: ramp.address, value: ETHER }),
    pass: () => scanNetwork({ ...context, actor: { ...context.actor, at: Date.now() } }, PLACE),
    shown: async () => (await fixture.realm.admin.send("GET", "/v1/chains")).body[0],
    total: async () => (await fixture.account(ramp.id)).balance.total,
    async [Symbol.asyncDispose]() {
      context.chains.close();
      await fixture[Symbol.asyncDispose]();
      await chain[Symbol.asyncDispose]();
    },
  };
}

/** Has every height to which a realm's cursor moves from now on written down; tells them in that order. */
async function writeSteps(realm: TestRealm): Promise<() => Promise<number[]>> {
  const schema = schemaOf(realm);
  await asOwner(
    realm,
    `create table ${schema}.steps (number serial, height bigint);
      create function ${schema}.write_step() returns trigger language plpgsql security definer as $$
      begin insert into ${schema}.steps (height) values (new.height); return null; end $$;
      create trigger steps after update of height on ${schema}.chain_cursors
        for each row execute function ${schema}.write_step()`,
  );
  const written = `select height::float8 as height from ${schema}.steps order by number`;
  return async () => (await asOwner(realm, written)).map((row) => row.height as number);
}

Deno.test("a chain 2500 blocks ahead is caught up with in steps, within bounds, beside other work", async () => {
  await using applyDue = await openClimb();
  const { fixture, chain, ramp } = applyDue;
  await applyDue.pay();
  await chain.extend(1250);
  await applyDue.pay();
  await applyDue.pay();
  await chain.extend(1250);
  await applyDue.pay();
  const top = await chain.extend(3);
  ok(top > 2500);
  let ended = false;
  const polls = async () => { // one poll is bounded in time, and a machine may be busy
    for (let i = 0; i < 20; i++) {
      await fixture.poller.advance();
      if ((await applyDue.shown()).lag === 0) return;
    }
  };
  const before = (await applyDue.shown()).scanned;
  const stepsOf = await writeSteps(fixture.realm);
  const climbing = polls().finally(() => ended = true);
  const seen: number[] = [];
  let ahead = 0;
  const { account } = await fixture.realm.currency("10");
  while (!ended) {
    const asked = chain.askedUpTo; // before the answer, which is old when it comes
    const { scanned } = await applyDue.shown();
    ahead = Math.max(ahead, asked - scanned);
    seen.push(scanned);
    equal((await fixture.account(account)).balance.total, "10");
  }
  await climbing;
  const steps = [before, ...await stepsOf()];
  deepEqual(steps, steps.toSorted((a, b) => a - b));
  deepEqual(seen, seen.toSorted((a, b) => a - b));
  deepEqual(seen.filter((height) => !steps.includes(height)), []);
  const widths = steps.slice(1).map((height, i) => height - steps[i]);
  ok(Math.max(...widths) <= BLOCK_RANGE, `${widths}`);
  ok(ahead <= 4 * BLOCK_RANGE, `${ahead} blocks were asked for and not recorded`);
  const [{ kept }] = await rowsOf<{ kept: number }>(
    fixture.realm,
    "select count(*)::integer as kept from chain_blocks",
  );
  ok(kept <= WINDOW + 1, `${kept} blocks are kept`);
  const { lag, scanned, healthy } = await applyDue.shown();
  deepEqual([lag, scanned, healthy], [0, top, true]);
  equal(await applyDue.total(), "4");
  const { balance } = await fixture.account(ramp.id);
  equal(balance.assets, "4");
});

Deno.test("a process that ends while it catches up goes on from the block it recorded", async () => {
  await using applyDue = await openClimb();
  await applyDue.pay();
  await applyDue.chain.extend(WINDOW + 300);
  await applyDue.pay();
  const top = await applyDue.chain.extend(3);
  equal(await applyDue.pass(), "more");
  const { scanned } = await applyDue.shown();
  ok(scanned >= WINDOW && scanned < WINDOW + 300, `${scanned}`);
  await applyDue.fixture.poller.advance();
  equal((await applyDue.shown()).scanned, top);
  equal(await applyDue.total(), "2");
  equal((await applyDue.fixture.deposits()).length, 2);
});

Deno.test("a reorganisation 1000 blocks deep, while catching up, is gone back over", async () => {
  await using applyDue = await openClimb();
  await applyDue.pay();
  await applyDue.chain.extend(2 * WINDOW + 100);
  await applyDue.pay();
  const top = await applyDue.chain.extend(3);
  for (let pass = 0; pass < 2; pass++) equal(await applyDue.pass(), "more");
  const { scanned } = await applyDue.shown();
  applyDue.chain.fork(scanned - 1000);
  await applyDue.fixture.poller.advance();
  const { lag, healthy, scanned: now } = await applyDue.shown();
  deepEqual([lag, healthy, now], [0, true, top]);
  deepEqual([await applyDue.total(), (await applyDue.fixture.account(applyDue.ramp.id)).frozen], [
    "2",
    false,
  ]);
});

Deno.test("a reorganisation deeper than the stored blocks halts a chain, and a rescan resumes it", async () => {
  await using applyDue = await openClimb();
  const { fixture, chain, ramp } = applyDue;
  const { send } = fixture.realm.admin;
  await applyDue.pay();
  await chain.extend(1000);
  await applyDue.pay(); // will be in another block
  await chain.extend(1200);
  await applyDue.pay();
  const top = await chain.extend(3);
  for (let pass = 0; pass < 2; pass++) equal(await applyDue.pass(), "more");
  equal(await applyDue.total(), "2");
  // Asked for before the halt, and one that the search of coins queues: neither decides about it.
  const range = { chain: "ETHEREUM", testnet: true, from: 940, to: 941 } as const;
  equal((await send("POST", "/v1/deposits/rescan", range)).status, 200);
  const { actor } = fixture.realm.admin;
  await fixture.realm.command((tx) => enqueue(tx, actor, "deposit.rescan", range));
  chain.fork(950); // more than a window below the cursor
  equal(await applyDue.pass(), "stuck");
  const halted = await applyDue.shown();
  match(halted.error, /no common ancestor/);
  equal(halted.healthy, false);
  await fixture.poller.follow(2);
  equal((await applyDue.shown()).scanned, halted.scanned, "nothing goes on by itself");
  equal(await applyDue.total(), "2");
  // The operator has checked, and names blocks at which the chain is unchanged.
  equal((await send("POST", "/v1/deposits/rescan", range)).status, 200);
  await fixture.poller.follow(2);
  const { lag, healthy, scanned } = await applyDue.shown();
  deepEqual([lag, healthy, scanned], [0, true, top]);
  // The second deposit is in another block now: booked once, and its ramp waits for a person.
  const deposits = await fixture.deposits();
  deepEqual(deposits.map((one) => one.status), ["CONFIRMED", "CONFIRMED", "CONFIRMED"]);
  equal(await applyDue.total(), "3");
  equal((await fixture.account(ramp.id)).frozen, true);
  const thawed = await send("POST", `/v1/accounts/${ramp.id}/unfreeze`);
  equal(thawed.status, 200, thawed.text);
  await applyDue.pay();
  await chain.extend(3);
  await fixture.poller.follow(2);
  equal(await applyDue.total(), "4");
});

Deno.test("the runner works while a realm catches up", async () => {
  // One answer is held back for as long as the rest takes.
  await using applyDue = await openClimb({ ETHEREUM_TIMEOUT_MS: "599000" });
  const top = await applyDue.chain.extend(4 * BLOCK_RANGE);
  const { realm } = applyDue.fixture;
  const { name } = await realm.currency("10");
  const context = await workerContextOf(realm);
  const { log, chains, signer } = context;
  const options = { database: realm.database, log, chains, signer, now: Date.now, pollMs: 200 };
  const held = applyDue.chain.hold(top - BLOCK_RANGE);
  const runner = startRunner(options, { only: realm.id });
  try {
    const climbing = applyDue.fixture.poller.advance();
    await held.reached;
    const { scanned } = await applyDue.shown();
    ok(scanned < top, `${scanned} of ${top} blocks`);
    const made = await realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset: name });
    await until(async () => (await applyDue.fixture.account(made.body.id)).enabled);
    held.release();
    await climbing;
    equal((await applyDue.shown()).scanned, top);
  } finally {
    held.release();
    context.chains.close();
    await runner.stop();
  }
});
