/**
 * The two proofs of what a test has left behind, as an operator and an auditor make them: the audit of
 * every realm of a database, and the chain of hashes recomputed over the API.
 *
 * @module
 */
import { openDatabase } from "../../db/database.ts";
import { checkRealms, formatAudit } from "../../commands/audit.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { loginsUnder, openSecrets } from "../../domain/security/serving_secrets.ts";

const ROOT = new URL("../../", import.meta.url);

/** Audits every realm of a database; gives the links that were recomputed, and what is wrong. */
export async function auditAll(
  url: string,
  platformKey: string,
): Promise<{ links: number; wrong: string[] }> {
  const secrets = openSecrets(platformKey);
  const database = openDatabase({
    ...{ url, prepare: true, parseJson: parseStoredJson, logins: loginsUnder(secrets) },
    decryptUrl: (encrypted, id) => secrets.decrypt("database_url", id, encrypted),
  });
  let links = 0;
  const wrong: string[] = [];
  try {
    await checkRealms(database, (found) => {
      links += found.links;
      if (found.mismatches.length > 0) wrong.push(...formatAudit(found));
    });
  } finally {
    await database.close();
  }
  return { links, wrong };
}

/** Runs the auditor's script as an auditor would. */
export async function verify(...args: string[]): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--allow-net=127.0.0.1",
      "--allow-env",
      "examples/verify.ts",
      ...args,
    ],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  const said = decoder.decode(stderr).replaceAll(/^Verifying: .*\n/gm, ""); // on a slow machine
  return { code, text: (decoder.decode(stdout) + said).trim() };
}
