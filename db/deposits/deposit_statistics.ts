/** Figures of deposits: their transactions tell when they were credited, their sweeps when they were forwarded. @module */
import {
  type CountedPart,
  millisecondsBetween,
  selectStatistics,
  type StatisticsRow,
} from "../collections/statistics.ts";
import type { Db } from "../database.ts";

/** Reads the figures of deposits. */
export async function selectDepositStatistics(db: Db, part: CountedPart): Promise<StatisticsRow> {
  return await selectStatistics(db, {
    table: "deposits",
    columns: "status, transaction, sweep",
    beside: `
      cross join lateral (select case when r.fits then ms_time(id_ms(r.transaction)) end as at) t
      left join lateral (select x.state, case when x.state = 'done' then x.updated_at end as at from sweeps x
        where r.fits and x.id = r.sweep offset 0) s on true`,
    groups: { status: "r.status", sweep: "s.state" },
    steps: {
      confirmed: millisecondsBetween("r.created_at", "t.at"),
      forwarded: millisecondsBetween("t.at", "s.at"),
      total: millisecondsBetween("r.created_at", "s.at"),
    },
  }, part);
}
