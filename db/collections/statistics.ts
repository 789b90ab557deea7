/**
 * Figures of records that were made in a range: how many there are by state, and how long their steps took. Each answer
 * reads the newest records of its range by their ids, so many at most and the rows beside them: what it costs is bounded,
 * however many there are. The percentiles are times that were taken (`percentile_disc`), none between two of them.
 * @module
 */
import type { Db } from "../database.ts";

/** Records, and what is counted and measured of them. The texts are SQL, and see a record as `r`. */
export interface Counted {
  table: "deposits" | "withdrawals";
  /** Columns that the other texts use. */
  columns: string;
  /** Joins of the rows beside a record; where `r.fits` is false they need not find any. */
  beside: string;
  /** By each of these the records are counted. */
  groups: Readonly<Record<string, string>>;
  /** Milliseconds that each step took; null where it was not taken. */
  steps: Readonly<Record<string, string>>;
}

/** The records that are read. */
export interface CountedPart {
  /** Ids after this one. */
  after: string;
  /** Ids until this one. */
  until: string;
  testnet: boolean;
  /** Null: of all. */
  asset: string | null;
  limit: number;
}

/** How long a step took, in milliseconds. */
export interface StepRow {
  step: string;
  count: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

/** Figures of records. */
export interface StatisticsRow {
  /** Whether all records of the range were read. */
  complete: boolean;
  /** When the oldest one that was read was made; null where none was. */
  oldest: number | null;
  count: number;
  groups: Record<string, Record<string, number>>;
  steps: StepRow[];
}

/** Reads the figures of records. The statement is planned anew for its range. */
export async function selectStatistics(
  db: Db,
  { table, columns, beside, groups, steps }: Counted,
  { after, until, testnet, asset, limit }: CountedPart,
): Promise<StatisticsRow> {
  const found = [...Object.entries(groups), ...Object.entries(steps)]
    .map(([name, text]) => `${text} as ${name}`);
  const grouped = Object.keys(groups).map((name) =>
    `'${name}', (select coalesce(jsonb_object_agg(g.name, g.count), '{}') from (select c.${name} as name, count(*)
      from counted c where c.fits and c.${name} is not null group by 1) g)`
  );
  const [row] = await db.unsafe<StatisticsRow[]>(
    `with counted as materialized (
      select r.id, r.created_at, r.fits, ${found.join()}
      from (select id, created_at, ${columns},
          (network <> 'main') = $4 and ($5::text is null or asset = $5) as fits
        from ${table} where id > $1 and id <= $2 order by id desc limit $3) r ${beside}),
    oldest as (select id, created_at from counted order by id limit 1)
    select not exists (select from ${table} x
        where x.id > $1 and x.id < (select id from oldest)) as complete,
      (select created_at from oldest) as oldest,
      (select count(*)::integer from counted where fits) as count,
      jsonb_build_object(${grouped.join()}) as groups,
      (select coalesce(jsonb_agg(jsonb_build_object('step', s.step, 'count', s.count, 'p50', s.at[1], 'p90', s.at[2],
          'p99', s.at[3], 'max', s.max)), '[]')
        from (select v.step, count(*), max(greatest(v.took, 0)),
            percentile_disc(array[0.5, 0.9, 0.99]) within group (order by greatest(v.took, 0)) as at
          from counted c cross join lateral (values ${
      Object.keys(steps).map((name) => `('${name}', c.${name}::bigint)`).join()
    }) v(step, took)
          where c.fits and v.took is not null group by v.step) s) as steps`,
    [after, until, limit, testnet, asset],
  );
  return row;
}

/** The milliseconds between two times in SQL. */
export function millisecondsBetween(from: string, to: string): string {
  return `round(extract(epoch from ${to} - ${from}) * 1000)`;
}
