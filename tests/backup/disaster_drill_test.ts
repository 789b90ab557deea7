/** The drill of docs/operations/disaster_drill.md, with the commands that it names, on a real node. @module */
import { deepEqual, equal } from "node:assert/strict";
import type { Command } from "../../launcher/permissions.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { auditAll } from "../support/proofs.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { rowsAt } from "./fixture.ts";

const ETHER = 10n ** 18n;
const PAGE = new URL("../../docs/operations/disaster_drill.md", import.meta.url);

/** Leaves out what differs from run to run: ids, hashes, addresses, times, sizes. */
function shape(text: string): string[] {
  return text.replaceAll(/0x[0-9a-fA-F]+/g, "0x")
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "id")
    .replaceAll(/installation_[0-9a-f]{32}_\w+\.age/g, "file")
    .replaceAll(/\b[0-9a-f]{64}\b/g, "hash")
    .replaceAll(/\d+/g, "0")
    .trim().split("\n");
}

Deno.test("the disaster drill goes as its page says: what was paid after the backup is found, nothing is paid twice", async () => {
  await using own = await realmDatabase();
  await using elsewhere = await testDatabase();
  await using host = await commandHost();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  const node = {
    ETHEREUM_RPC_URL: funded.anvil.url,
    ETHEREUM_CONFIRMATIONS: "2",
    LOG_FORMAT: "json", // a slow machine shows no progress
  };
  const lines: string[] = [];
  async function type(url: string, command: Command, ...args: string[]): Promise<string> {
    const { code, out, said } = await host.run(url, command, args, node);
    const shown = args.map((word) => word.replace(`${host.folder}/`, ""));
    lines.push(`$ deno task ${[command, ...shown].join(" ")}`, said.trim(), out.trim());
    if (code !== 0) lines.push(`(exit code ${code})`);
    return out;
  }
  await funded.anvil.mine();
  const { body: { id: before } } = await funded.withdraw("1");
  equal((await funded.finish(before)).status, "DONE");
  await rowsAt(own.url, "update platform.realms set name = 'Example Bank'");
  await extendHashChain(funded.realm.pool, Date.now);
  const made = JSON.parse(await type(own.url, "backup", "--keep", "7"));
  const { body: { id: after } } = await funded.withdraw("2");
  equal((await funded.finish(after)).status, "DONE");
  // The server is lost here: nothing below reads the first database.
  await type(elsewhere.url, "restore", made.path, "--check");
  const expected = ["--expect", made.heads[funded.realm.id], "--stop"];
  await type(elsewhere.url, "restore", made.path, ...expected);
  await type(elsewhere.url, "reconcile", "--list", "--gap", "20");
  await type(elsewhere.url, "reconcile", "--gap", "20");
  await type(elsewhere.url, "audit");
  const paid = BigInt(await funded.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"));
  equal(paid, 3n * ETHER);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
  const typed = lines.filter((line) => line !== "").join("\n").replaceAll(host.folder, "/srv");
  const page = await Deno.readTextFile(PAGE);
  const written = [...page.matchAll(/```console\n(.*?)```/gs)].map(([, text]) => text).join("");
  deepEqual(shape(typed), shape(written), typed);
});
