/**
 * Checks that the database is the one that this host has last seen. A record outside the database
 * and its copy inside advance together, so an older database or a copy is detected.
 * @module
 */
import type { InstallationRow, PromotionRow, WitnessRow } from "../../db/realms/installation.ts";

export { type InstallationRow } from "../../db/realms/installation.ts";

/** One step of a record: a number and a token that nobody can guess. */
export interface Step {
  readonly count: number;
  readonly token: string;
}

/** The record that a host keeps outside of the database. */
export interface Outside {
  /** Id of the installation. */
  readonly installation: string;
  /** Epoch at which the record was begun. */
  readonly epoch: number;
  /** Names the record. */
  readonly witness: string;
  readonly now: Step;
  /** The step that is being taken: the process may have ended before or after the database took it. */
  readonly next: Step | null;
}

/** The result of a comparison. */
export type Verdict =
  | { readonly state: "sound" }
  /** Nobody has claimed the installation yet. */
  | { readonly state: "unclaimed" }
  /** `database`: it is older, or a copy; `host`: this host is, or is not known. */
  | { readonly state: "apart"; readonly fault: "database" | "host"; readonly detail: string }
  /** The server was promoted or recovered, and others must compare before it is known whether anything is lost. */
  | { readonly state: "waiting"; readonly detail: string };

/** The values that are compared. */
export interface Evidence {
  readonly row: InstallationRow;
  readonly witness: WitnessRow | null;
  readonly outside: Outside | null;
  /** Where the database lives. */
  readonly at: { readonly home: string; readonly timeline: string | null };
  /** What other witnesses say of another timeline than the installation's; null on the same one. */
  readonly promotion: PromotionRow | null;
  /** `INSTALLATION_EPOCH`; null where records are kept in files. */
  readonly label: string | null;
}

/** A host that has a record vouches for the database for so many seconds. */
export const VOUCHED_S = 60;

const RECONCILE = "run `deno task reconcile`";

/** Compares the database with the record outside of it. */
export function judgeInstallation(evidence: Evidence): Verdict {
  const { row, at, label, outside, promotion } = evidence;
  if (row.home === null) return { state: "unclaimed" };
  if (row.home !== at.home) {
    return database(`it was restored or copied: it lived in ${row.home}, now in ${at.home}`);
  }
  if (label !== row.label) {
    const is = row.label === null ? "without a label" : `labelled ${row.label}`;
    const here = label === null ? "is not set" : `is ${label}`;
    return host(
      `the installation is ${is}, INSTALLATION_EPOCH ${here}: start this process as the others are,` +
        ` or, where all shall have this value, ${RECONCILE} with it`,
    );
  }
  // A process without a record has seen nothing of the old timeline, and those that have are asked first.
  if (label !== null && outside === null && row.timeline !== at.timeline) {
    const { attested = null } = promotion ?? {};
    const promoted = promotionOf(evidence);
    if (attested === null || attested > VOUCHED_S) return database(promoted);
    return {
      state: "waiting",
      detail: `${promoted}; it waits for the workers that were there before`,
    };
  }
  const verdict = judgeRecord(evidence);
  if (verdict.state !== "sound" || promotion === null || promotion.owed === 0) return verdict;
  return { state: "waiting", detail: describeOwed(promotionOf(evidence), promotion.owed) };
}

function promotionOf({ row, at }: Evidence): string {
  return describePromotion({ was: row.timeline, now: at.timeline });
}

/** Says that the server has another timeline than the installation. */
export function describePromotion(
  { was, now }: { was: string | null; now: string | null },
): string {
  return `its server was recovered or promoted: its timeline was ${was}, now ${now}`;
}

/** Says how many records a promotion waits for, and what to do. */
export function describeOwed(promotion: string, owed: number): string {
  return `${promotion}; records that have not been compared since: ${owed}. Start the workers that ran before` +
    ` on their hosts, or, where they are lost, ${RECONCILE}`;
}

function judgeRecord({ row, witness, outside }: Evidence): Verdict {
  if (outside === null) {
    return host(
      "this host has no record of the installation: it is new here (`deno task reconcile --join`)," +
        ` or the database is a copy (${RECONCILE})`,
    );
  }
  if (outside.epoch < row.epoch) {
    return host("the installation was reconciled from another host: `deno task reconcile --join`");
  }
  if (outside.epoch > row.epoch || witness === null) {
    return database("it is older than the record of this host");
  }
  const steps = [outside.now, ...outside.next === null ? [] : [outside.next]];
  const same = (one: Step) => one.count === witness.count && one.token === witness.token;
  if (steps.some(same)) return { state: "sound" };
  if (witness.count > outside.now.count + 1) {
    return host("the record of this host is older than the database: DATA_DIR was restored");
  }
  return database(
    `it is older than the record of this host, or took another course:` +
      ` step ${witness.count}, here ${outside.now.count}`,
  );
}

function database(detail: string): Verdict {
  return { state: "apart", fault: "database", detail: `${detail}; ${RECONCILE}` };
}

function host(detail: string): Verdict {
  return { state: "apart", fault: "host", detail };
}
