import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type Advisories, findFaults } from "../../lint/advisories.ts";
import { licenceFaults } from "../../lint/licences.ts";
import { keyOf, LOCKS, readPackages, SHIPPED } from "../../lint/locks.ts";
import { makeBill } from "../../lint/sbom.ts";

Deno.test("the bill of materials is the same each time, and holds each package that is shipped", async () => {
  const bill = await makeBill();
  deepEqual(await makeBill(), bill);
  const packages = await readPackages(SHIPPED);
  const libraries = bill.components.filter(({ type }) => type === "library");
  deepEqual(
    libraries.map(({ group, name, version }) => `${group ? `${group}/` : ""}${name}@${version}`),
    packages.map(keyOf),
  );
  for (const { purl, hashes, licenses, name } of libraries) {
    match(purl!, /^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d/);
    match(hashes![0].content, /^[0-9a-f]{128}$/);
    ok(licenses!.length === 1, name);
  }
  const others = bill.components.filter(({ type }) => type !== "library");
  deepEqual(others.map(({ name, version }) => `${name} ${version}`), [
    ...["postgresql 18.4", "deno 2.9.6"],
  ]);
  match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
});

Deno.test("in the bill of materials everything that is needed is there, once, and leads to all", async () => {
  const { components, dependencies } = await makeBill();
  const refs = components.map((one) => one["bom-ref"]);
  equal(new Set(refs).size, refs.length);
  deepEqual(dependencies.map(({ ref }) => ref).toSorted(), [...refs, "purser"].toSorted());
  const reached = new Set<string>();
  const visit = (ref: string) => {
    if (reached.has(ref)) return;
    reached.add(ref);
    for (const next of dependencies.find((one) => one.ref === ref)!.dependsOn) visit(next);
  };
  visit("purser");
  deepEqual(refs.filter((ref) => !reached.has(ref)), []);
});

/**
 * web3.js brings it for connections, which Purser does not open. It is a package of its own, unmodified and
 * replaceable, as its licence (LGPL-3.0) demands.
 */
const UNUSED = "rpc-websockets";

Deno.test("every package of a lock file is in the list of licences, and none that is used is copyleft", async () => {
  equal(await licenceFaults(), null);
  const bill = await makeBill();
  const strict = bill.components.filter(({ name, licenses }) =>
    name !== UNUSED && /\b(A?GPL|LGPL|SSPL|BUSL)\b/.test(JSON.stringify(licenses))
  );
  deepEqual(strict, []);
});

Deno.test("a package with a known fault is reported, until it is allowed, and again when that has run out", () => {
  const ranges = [{ from: "1.0.0", below: "1.10.0" }];
  const list: Advisories = {
    collected: "2026-01-01",
    advisories: [{ id: "CVE-1", package: "left", title: "it breaks", ranges }],
    allowed: [],
  };
  const found = (versions: string[], given = list) =>
    findFaults(given, versions.map((version) => ({ name: "left", version })), "2026-06-01");
  deepEqual(found(["0.9.9", "1.10.0", "2.0.0", "1.10.1-rc.1"]), []);
  deepEqual(found(["1.0.0", "1.9.9", "1.10.0-rc.1"]), [
    ...["left@1.0.0: CVE-1, it breaks", "left@1.9.9: CVE-1, it breaks"],
    "left@1.10.0-rc.1: CVE-1, it breaks",
  ]);
  deepEqual(findFaults(list, [{ name: "right", version: "1.0.0" }], "2026-06-01"), []);
  const allow = (until: string) => ({
    ...list,
    allowed: [{ id: "CVE-1", package: "left", reason: "never called", until }],
  });
  deepEqual(found(["1.0.0"], allow("2026-06-01")), []);
  deepEqual(found(["1.0.0"], allow("2026-05-31")), [
    "left@1.0.0: CVE-1, it breaks, allowed until 2026-05-31",
  ]);
});

Deno.test("the list of advisories describes each fault, and the reason and end of each allowance", async () => {
  const text = await Deno.readTextFile(new URL("../../lint/advisories.json", import.meta.url));
  const { collected, advisories, allowed }: Advisories = JSON.parse(text);
  match(collected, /^\d{4}-\d\d-\d\d$/);
  for (const { id, title, ranges } of advisories) {
    match(id, /^(CVE-\d{4}-\d+|GHSA(-\w{4}){3})$/);
    ok(title.length > 0 && ranges.length > 0, id);
  }
  for (const { reason, until } of allowed) {
    ok(reason.length > 0);
    match(until, /^\d{4}-\d\d-\d\d$/);
  }
  ok((await readPackages(LOCKS)).length > 100);
});
