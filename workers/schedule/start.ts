/** Starts all work of a process with workers: jobs, timetable, chain poller, the fence. @module */
import type { Config } from "../../config.ts";
import type { Database } from "../../db/database.ts";
import type { Migrations } from "../../db/migrate.ts";
import { readMasterKey } from "../../domain/security/envelope.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import type { Log } from "../../log.ts";
import { openChains } from "../chains/registry.ts";
import { scheduleTicks } from "./edge_tick.ts";
import { isRealmApart } from "../installation/attestation.ts";
import { openDatabaseClock } from "../installation/database_clock.ts";
import { openFence } from "../installation/fence.ts";
import { keptIdentities } from "../installation/network_identities.ts";
import { startChainPoller } from "../scanning/chain_poller.ts";
import { openExchangeGateway } from "../gateways/exchanges/gateway.ts";
import { openMessaging } from "../gateways/messages.ts";
import { openPeople } from "../gateways/people/people.ts";
import { openRatesGateway } from "../gateways/rates.ts";
import { quarantineAll } from "../installation/quarantine_all.ts";
import { type Runner, startRunner } from "../jobs/runner.ts";
import { openCredentialKeys } from "../keys/exchange_keys.ts";
import { openSigner } from "../keys/signer.ts";
import { openWebhookClient } from "../gateways/outbound/webhook_client.ts";
import { openDeliverer } from "../webhooks/deliverer.ts";
import type { RealmTarget } from "../worker_context.ts";
import { startTimetable } from "./timetable.ts";

/** Options of the workers. */
export interface WorkersOptions {
  config: Config;
  database: Database;
  /** Realms that could not be migrated at the start are tried again. */
  migrations: Migrations;
  log: Log;
  /** Decrypts the secrets at rest. */
  masterKey: string;
  /** Decrypts what the serving half stores: secrets of webhooks, contents of messages, keys of profiles. */
  secrets: Secrets;
  /** Whether isolates come and go; then no loop runs, and the platform's cron drains due work. */
  edge: boolean;
  /** Whether transfers crowd this process. Unset: they never do. */
  isCrowded?: () => boolean;
}

const REALM_POLL_MS = 2_000;

/** Starts the workers, after it compared the installation with the host's record. */
export async function startWorkers(options: WorkersOptions): Promise<Runner> {
  const { config, database, migrations, log, masterKey, secrets, edge, isCrowded } = options;
  const { platform } = database;
  const fence = await openFence({
    platform,
    dataDir: config.dataDir,
    label: config.installationEpoch,
    master: (await readMasterKey(masterKey)).id,
    log,
    halt: (detail, endsLogins) => quarantineAll(database, log, detail, { endsLogins }),
    loop: !edge,
  });
  await fence.fault(); // logs a fault before any work starts
  const chains = openChains(config.chains, keptIdentities(platform));
  const signer = openSigner(masterKey, Date.now, fence);
  const people = openPeople(config, secrets, platform);
  const isApart = async (target: Pick<RealmTarget, "realm" | "pool">) => {
    return await fence.isApart() || await isRealmApart(platform, target);
  };
  const messaging = { ...openMessaging(config, secrets), isApart };
  const exchanges = {
    gateway: openExchangeGateway({ urls: config.exchangeUrls }),
    keys: openCredentialKeys(masterKey, Date.now, fence),
    settings: {
      chains: config.chains,
      hotFeeMaxFactor: config.hotFeeMaxFactor,
      webhooks: config.webhooks,
    },
  };
  const shared = { database, log, chains, signer, exchanges, messaging, people, now: Date.now };
  const runner = startRunner({ ...shared, pollMs: REALM_POLL_MS }, { loop: !edge });
  const rates = config.ratesUrl === null ? null : openRatesGateway(config.ratesUrl);
  const deliverer = config.webhooks.enabled
    ? openDeliverer({
      ...{ log, secrets, isApart, isCrowded, ...openDatabaseClock(platform, Date.now) },
      client: openWebhookClient(config.webhooks),
    })
    : null;
  const { answerGenerationRows, partRows } = config;
  const timetable = startTimetable(
    { ...shared, rates, migrations, deliverer, answerGenerationRows, partRows },
    { loop: !edge },
  );
  const poller = startChainPoller({
    ...shared,
    pollMs: config.pollIntervalMs,
    wake: (realm) => runner.wake(realm),
  }, { loop: !edge });
  const workers = [timetable, poller, runner];
  if (edge) {
    scheduleTicks(
      async (ms) => {
        const until = Date.now() + ms;
        await Promise.all(workers.map((one) => one.drain(ms)));
        await deliverer?.settle(until - Date.now());
      },
      (error) => options.log("error", "the platform's cron failed", { error }),
    );
  }
  const stop = async () => {
    chains.close();
    exchanges.gateway.close();
    await Promise.all([...workers, deliverer].map((one) => one?.stop()));
    messaging.close();
    await fence.close();
  };
  return { ...runner, stop };
}
