/**
 * Positions in the write-ahead log of the primary, and what a standby shows by them. A mark is a position with a moment
 * of this process: all that was answered before the moment stands before the position. A standby that has replayed
 * the position shows it, so its lag needs neither a second clock nor traffic on the primary.
 * @module
 */

/** A position of the primary that holds all that was answered before a moment. */
export interface Mark {
  /** Milliseconds of this process's monotonic clock. */
  readonly at: number;
  readonly position: bigint;
}

/** What a server says of itself. */
export interface ServerFacts {
  /** Whether it follows another server. */
  readonly isStandby: boolean;
  /** Bytes of log that are on its disk, or that it has replayed. */
  readonly position: bigint;
  /** The cluster that the server, or the one it follows, was made as; a restored copy has another timeline. */
  readonly cluster: string;
  readonly timeline: number;
}

/** Columns with the facts of the primary; the statement fails on a standby. */
export const PRIMARY_COLUMNS = `false as standby,
  pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text as position,
  (select system_identifier::text from pg_control_system()) as cluster,
  ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer as timeline`;

/**
 * Columns with the facts of a replica. A standby notes a new timeline in its control file with its next restartpoint,
 * some minutes after a failover: until then it counts as one of the old timeline.
 */
export const REPLICA_COLUMNS = `pg_is_in_recovery() as standby,
  coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::text as position,
  (select system_identifier::text from pg_control_system()) as cluster,
  greatest((select timeline_id from pg_control_checkpoint()),
    (select min_recovery_end_timeline from pg_control_recovery())) as timeline`;

/** Reads the columns. */
export function factsOf(row: Readonly<Record<string, unknown>>): ServerFacts {
  return {
    isStandby: row.standby === true,
    position: BigInt(`${row.position}`.split(".")[0]),
    cluster: `${row.cluster}`,
    timeline: Number(row.timeline),
  };
}

/** The marks of the last minutes. */
export interface Positions {
  /** Adds a mark of a primary; those of another history are forgotten. */
  add(mark: Mark, primary: ServerFacts): void;
  /** Whether a server has the history of the primary that was asked last. */
  isOurs(server: ServerFacts): boolean;
  /** The newest moment that a position shows; -Infinity where none is known. */
  shownAt(position: bigint): number;
  /** The newest moment that a standby can be shown to have. */
  newest(): number;
}

/** How long marks are kept, in milliseconds: a greater lag is not measured. */
const KEPT_MS = 600_000;

/** Opens an empty list of marks. */
export function openPositions(): Positions {
  let marks: Mark[] = []; // oldest first
  let history = "";
  const historyOf = ({ cluster, timeline }: ServerFacts) => `${cluster} ${timeline}`;
  return {
    add(mark, primary) {
      if (historyOf(primary) !== history) marks = [];
      history = historyOf(primary);
      marks = [...marks.filter(({ at }) => at > mark.at - KEPT_MS), mark];
    },
    isOurs: (server) => historyOf(server) === history,
    shownAt(position) {
      return marks.findLast((mark) => mark.position <= position)?.at ?? -Infinity;
    },
    newest: () => marks.at(-1)?.at ?? -Infinity,
  };
}
