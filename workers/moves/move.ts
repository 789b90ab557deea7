/** A move of a realm, and what it needs. @module */
import type { Database, RealmLocation } from "../../db/database.ts";
import type { MoveStep } from "../../db/realms/moves.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Migrations } from "../../domain/realms/realms.ts";
import type { Progress } from "../../progress.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";

/** A move that this run carries on. */
export interface Move {
  id: string;
  realm: string;
  /** Names this run. */
  runner: string;
  step: MoveStep;
  source: RealmLocation & { role: string };
  target: RealmLocation & { role: string };
}

/** What a move needs and whom it tells. */
export interface MoveOptions {
  database: Database;
  migrations: Migrations;
  progress?: Progress;
  /** Called before each step, for tests that stop there. */
  onStep?: (step: string) => void | Promise<void>;
}

/** What an order is checked against. */
export interface OrderOptions {
  database: Database;
  migrations: Migrations;
  secrets: Secrets;
}

/** The refusal to a run that another one has replaced. */
export function overtaken(): DomainError {
  return new DomainError("request.invalid", "another run carries this move on");
}
