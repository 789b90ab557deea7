/** The conditions under which a realm may move to a database. @module */
import type { Pool } from "../../db/database.ts";
import { codeOf, isOutOfReach, isSettingUnknown } from "../../db/errors.ts";
import { assertReachable } from "../../db/migrate.ts";
import { readPlace } from "../../db/moves/departures.ts";
import { inspectTarget, type TargetFindings } from "../../db/moves/target.ts";
import { selectInstallation } from "../../db/realms/installation.ts";
import { building, locking, reading } from "../../db/transaction.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Move, MoveOptions } from "./move.ts";

/** Leases and keys end by the clock of the realm's server. */
const CLOCKS_APART_MAX_MS = 5000;

const POOLED =
  "it does not keep the settings of a session, as a pooler in transaction mode does not:" +
  " start every process and this command with DATABASE_PREPARE=off, or give the address of the server itself";

/**
 * Refuses a target that cannot hold the realm, or holds something else in its place.
 *
 * @throws {DomainError} request.invalid
 */
export async function assertUsable(
  { database }: MoveOptions,
  move: Move,
  pools: { source: Pool; target: Pool },
): Promise<void> {
  const { schema } = move.target;
  const there = await found(pools.target, schema);
  const here = await found(pools.source, schema);
  const { id } = await reading(database.platform, selectInstallation);
  const fault = faultOf({ here, there, installation: id }) ??
    await openedFault(move, pools.target) ?? occupiedFault(move, there);
  if (fault !== null) throw refusal(fault);
}

function faultOf(
  { here, there, installation }: {
    here: TargetFindings;
    there: TargetFindings;
    installation: string;
  },
): string | null {
  if (there.encoding !== "UTF8") return `its encoding is ${there.encoding}, and UTF8 is needed`;
  if (Math.trunc(there.version / 10_000) < Math.trunc(here.version / 10_000)) {
    return `its PostgreSQL (${there.version}) is older than the present one (${here.version})`;
  }
  if (there.installation !== null && there.installation !== installation) {
    return "it holds another installation";
  }
  if (Math.abs(there.at - here.at) > CLOCKS_APART_MAX_MS) {
    return "the clocks of both servers differ by more than five seconds";
  }
  return null;
}

/** Whether a move has brought the realm there, and it has not left: it may have taken writes. */
async function openedFault(move: Move, target: Pool): Promise<string | null> {
  if (move.step === "switched") return null;
  const { opened, departure } = await locking(target, (tx) => readPlace(tx, move.target.schema));
  if (opened === null || departure !== null) return null;
  return `the realm was opened there, as place ${opened.place}, which neither the directory nor the present place knows:` +
    ` run \`deno task realm move ${move.realm} --repair --to -\` with its address`;
}

function occupiedFault(move: Move, there: TargetFindings): string | null {
  if (move.step === "switched" || !there.occupied || there.mark?.move === move.id) return null;
  return there.mark === null
    ? `its schema ${move.target.schema} is in use, or the copy that an earlier move left: drop that first`
    : "it holds the copy of another move";
}

async function found(pool: Pool, schema: string): Promise<TargetFindings> {
  try {
    await assertReachable(pool);
    const findings = await building(pool, (sql) => inspectTarget(sql, schema));
    // A pooler may be told to take the settings of a session and to drop them.
    const keepsSettings = pool.settings !== "" || findings.searchPath.includes(schema);
    if (!keepsSettings) throw refusal(POOLED);
    return findings;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    if (isSettingUnknown(error)) throw refusal(POOLED);
    if (isOutOfReach(error)) {
      throw refusal("its server is not among DATABASE_HOSTS of this process");
    }
    if (codeOf(error) === null) throw error;
    throw refusal(`it does not answer (${codeOf(error)})`);
  }
}

function refusal(fault: string): DomainError {
  return new DomainError("request.invalid", `the database cannot take the realm: ${fault}`);
}
