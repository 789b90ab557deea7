/** Statements on measurements: what is counted in a realm, and what workers last counted in all of them. @module */
import { linkedNetworks } from "../chains/linked_networks.ts";
import type { Db, Tx } from "../database.ts";

/** One measured value. */
export interface Sample {
  /** Name of the metric. */
  name: string;
  /** Values of its labels by their names. */
  labels: Record<string, string>;
  value: number;
}

/** Samples of one realm, at most: the table refuses more. */
export const SAMPLES_MAX = 5000;
/** A network that no worker has read for so long after its first ramp or linked address, in seconds, is unhealthy: its nodes were never reached. */
const UNREACHED_S = 60;
/** A backlog is counted no further: its size beyond that tells nothing more. */
const BACKLOG_MAX = 100_000;

/** Measures a realm: each part reads what is open by an index, never the history. */
export async function measureRealm(db: Db): Promise<Sample[]> {
  return await db<Sample[]>`
    with open_jobs as (
      select name, case when state = 'running' then 'running' when run_at <= now() then 'due' else 'waiting' end as state,
        count(*) as jobs, max(extract(epoch from now() - run_at)) filter (where state = 'ready') as age
      from jobs where state in ('ready', 'running') group by 1, 2
    ), open_orders as (
      select chain, network, purpose, state, count(*) as orders, max(extract(epoch from now() - created_at)) as age
      from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined') group by 1, 2, 3, 4
    ), open_withdrawals as (
      select asset, count(*) as withdrawals, max(extract(epoch from now() - created_at)) as age
      from withdrawals where status = 'PROCESSING' group by 1
    ), open_deposits as (
      select chain, network, count(*) as deposits, max(extract(epoch from now() - created_at)) as age
      from deposits where status = 'PENDING' group by 1, 2
    ), open_transfers as (
      select exchange, kind, case state when 'unclear' then 'UNCLEAR' else 'PROCESSING' end as status,
        count(*) as transfers, max(extract(epoch from now() - created_at)) as age
      from (select exchange, kind, state, created_at from ramp_transfers
        where state not in ('done', 'failed') order by next_at, id offset 0) t group by 1, 2, 3
    ), held_messages as (
      select channel, count(*) as messages
      from (select channel, refused_at, content from messages where waiting order by id offset 0) m
      where refused_at is not null and content is not null group by 1
    ), compared as (
      select jsonb_build_object('asset', asset, 'network', case when testnet then 'testnet' else 'main' end) as labels,
        drift, solvent, extract(epoch from now() - checked_at) as age
      from solvency
    ), samples (name, labels, value) as (
      select 'purser_jobs', jsonb_build_object('job', name, 'state', state), jobs from open_jobs
      union all select 'purser_jobs', jsonb_build_object('job', name, 'state', 'dead'), count(*)
        from jobs where state = 'dead' group by name
      union all select 'purser_job_age_seconds', jsonb_build_object('job', name), age from open_jobs where state = 'due'
      union all select 'purser_chain_orders',
        jsonb_build_object('chain', chain, 'network', network, 'purpose', purpose, 'state', state), orders from open_orders
      union all select 'purser_chain_order_age_seconds',
        jsonb_build_object('chain', chain, 'network', network, 'purpose', purpose, 'state', state), age from open_orders
      union all select 'purser_withdrawals', jsonb_build_object('asset', asset), withdrawals from open_withdrawals
      union all select 'purser_withdrawal_age_seconds', jsonb_build_object('asset', asset), age from open_withdrawals
      union all select 'purser_deposits', jsonb_build_object('chain', chain, 'network', network), deposits from open_deposits
      union all select 'purser_deposit_age_seconds', jsonb_build_object('chain', chain, 'network', network), age
        from open_deposits
      union all select 'purser_ramp_transfers', jsonb_build_object('exchange', exchange, 'kind', kind, 'status', status),
        transfers from open_transfers
      union all select 'purser_ramp_transfer_age_seconds',
        jsonb_build_object('exchange', exchange, 'kind', kind, 'status', status), age from open_transfers
      union all select 'purser_messages_held', jsonb_build_object('channel', channel), messages from held_messages
      union all select 'purser_solvency_drift', labels, drift from compared
      union all select 'purser_solvency_solvent', labels, solvent::integer from compared
      union all select 'purser_solvency_age_seconds', labels, age from compared
      union all select 'purser_ramps_quarantined', jsonb_build_object('chain', chain, 'network', network), count(*)
        from ramps where quarantined is not null group by chain, network
      union all select 'purser_stops', jsonb_build_object('what', what), count(*)
        from stops where lifted_at is null group by what
      union all select 'purser_hash_chain_backlog', '{}', count(*)
        from (select from ledger_commits limit ${BACKLOG_MAX}) c
    )
    select name, labels, value::float8 as value from samples where value is not null
    order by name, labels limit ${SAMPLES_MAX}`;
}

/** Linked addresses of a network that was never read, of which the first is looked for. */
const LINKED_MAX = 1000;

/** Measures how far networks are read that are still needed, and those that never were. */
export async function measureNetworks(db: Db): Promise<Sample[]> {
  return await db<Sample[]>`
    with recursive ${linkedNetworks(db)}, followed as (
      select jsonb_build_object('chain', chain, 'network', network) as labels, head, height,
        halted is not null as halted, extract(epoch from now() - scanned_at) as age,
        error is null and warning is null and halted is null as healthy
      from chain_cursors c
      -- Workers read no network that nothing is left on.
      where exists (select from ramps r where r.chain = c.chain and r.network = c.network)
        or (c.chain, c.network) in (select chain, network from linked)
    ), needed (chain, network, since) as (
      select chain, network, created_at from ramps
      union all
      select l.chain, l.network, e.created_at from linked l cross join lateral (
        select e.created_at from external_addresses e
        where e.chain = l.chain and e.network = l.network and e.deleted_at is null limit ${LINKED_MAX}) e
    ), unreached as (
      select jsonb_build_object('chain', chain, 'network', network) as labels,
        extract(epoch from now() - min(since)) as age
      from needed r
      where not exists (select from chain_cursors c where c.chain = r.chain and c.network = r.network)
      group by chain, network
    ), samples (name, labels, value) as (
      select 'purser_chain_height', labels, head from followed
      union all select 'purser_chain_scanned_height', labels, height from followed
      union all select 'purser_chain_lag_blocks', labels, greatest(0, head - height) from followed
      union all select 'purser_chain_scan_age_seconds', labels, age from followed
      union all select 'purser_chain_scan_age_seconds', labels, age from unreached
      union all select 'purser_chain_healthy', labels, healthy::integer from followed
      union all select 'purser_chain_healthy', labels, 0 from unreached where age > ${UNREACHED_S}
      union all select 'purser_chain_halted', labels, halted::integer from followed
    )
    select name, labels, value::float8 as value from samples where value is not null`;
}

/** Measures the events and webhooks of a realm, in the same way. */
export async function measureEvents(db: Db): Promise<Sample[]> {
  return await db<Sample[]>`
    with receivers as (
      select case when w.disabled_reason is not null then 'disabled' when not w.active then 'inactive'
          when q.failing_since is not null then 'failing' else 'active' end as state,
        (select extract(epoch from now() - d.next_at) from webhook_deliveries d
          where d.webhook = w.id and d.status = 'PENDING' and d.next_at <= now() order by d.next_at limit 1) as late
      from webhooks w join webhook_queues q on q.webhook = w.id where w.deleted_at is null
    ), samples (name, labels, value) as (
      select 'purser_event_backlog', '{}'::jsonb, count(*)::numeric
        from (select from events where id is null limit ${BACKLOG_MAX}) e
      union all select 'purser_event_age_seconds', '{}', coalesce((select extract(epoch from now() - created_at)
        from events where id is null order by position limit 1), 0)
      union all select 'purser_webhooks', jsonb_build_object('state', state), count(*) from receivers group by state
      union all select 'purser_webhook_deliveries', '{}', count(*)
        from (select from webhook_deliveries where status = 'PENDING' limit ${BACKLOG_MAX}) d
      union all select 'purser_webhook_delivery_age_seconds', '{}', coalesce(max(late), 0)
        from receivers where state = 'active'
    )
    select name, labels, value::float8 as value from samples where value is not null`;
}

/** Stores what was measured in a realm in place of its last measurement. */
export async function replaceMeasurement(
  tx: Tx,
  realm: string,
  samples: readonly Sample[],
): Promise<void> {
  await tx`
    insert into realm_measurements (realm, samples, measured_at)
    values (${realm}, ${tx.json(samples as never)}, now())
    on conflict (realm) do update set samples = excluded.samples, measured_at = excluded.measured_at`;
}

/** What was measured of all realms together, or of one. */
export interface MeasurementRow extends Omit<Sample, "value"> {
  /** The realm; null for all together. */
  realm: string | null;
  /** Its name, which another realm may have too. */
  realm_name: string | null;
  sum: number;
  min: number;
  max: number;
}

/** Reads what was last measured, as sums and extremes of all realms, or for each of them. */
export async function selectMeasurements(
  db: Db,
  { perRealm, limit }: { perRealm: boolean; limit: number },
): Promise<MeasurementRow[]> {
  return await db<MeasurementRow[]>`
    select s.name, s.labels, ${perRealm ? db`r.id` : db`null`} as realm,
      ${perRealm ? db`r.name` : db`null`} as realm_name,
      sum(s.value) as sum, min(s.value) as min, max(s.value) as max
    from realm_measurements m ${perRealm ? db`join realms r on r.id = m.realm` : db``},
      jsonb_to_recordset(m.samples) s(name text, labels jsonb, value float8)
    group by s.name, s.labels ${perRealm ? db`, r.id` : db``}
    order by s.name, s.labels ${perRealm ? db`, r.id` : db``} limit ${limit}`;
}

/** A network as workers last measured it in the realms that use it. */
export interface MeasuredNetwork {
  chain: string;
  network: string;
  /** The newest block that a node has shown; null where none was ever reached. */
  height: number | null;
  /** The last block that all realms have scanned. */
  scanned: number | null;
  lag: number | null;
  /** Whether it is in order in all realms; null where that is not known yet. */
  healthy: boolean | null;
  /** Seconds since the realm that is furthest behind was scanned; before its first scan, since its first ramp or linked address. */
  age: number;
}

/** Reads what was last measured of the networks. */
export async function selectMeasuredNetworks(db: Db): Promise<MeasuredNetwork[]> {
  return await db<MeasuredNetwork[]>`
    select s.labels ->> 'chain' as chain, s.labels ->> 'network' as network,
      max(s.value) filter (where s.name = 'purser_chain_height') as height,
      min(s.value) filter (where s.name = 'purser_chain_scanned_height') as scanned,
      max(s.value) filter (where s.name = 'purser_chain_lag_blocks') as lag,
      bool_and(s.value > 0) filter (where s.name = 'purser_chain_healthy') as healthy,
      max(s.value + extract(epoch from now() - m.measured_at)::float8)
        filter (where s.name = 'purser_chain_scan_age_seconds') as age
    from realm_measurements m, jsonb_to_recordset(m.samples) s(name text, labels jsonb, value float8)
    where s.name in ('purser_chain_height', 'purser_chain_scanned_height', 'purser_chain_lag_blocks',
      'purser_chain_healthy', 'purser_chain_scan_age_seconds')
    group by 1, 2 having max(s.value) filter (where s.name = 'purser_chain_scan_age_seconds') is not null`;
}

/** The realms, and how old the oldest of their measurements is, in seconds; null where there is none. */
export async function selectMeasurementAge(
  db: Db,
): Promise<{ realms: number; age: number | null }> {
  const [row] = await db<{ realms: number; age: number | null }[]>`
    select (select count(*)::integer from realms) as realms,
      (select extract(epoch from now() - min(measured_at))::float8 from realm_measurements) as age`;
  return row;
}
