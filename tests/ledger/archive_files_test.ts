/** Archives of one part: whole files stay as they are, and other work on the part goes before. @module */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { inStep } from "../../db/ledger/parts.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { attachNewest } from "../../workers/archive/archiving.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { agedRealm, archiveInto, archiveOne, asOwner, namesIn } from "../support/archives.ts";
import { until } from "../support/eventually.ts";
import { LOCKS_HERE } from "../support/locks.ts";
import { countParts } from "../support/parts.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

const newKeys = async () => await identityToRecipient(await generateX25519Identity());

async function sound(realm: TestRealm): Promise<void> {
  await extendHashChain(realm.pool, Date.now);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
}

Deno.test("a whole archive of a part is not written over by one for others", async () => {
  await using realm = await testRealm();
  await agedRealm(realm);
  const folder = await Deno.makeTempDir();
  const [lost, kept] = [await newKeys(), await newKeys()];
  await archiveInto(realm, folder, { recipients: [lost] });
  const files = async () =>
    await Promise.all(
      (await namesIn(folder)).map((name) => Deno.readTextFile(`${folder}/${name}`)),
    );
  const before = await files();
  await asOwner(realm, (owner) => attachNewest({ owner }));
  for (const recipients of [[kept], [lost, kept], []]) {
    await rejects(archiveInto(realm, folder, { recipients }), /another archive of the part/);
    deepEqual(await files(), before);
    equal(await countParts(realm), 3);
  }
  await archiveInto(realm, await Deno.makeTempDir(), { recipients: [kept] });
  await asOwner(realm, (owner) => attachNewest({ owner }));
  await archiveInto(realm, folder, { recipients: [lost] });
  deepEqual(await files(), before);
  await sound(realm);
});

Deno.test("nobody waits behind an archive that waits for a vacuum of its part", async () => {
  await using realm = await testRealm();
  const { made } = await agedRealm(realm);
  const [{ name }] = await rowsOf<{ name: string }>(
    realm,
    "select 'transactions_' || part_suffix(oldest_bound()) as name",
  );
  const folder = await Deno.makeTempDir();
  let archived: Promise<unknown> = Promise.resolve();
  await asOwner(realm, (owner) =>
    inStep(owner, async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`;
      await tx.unsafe(`lock table ${name} in share update exclusive mode`); // as vacuum does
      archived = archiveOne(realm, folder).catch(() => archiveOne(realm, folder)); // it waits ten seconds
      const waiting = () =>
        rowsOf<{ mode: string }>(
          realm,
          `select mode from ${LOCKS_HERE} l where relation = '${name}'::regclass and not granted`,
        );
      await until(async () => (await waiting()).length > 0);
      deepEqual(await waiting(), [{ mode: "ShareUpdateExclusiveLock" }]);
      await made();
    }));
  await archived;
  await sound(realm);
});
