/**
 * Positions in the write-ahead log of the primary, and what a standby shows by them. A position comes with a moment of
 * this process: all that was answered before the moment stands before it in the log. A standby that has replayed it
 * shows it, so its lag needs neither a second clock nor traffic on the primary.
 * @module
 */

/** A place in the primary's log that holds all that was answered before a moment. */
export interface Position {
  /** Milliseconds of this process's monotonic clock. */
  readonly at: number;
  /** Log sequence number: bytes since the cluster was made. */
  readonly lsn: bigint;
}

/** What a server says of itself. */
export interface ServerFacts {
  /** Whether it follows another server. */
  readonly isStandby: boolean;
  /** Up to where its log is on its disk, or where it has replayed that of the primary. */
  readonly lsn: bigint;
  /** The cluster that the server, or the one it follows, was made as; a restored copy has another timeline. */
  readonly cluster: string;
  readonly timeline: number;
}

/** Columns with the facts of the primary; the statement fails on a standby. */
export const PRIMARY_COLUMNS = `false as standby,
  pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text as lsn,
  (select system_identifier::text from pg_control_system()) as cluster,
  ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer as timeline`;

/**
 * Columns with the facts of a replica. A standby notes a new timeline in its control file with its next restartpoint,
 * some minutes after a failover: until then it counts as one of the old timeline.
 */
export const REPLICA_COLUMNS = `pg_is_in_recovery() as standby,
  coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::text as lsn,
  (select system_identifier::text from pg_control_system()) as cluster,
  greatest((select timeline_id from pg_control_checkpoint()),
    (select min_recovery_end_timeline from pg_control_recovery())) as timeline`;

/** Reads the columns. */
export function factsOf(row: Readonly<Record<string, unknown>>): ServerFacts {
  return {
    isStandby: row.standby === true,
    lsn: BigInt(`${row.lsn}`.split(".")[0]),
    cluster: `${row.cluster}`,
    timeline: Number(row.timeline),
  };
}

/** The positions of the last minutes. */
export interface Positions {
  /** Adds a position of a primary; those of another history are forgotten. */
  add(position: Position, primary: ServerFacts): void;
  /** Whether a server has the history of the primary that was asked last. */
  isOurs(server: ServerFacts): boolean;
  /** The newest moment that a standby shows which has replayed this; -Infinity where none is known. */
  shownAt(lsn: bigint): number;
  /** The newest moment that a standby can be shown to have. */
  newest(): number;
}

/** How long positions are kept, in milliseconds: a greater lag is not measured. */
const KEPT_MS = 600_000;

/** Opens an empty list of positions. */
export function openPositions(): Positions {
  let known: Position[] = []; // oldest first
  let history = "";
  const historyOf = ({ cluster, timeline }: ServerFacts) => `${cluster} ${timeline}`;
  return {
    add(position, primary) {
      if (historyOf(primary) !== history) known = [];
      history = historyOf(primary);
      known = [...known.filter(({ at }) => at > position.at - KEPT_MS), position];
    },
    isOurs: (server) => historyOf(server) === history,
    shownAt: (lsn) => known.findLast((one) => one.lsn <= lsn)?.at ?? -Infinity,
    newest: () => known.at(-1)?.at ?? -Infinity,
  };
}
