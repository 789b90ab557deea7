/**
 * Withdrawals that are canceled after a promotion: the standby may lack that one has left, and until all workers have
 * compared nobody knows it. A pair of servers is promoted once, so each case has a database there.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import type { EmbeddedPostgres } from "../../db/embedded/embedded.ts";
import { claimEpoch } from "../../workers/installation/fence.ts";
import { attestRealm } from "../../workers/installation/attestation.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import type { Checkpoint } from "../../workers/sending/order_work.ts";
import { openRelay } from "../process/crash/relay.ts";
import { endAt } from "../support/ended_worker.ts";
import { until } from "../support/eventually.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { paidOut } from "../support/found_payments.ts";
import { type Host, host, type Worker } from "../support/fence_host.ts";
import { reconcile } from "../support/installation.ts";
import { rowsOf } from "../support/realm.ts";
import { at, caughtUp, connectTo, cutOff, startPair } from "../support/standby.ts";

const ETHER = 10n ** 18n;

/** An installation with a withdrawal, which two hosts work for; the first of them has sent it. */
interface Installation {
  readonly funded: FundedRamp;
  readonly url: string;
  readonly first: Host;
  readonly id: string;
  /** The process of the first host, which is lost with the primary, and that of the other, which goes on. */
  readonly gone: Worker;
  readonly left: Worker;
}

/** Has the context's keys guarded by a fence. */
function guard({ context, realm }: FundedRamp, fence: Worker): void {
  context.signer = openSigner(realm.services.config.masterKey!, Date.now, fence);
}

/** Compares the realm, as workers of a host do every quarter of a minute. */
async function compare({ context, realm }: FundedRamp): Promise<void> {
  const now = { ...context, actor: { ...context.actor, at: Date.now() } };
  await attestRealm(now, realm.database.platform);
}

async function openInstallation(
  stack: AsyncDisposableStack,
  { url, name, step, compared }: {
    url: string;
    name: string;
    step: Checkpoint | null;
    compared: boolean;
  },
): Promise<Installation> {
  const own = new URL(url);
  own.pathname = name;
  const first = stack.use(await host());
  const other = stack.use(await host());
  const funded = stack.use(await openFundedRamp({ env: { DATABASE_URL: own.href } }));
  const gone = stack.use(await first.fence(own.href));
  await begin(other, funded.realm, "join");
  const left = stack.use(await other.fence(own.href));
  guard(funded, gone);
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  if (step !== null) await endAt(step, funded.advance);
  if (compared) await compare(funded);
  return { funded, url: own.href, first, id, gone, left };
}

/** The answer of a fence, or of the API, once the server can be reached. */
async function once<T>(ask: () => Promise<T>): Promise<T> {
  let told: { answer: T };
  await until(async () => {
    try {
      told = { answer: await ask() };
      return true;
    } catch {
      return false;
    }
  });
  return told!.answer;
}

async function cancel({ funded, id }: Installation) {
  const path = `/v1/withdrawals/${id}/cancel`;
  return await funded.realm.admin.send("POST", path);
}

async function assertNotCanceled(installation: Installation): Promise<void> {
  await installation.funded.realm.admin.renew(); // logins end where something was lost
  const refused = await cancel(installation);
  deepEqual([refused.status, refused.body.code], [503, "chain.quarantined"], refused.text);
  const { body } = await installation.funded.realm.admin.send(
    "GET",
    `/v1/withdrawals/${installation.id}`,
  );
  deepEqual([body.status, body.acts.cancel], ["PROCESSING", "chain.quarantined"]);
  const { funded: { realm, account } } = installation;
  const asked = await realm.admin.send("POST", `/v1/account/${account}/address`, {});
  deepEqual([asked.status, asked.body.code], [503, "chain.quarantined"], asked.text);
}

/** Has a host begin an epoch, or join. */
async function begin({ dataDir }: Host, { database }: FundedRamp["realm"], how: "new" | "join") {
  await claimEpoch({ platform: database.platform, dataDir, label: null }, how);
}

async function createDatabases(primary: EmbeddedPostgres, names: readonly string[]) {
  await using sql = connectTo(primary);
  const owner = new URL(primary.url).username;
  for (const name of names) await sql.unsafe(`create database ${name} owner ${owner}`);
}

Deno.test("after a promotion no withdrawal is canceled before all workers have compared: one of which the standby lacks that it has left is paid, and not given back", async (t) => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-promotion-" });
  await Deno.chmod(dataDir, 0o755);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(dataDir, { recursive: true }));
  const pair = await startPair(dataDir, { synchronous: false });
  const [primary, standby] = [stack.use(pair.primary), stack.use(pair.standby)];
  const relay = stack.use(openRelay(Number(new URL(primary.url).port)));
  const url = at(primary.url, relay.port);
  const names = ["lost_mark", "lost_bytes", "lost_nothing", "lost_first"];
  const steps = ["stored", null, "stored", "stored"] as const;
  await createDatabases(primary, names);
  const all: Installation[] = [];
  for (const [at, name] of names.entries()) {
    all.push(await openInstallation(stack, { url, name, step: steps[at], compared: at < 3 }));
  }
  const [mark, bytes, whole, fresh] = all;
  await caughtUp(primary, standby);
  await cutOff(primary);
  for (const { funded } of [mark, bytes, fresh]) await endAt("broadcast", funded.advance);
  for (const { gone } of all) await gone.lose();
  relay.leadTo(null);
  Deno.kill(primary.pid, "SIGKILL");
  await using sql = connectTo(standby);
  await sql`select pg_promote()`;
  relay.leadTo(standby.port);
  const cases: [string, Installation, string][] = [
    ["the standby has the order as signed", mark, "signed"],
    ["the standby has the order as new", bytes, "new"],
    ["no worker has compared the realm yet, which was just made", fresh, "signed"],
  ];
  for (const [name, installation, state] of cases) {
    await t.step(name, async () => {
      const { funded, first, id, left, url } = installation;
      const { realm, anvil } = funded;
      const states = await once(() => rowsOf<{ state: string }>(realm, ORDERS));
      deepEqual(states.map((one) => one.state), [state]);
      await assertNotCanceled(installation);
      guard(funded, left);
      match((await once(() => left.fault()))!, /records that have not been compared since: 1/);
      await compare(funded); // which attests nothing: the lost host has not compared
      await assertNotCanceled(installation);
      await anvil.mine(3);
      equal(await paidOut(funded), ETHER);
      await using back = await first.fence(url);
      match((await back.fault())!, /it is older than the record of this host/);
      await assertNotCanceled(installation);
      await begin(first, realm, "new");
      guard(funded, back);
      const [report] = await reconcile(realm);
      deepEqual([report.lifted, report.open], [true, []], JSON.stringify(report));
      equal((await funded.finish(id)).status, "DONE");
      equal(await paidOut(funded), ETHER);
    });
  }
  await t.step("where nothing was lost, it is canceled once the lost host is back", async () => {
    const { funded, first, left, url } = whole;
    guard(funded, left);
    await once(() => left.fault());
    await compare(funded);
    await assertNotCanceled(whole);
    await using back = await first.fence(url);
    for (const worker of [back, left, back]) await worker.fault();
    equal(await left.fault(), null);
    await compare(funded);
    const canceled = await cancel(whole);
    deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"], canceled.text);
    equal(await paidOut(funded), 0n);
  });
});

const ORDERS = "select state from chain_orders where purpose = 'withdrawal'";
