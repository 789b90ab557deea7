/** Answers of an operator to `reconcile`: beside the command, through a pipe, and on a terminal. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { newId } from "../../domain/ids.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { paidOut } from "../support/found_payments.ts";
import { type Backups, backups } from "../support/installation.ts";
import { rowsOf } from "../support/realm.ts";
import { hasTerminals, type Host, host } from "../support/reconcile_host.ts";

const ETHER = 10n ** 18n;
const QUESTION = "or nothing to leave it open: ";
const GAP = ["--gap", "20"];

Deno.test("`reconcile` takes no wrong, contradicting or repeated answer, and is run again without harm", async () => {
  await using own = await backups();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  await using first = await hostOf(own, funded);
  const [one, two] = await restored(own, funded, first, ["1", "2"]);
  for (
    const [args, why] of [
      [["--paid", "x"], /x is no id of a withdrawal/],
      [["--unpaid", `${one} `], /is no id of a withdrawal/],
      [["--paid", one, "--unpaid", one], /is said to be paid and unpaid/],
      [["--gap", "99999999"], /is no number/],
      [["--back", "-1"], /usage: reconcile/],
      [["--paid"], /usage: reconcile/],
      [[one], /usage: reconcile/],
    ] as const
  ) {
    const refused = await first.call(args);
    deepEqual([refused.code, refused.out], [1, ""], `${args}`);
    match(refused.said, why);
  }
  // An id of nothing settles nothing, and is told.
  const nobody = newId(Date.now());
  const wrong = await first.call(["--paid", nobody, ...GAP]);
  equal(wrong.code, 2);
  match(wrong.said, new RegExp(`${nobody} was not asked about`));
  deepEqual([JSON.parse(wrong.out).unasked, openOf(wrong.out)], [[nobody], [one, two]]);
  // Words in a pipe are nobody's answer.
  const piped = await first.run(GAP, {}, "paid\npaid\ny\n\n");
  deepEqual([piped.code, openOf(piped.out)], [2, [one, two]]);
  const some = await first.call(["--paid", one, ...GAP]);
  deepEqual([some.code, openOf(some.out)], [2, [two]]);
  equal((await funded.read(one)).status, "DONE");
  const again = await first.call(["--paid", one, "--unpaid", two, ...GAP]);
  equal(again.code, 0, again.said);
  deepEqual(JSON.parse(again.out).unasked, [one]);
  const [{ total }] = await rowsOf<{ total: string }>(
    funded.realm,
    "select sum(charged)::text as total from withdrawals where status = 'DONE'",
  );
  const repeated = await first.call(["--paid", one, "--paid", two, ...GAP]);
  deepEqual([repeated.code, JSON.parse(repeated.out).realms], [0, []], repeated.said);
  equal((await funded.finish(two)).status, "DONE");
  deepEqual([await paidOut(funded), await first.fault()], [2n * ETHER, null]);
  ok(Number(total) < 1.1, "a second answer moves nothing");
  equal((await funded.books()).fees.startsWith("-"), false);
});

Deno.test("a payment that the chain shows settles no withdrawal of another amount", async () => {
  await using own = await backups();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  await using first = await hostOf(own, funded);
  equal(await first.fault(), null);
  const yesterday = await own.copy();
  const { body: { id: lost } } = await funded.withdraw("1");
  await funded.finish(lost);
  await own.restore(yesterday);
  const { body: { id } } = await funded.withdraw("1.000000000000000001");
  await funded.anvil.mine(3);
  await first.fault();
  await funded.realm.admin.renew();
  const listed = await first.call(["--list", ...GAP]);
  const { realms: [{ places: [place] }] } = JSON.parse(listed.out);
  deepEqual([listed.code, openOf(listed.out)], [2, [id]]);
  deepEqual(place.taken[0].unmatched.map((one: { amount: string }) => one.amount), [`${ETHER}`]);
  equal((await funded.read(id)).status, "PROCESSING");
  equal((await first.call(["--unpaid", id, ...GAP])).code, 0);
  equal((await funded.finish(id)).status, "DONE");
  equal(await paidOut(funded), 2n * ETHER + 1n);
});

Deno.test({
  name:
    "on a terminal only the words count: a line that says neither is asked again, an empty one and the end leave it open",
  ignore: !hasTerminals(),
  fn: async () => {
    await using own = await backups();
    await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
    await using first = await hostOf(own, funded);
    const [one, two] = await restored(own, funded, first, ["1", "2"]);
    const idle = first.terminal(GAP);
    match(await idle.until(QUESTION), new RegExp(`withdrawal ${one} of .*to ${OUTSIDE}`));
    for (const line of ["y\n", "no\n", "paid unpaid\n"]) {
      await idle.type(line);
      await idle.until(QUESTION);
    }
    await idle.type("\n");
    match(await idle.until(QUESTION), new RegExp(`withdrawal ${two} of`));
    await idle.type("\u0004"); // the end of the input
    equal((await idle.end()).code, 2);
    deepEqual([await statusOf(funded, one), await statusOf(funded, two)], [
      "PROCESSING",
      "PROCESSING",
    ]);
    equal(await paidOut(funded), 0n);
    const held = "select 1 from ramps where quarantined is not null";
    equal((await rowsOf(funded.realm, held)).length, 1);

    const last = first.terminal(GAP);
    await last.until(QUESTION);
    await last.type(" PAID \n");
    await last.until(QUESTION);
    await last.type("unpaid\n");
    const { code, said } = await last.end();
    equal(code, 0, said);
    match(said, /"epoch": 2/);
    deepEqual([await statusOf(funded, one), (await funded.finish(two)).status], ["DONE", "DONE"]);
    equal(await paidOut(funded), 2n * ETHER);
  },
});

Deno.test({
  name: "a terminal that is taken away between two answers keeps the first, and nothing is sent",
  ignore: !hasTerminals(),
  fn: async () => {
    await using own = await backups();
    await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
    await using first = await hostOf(own, funded);
    const [one, two] = await restored(own, funded, first, ["1", "2"]);
    const cut = first.terminal(GAP);
    await cut.until(QUESTION);
    await cut.type("paid\n");
    await cut.until(QUESTION);
    await cut.hangUp();
    deepEqual([await statusOf(funded, one), await statusOf(funded, two)], ["DONE", "PROCESSING"]);
    match((await first.fault())!, /chain.quarantined/);
    const rest = first.terminal(GAP);
    match(await rest.until(QUESTION), new RegExp(`withdrawal ${two} of`));
    await rest.type("unpaid\n");
    equal((await rest.end()).code, 0);
    equal((await funded.finish(two)).status, "DONE");
    equal(await paidOut(funded), 2n * ETHER);
  },
});

async function hostOf(own: Backups, funded: FundedRamp): Promise<Host> {
  await funded.anvil.mine();
  const node = { ETHEREUM_RPC_URL: funded.anvil.url, ETHEREUM_CONFIRMATIONS: "2" };
  return await host(own.url, node);
}

/** Puts the database back and asks for withdrawals of which the chain will show nothing. */
async function restored(
  own: Backups,
  funded: FundedRamp,
  first: Host,
  values: readonly string[],
): Promise<string[]> {
  equal(await first.fault(), null);
  await own.restore(await own.copy());
  const ids: string[] = [];
  for (const value of values) ids.push((await funded.withdraw(value)).body.id);
  await funded.anvil.mine(3);
  match((await first.fault())!, /restored or copied/);
  await funded.realm.admin.renew();
  return ids;
}

function openOf(out: string): string[] {
  const [{ places: [place] }] = JSON.parse(out).realms;
  return place.open.map((one: { withdrawal: string }) => one.withdrawal);
}

async function statusOf(funded: FundedRamp, id: string): Promise<string> {
  return (await funded.read(id)).status;
}
