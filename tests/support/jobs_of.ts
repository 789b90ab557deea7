/** The jobs of a realm, run when a test says so. @module */
import type { Database } from "../../db/database.ts";
import type { Services } from "../../routes/http/services.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openMessaging } from "../../workers/gateways/messages.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { openSigner } from "../../workers/keys/signer.ts";

/** Prepares workers for one realm, as its process is configured. */
export function jobsOf(
  services: Services,
  database: Database,
  realm: string,
): { drain(): Promise<void>; close(): void } {
  const { config, secrets } = services;
  const chains = openChains(config.chains);
  const messaging = openMessaging(config, secrets);
  const signer = openSigner(config.masterKey!, Date.now);
  return {
    async drain() {
      const { log, people } = services; // as the test has set it by now
      const gateways = { chains, signer, messaging, people };
      const options = { database, log, ...gateways, now: Date.now, pollMs: 1000 };
      await startRunner(options, { loop: false, only: realm }).drain(120_000);
    },
    close() {
      chains.close();
      messaging.close();
    },
  };
}
