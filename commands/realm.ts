/** The command `realm`: creates, lists and moves realms. @module */
import { parseArgs } from "node:util";
import { UsageError } from "../config/usages.ts";
import type { Actor } from "../domain/actor.ts";
import { runCommand } from "../domain/command.ts";
import { newId } from "../domain/ids.ts";
import { parseStoredJson } from "../domain/json.ts";
import { abandonRealm, prepareRealm } from "../domain/realms/provisioning.ts";
import { createRealm, NewRealm, viewCreatedRealm } from "../domain/realms/realms.ts";
import { hashPassword } from "../domain/security/passwords.ts";
import { check } from "../routes/http/validation.ts";
import type { CommandContext, Invocation } from "./context.ts";
import { INPUT, readInput, readSecret, refusePassword } from "./input.ts";
import { writeSecret } from "./output.ts";
import { listRealms, type MoveArguments, moveRealm, readMoveArguments } from "./realm_move.ts";

const REALM_FLAGS = {
  name: { type: "string" },
  country: { type: "string" },
  currency: { type: "string" },
  zone: { type: "string" },
  tier: { type: "string" },
  email: { type: "string" },
  username: { type: "string" },
  password: { type: "string" },
  "database-url": { type: "string" },
} as const;
const SEEN = "users of this host see arguments";

/** Runs `realm create`, which prints the realm with its keys, `realm list`, or `realm move`. */
export async function realm(context: CommandContext, { args }: Invocation): Promise<void> {
  const asked = await readRealmArguments(args);
  if (asked === "list") return await listRealms(context);
  if ("verb" in asked) return await moveRealm(context, asked);
  const created = await makeRealm(context, asked);
  await writeSecret(`${JSON.stringify(created, null, 2)}\n`);
}

/** Reads the arguments of the command, and of standard input what these leave to it. @throws {UsageError, DomainError} */
export async function readRealmArguments(
  args: readonly string[],
): Promise<"list" | MoveArguments | NewRealm> {
  const [verb, ...rest] = args;
  if (verb === "list" && rest.length === 0) return "list";
  if (verb === "move") return await readMoveArguments(rest);
  return check(NewRealm, await requestOf(args), "request.invalid");
}

/** Reads the request of `realm create`, given as JSON on standard input or as flags: the body of POST /v1/realms. */
async function requestOf([verb, ...given]: readonly string[]): Promise<unknown> {
  if (verb !== "create" || given.length === 0) throw new UsageError("realm");
  try {
    if (given.length === 1 && given[0] === INPUT) return readRequest(await readInput());
    if (given[0].startsWith("{")) {
      throw new TypeError(
        `${SEEN}, and so the password: say \`create ${INPUT}\`, and give the` +
          " request on standard input",
      );
    }
    return await requestOfFlags(given);
  } catch (error) {
    throw new UsageError("realm", (error as Error).message);
  }
}

/** Reads a request as JSON; no message shows any of it. */
function readRequest(text: string): unknown {
  try {
    return parseStoredJson(text);
  } catch {
    throw new TypeError("standard input is no JSON");
  }
}

/** Reads the flags of `realm create` as the body of POST /v1/realms; the password comes from standard input. */
async function requestOfFlags(args: readonly string[]): Promise<unknown> {
  const { values } = parseArgs({ args: [...args], options: REALM_FLAGS });
  const { name, country, zone, tier, email, username, password = INPUT } = values;
  const address = values["database-url"];
  if (password !== INPUT) {
    throw new TypeError(`${SEEN}: leave --password out, and give it on standard input`);
  }
  if (address !== undefined) {
    const instead = `say \`create ${INPUT}\`, and give the request as JSON on standard input`;
    refusePassword("--database-url", address, instead);
  }
  const given = {
    name,
    country,
    accounting_currency: values.currency,
    zone,
    tier,
    database_url: address,
    admin: { email, username, password: await readSecret("the administrator's password", 2) },
  };
  return JSON.parse(JSON.stringify(given)); // without what was not given
}

/** Creates a realm as the operator; gives the view with its keys, which is shown once. */
export async function makeRealm(
  { database, provisioning }: CommandContext,
  input: NewRealm,
): Promise<Record<string, unknown>> {
  const at = Date.now();
  const actor: Actor = {
    user: "",
    kind: "operator",
    realm: { id: "", country: input.country, accountingCurrency: input.accounting_currency },
    roles: ["admin", "manage", "user"],
    scopes: ["realm", "own"],
    at,
    requestId: newId(at),
    address: null,
  };
  const verifier = await hashPassword(input.admin.password, "");
  const prepared = await prepareRealm(provisioning, actor, input, verifier);
  const answer = await runCommand(
    database.builder,
    actor,
    async (tx) => viewCreatedRealm(await createRealm(tx, actor, input, prepared)),
    {
      action: "realm create",
      idempotency: null,
      print(result) {
        if ("refused" in result) throw result.refused;
        return { status: 201, body: JSON.stringify(result.view) };
      },
    },
  ).catch(async (error) => {
    await abandonRealm(provisioning, prepared).catch(() => {}); // the next provisioning tries again
    throw error;
  });
  return JSON.parse(answer.body);
}
