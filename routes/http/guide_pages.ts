/**
 * The pages of the documentation that the service shows: a fixed list, so that no address reaches another file.
 * @module
 */

/** A page: where its file lies below docs/, and how its text is loaded when first asked for. */
export interface GuidePage {
  readonly file: string;
  readonly load: () => Promise<{ default: string }>;
}

/** Titles of the sections, in the order in which they are shown. */
export const SECTIONS: Readonly<Record<string, string>> = {
  guide: "Guide",
  operations: "Operations",
  about: "About",
  internals: "Internals",
  adr: "Decisions",
};

/** Where a file of docs/ is shown, such as guide/deposits. */
export function nameOf(file: string): string {
  const name = file.replace(/\.md$/, "");
  return name.includes("/") ? name : `about/${name}`;
}

/**
 * The list, in the order of reading. Imported as text: part of the module graph, so no file is read by a path that a
 * caller names.
 */
const TEXTS: Readonly<Record<string, GuidePage["load"]>> = {
  "guide/getting_started.md": () =>
    import("../../docs/guide/getting_started.md", { with: { type: "text" } }),
  "guide/concepts.md": () => import("../../docs/guide/concepts.md", { with: { type: "text" } }),
  "guide/customers.md": () => import("../../docs/guide/customers.md", { with: { type: "text" } }),
  "guide/money.md": () => import("../../docs/guide/money.md", { with: { type: "text" } }),
  "guide/states.md": () => import("../../docs/guide/states.md", { with: { type: "text" } }),
  "guide/transactions.md": () =>
    import("../../docs/guide/transactions.md", { with: { type: "text" } }),
  "guide/blocks.md": () => import("../../docs/guide/blocks.md", { with: { type: "text" } }),
  "guide/currencies.md": () => import("../../docs/guide/currencies.md", { with: { type: "text" } }),
  "guide/deposits.md": () => import("../../docs/guide/deposits.md", { with: { type: "text" } }),
  "guide/withdrawals.md": () =>
    import("../../docs/guide/withdrawals.md", { with: { type: "text" } }),
  "guide/consolidations.md": () =>
    import("../../docs/guide/consolidations.md", { with: { type: "text" } }),
  "guide/external_ramps.md": () =>
    import("../../docs/guide/external_ramps.md", { with: { type: "text" } }),
  "guide/webhooks.md": () => import("../../docs/guide/webhooks.md", { with: { type: "text" } }),
  "guide/client.md": () => import("../../docs/guide/client.md", { with: { type: "text" } }),
  "guide/keys_and_roles.md": () =>
    import("../../docs/guide/keys_and_roles.md", { with: { type: "text" } }),
  "guide/errors_and_retries.md": () =>
    import("../../docs/guide/errors_and_retries.md", { with: { type: "text" } }),
  "guide/idempotency.md": () =>
    import("../../docs/guide/idempotency.md", { with: { type: "text" } }),
  "guide/dry_run.md": () => import("../../docs/guide/dry_run.md", { with: { type: "text" } }),
  "guide/paging_and_filters.md": () =>
    import("../../docs/guide/paging_and_filters.md", { with: { type: "text" } }),
  "guide/search.md": () => import("../../docs/guide/search.md", { with: { type: "text" } }),
  "guide/conventions.md": () =>
    import("../../docs/guide/conventions.md", { with: { type: "text" } }),
  "guide/limits.md": () => import("../../docs/guide/limits.md", { with: { type: "text" } }),
  "guide/messages.md": () => import("../../docs/guide/messages.md", { with: { type: "text" } }),
  "guide/persons.md": () => import("../../docs/guide/persons.md", { with: { type: "text" } }),
  "guide/notes.md": () => import("../../docs/guide/notes.md", { with: { type: "text" } }),
  "guide/hash_chain.md": () => import("../../docs/guide/hash_chain.md", { with: { type: "text" } }),
  "guide/going_live.md": () => import("../../docs/guide/going_live.md", { with: { type: "text" } }),
  "operations/install.md": () =>
    import("../../docs/operations/install.md", { with: { type: "text" } }),
  "operations/configuration.md": () =>
    import("../../docs/operations/configuration.md", { with: { type: "text" } }),
  "operations/two_halves.md": () =>
    import("../../docs/operations/two_halves.md", { with: { type: "text" } }),
  "operations/kubernetes.md": () =>
    import("../../docs/operations/kubernetes.md", { with: { type: "text" } }),
  "operations/deno_deploy.md": () =>
    import("../../docs/operations/deno_deploy.md", { with: { type: "text" } }),
  "operations/rights.md": () =>
    import("../../docs/operations/rights.md", { with: { type: "text" } }),
  "operations/nodes.md": () => import("../../docs/operations/nodes.md", { with: { type: "text" } }),
  "operations/quorum.md": () =>
    import("../../docs/operations/quorum.md", { with: { type: "text" } }),
  "operations/assets.md": () =>
    import("../../docs/operations/assets.md", { with: { type: "text" } }),
  "operations/costs.md": () => import("../../docs/operations/costs.md", { with: { type: "text" } }),
  "operations/monitoring.md": () =>
    import("../../docs/operations/monitoring.md", { with: { type: "text" } }),
  "operations/statistics.md": () =>
    import("../../docs/operations/statistics.md", { with: { type: "text" } }),
  "operations/solvency.md": () =>
    import("../../docs/operations/solvency.md", { with: { type: "text" } }),
  "operations/messages.md": () =>
    import("../../docs/operations/messages.md", { with: { type: "text" } }),
  "operations/keys.md": () => import("../../docs/operations/keys.md", { with: { type: "text" } }),
  "operations/upgrade.md": () =>
    import("../../docs/operations/upgrade.md", { with: { type: "text" } }),
  "operations/faults.md": () =>
    import("../../docs/operations/faults.md", { with: { type: "text" } }),
  "operations/stops.md": () => import("../../docs/operations/stops.md", { with: { type: "text" } }),
  "operations/restore.md": () =>
    import("../../docs/operations/restore.md", { with: { type: "text" } }),
  "operations/lost_payments.md": () =>
    import("../../docs/operations/lost_payments.md", { with: { type: "text" } }),
  "operations/disaster_drill.md": () =>
    import("../../docs/operations/disaster_drill.md", { with: { type: "text" } }),
  "operations/audit.md": () => import("../../docs/operations/audit.md", { with: { type: "text" } }),
  "operations/scaling.md": () =>
    import("../../docs/operations/scaling.md", { with: { type: "text" } }),
  "operations/moving_realms.md": () =>
    import("../../docs/operations/moving_realms.md", { with: { type: "text" } }),
  "operations/performance.md": () =>
    import("../../docs/operations/performance.md", { with: { type: "text" } }),
  "internals/database_rules.md": () =>
    import("../../docs/internals/database_rules.md", { with: { type: "text" } }),
  "internals/deposit.md": () =>
    import("../../docs/internals/deposit.md", { with: { type: "text" } }),
  "internals/ledger.md": () => import("../../docs/internals/ledger.md", { with: { type: "text" } }),
  "internals/performance.md": () =>
    import("../../docs/internals/performance.md", { with: { type: "text" } }),
  "internals/request.md": () =>
    import("../../docs/internals/request.md", { with: { type: "text" } }),
  "internals/sending_rules.md": () =>
    import("../../docs/internals/sending_rules.md", { with: { type: "text" } }),
  "internals/withdrawal.md": () =>
    import("../../docs/internals/withdrawal.md", { with: { type: "text" } }),
  "adr/0001-amounts-in-whole-units.md": () =>
    import("../../docs/adr/0001-amounts-in-whole-units.md", { with: { type: "text" } }),
  "adr/0002-routes-declare-once.md": () =>
    import("../../docs/adr/0002-routes-declare-once.md", { with: { type: "text" } }),
  "adr/0003-own-job-table.md": () =>
    import("../../docs/adr/0003-own-job-table.md", { with: { type: "text" } }),
  "adr/0004-exact-json.md": () =>
    import("../../docs/adr/0004-exact-json.md", { with: { type: "text" } }),
  "adr/0005-ids.md": () => import("../../docs/adr/0005-ids.md", { with: { type: "text" } }),
  "adr/0006-refusals-under-idempotency-keys.md": () =>
    import("../../docs/adr/0006-refusals-under-idempotency-keys.md", { with: { type: "text" } }),
  "adr/0007-utxo-chains.md": () =>
    import("../../docs/adr/0007-utxo-chains.md", { with: { type: "text" } }),
  "adr/0008-secrets-of-the-serving-half.md": () =>
    import("../../docs/adr/0008-secrets-of-the-serving-half.md", { with: { type: "text" } }),
  "adr/0009-one-chain-interface.md": () =>
    import("../../docs/adr/0009-one-chain-interface.md", { with: { type: "text" } }),
  "adr/0010-body-of-a-get.md": () =>
    import("../../docs/adr/0010-body-of-a-get.md", { with: { type: "text" } }),
  "adr/0011-signing-keys.md": () =>
    import("../../docs/adr/0011-signing-keys.md", { with: { type: "text" } }),
  "adr/0012-consolidations.md": () =>
    import("../../docs/adr/0012-consolidations.md", { with: { type: "text" } }),
  "adr/0013-withdrawal-batches.md": () =>
    import("../../docs/adr/0013-withdrawal-batches.md", { with: { type: "text" } }),
  "adr/0014-incoming-transfers.md": () =>
    import("../../docs/adr/0014-incoming-transfers.md", { with: { type: "text" } }),
  "adr/0015-finality.md": () =>
    import("../../docs/adr/0015-finality.md", { with: { type: "text" } }),
  "adr/0016-blocks-of-account-chains.md": () =>
    import("../../docs/adr/0016-blocks-of-account-chains.md", { with: { type: "text" } }),
  "adr/0017-what-is-shipped.md": () =>
    import("../../docs/adr/0017-what-is-shipped.md", { with: { type: "text" } }),
  "adr/0018-names.md": () => import("../../docs/adr/0018-names.md", { with: { type: "text" } }),
  "adr/0019-capability-folders.md": () =>
    import("../../docs/adr/0019-capability-folders.md", { with: { type: "text" } }),
  "adr/0020-contents-of-messages.md": () =>
    import("../../docs/adr/0020-contents-of-messages.md", { with: { type: "text" } }),
  "adr/0021-sending-a-message-once.md": () =>
    import("../../docs/adr/0021-sending-a-message-once.md", { with: { type: "text" } }),
  "adr/0022-contact-data-at-rest.md": () =>
    import("../../docs/adr/0022-contact-data-at-rest.md", { with: { type: "text" } }),
  "adr/0023-customer-data-platform.md": () =>
    import("../../docs/adr/0023-customer-data-platform.md", { with: { type: "text" } }),
  "adr/0024-exchange-client-in-isolation.md": () =>
    import("../../docs/adr/0024-exchange-client-in-isolation.md", { with: { type: "text" } }),
  "adr/0025-transfers-are-asked-for-once.md": () =>
    import("../../docs/adr/0025-transfers-are-asked-for-once.md", { with: { type: "text" } }),
  "adr/0026-event-log.md": () =>
    import("../../docs/adr/0026-event-log.md", { with: { type: "text" } }),
  "adr/0027-webhook-delivery.md": () =>
    import("../../docs/adr/0027-webhook-delivery.md", { with: { type: "text" } }),
  "adr/0028-linked-deposits.md": () =>
    import("../../docs/adr/0028-linked-deposits.md", { with: { type: "text" } }),
  "adr/0029-no-memo-on-withdrawals.md": () =>
    import("../../docs/adr/0029-no-memo-on-withdrawals.md", { with: { type: "text" } }),
  "adr/0030-age-of-messages.md": () =>
    import("../../docs/adr/0030-age-of-messages.md", { with: { type: "text" } }),
  "adr/0031-read-replicas.md": () =>
    import("../../docs/adr/0031-read-replicas.md", { with: { type: "text" } }),
  "adr/0032-transfers-before-deliveries.md": () =>
    import("../../docs/adr/0032-transfers-before-deliveries.md", { with: { type: "text" } }),
  "adr/0036-moving-realms.md": () =>
    import("../../docs/adr/0036-moving-realms.md", { with: { type: "text" } }),
  "adr/0037-connections-per-server.md": () =>
    import("../../docs/adr/0037-connections-per-server.md", { with: { type: "text" } }),
  "adr/0038-own-backups.md": () =>
    import("../../docs/adr/0038-own-backups.md", { with: { type: "text" } }),
  "adr/0039-traces.md": () => import("../../docs/adr/0039-traces.md", { with: { type: "text" } }),
  "adr/0040-places-of-new-realms.md": () =>
    import("../../docs/adr/0040-places-of-new-realms.md", { with: { type: "text" } }),
  "adr/0041-index-steps.md": () =>
    import("../../docs/adr/0041-index-steps.md", { with: { type: "text" } }),
  "adr/0042-parts.md": () => import("../../docs/adr/0042-parts.md", { with: { type: "text" } }),
  "adr/0043-generations-of-stored-answers.md": () =>
    import("../../docs/adr/0043-generations-of-stored-answers.md", { with: { type: "text" } }),
  "adr/0044-archived-parts.md": () =>
    import("../../docs/adr/0044-archived-parts.md", { with: { type: "text" } }),
  "adr/0045-one-caller-for-each-connection.md": () =>
    import("../../docs/adr/0045-one-caller-for-each-connection.md", { with: { type: "text" } }),
  "glossary.md": () => import("../../docs/glossary.md", { with: { type: "text" } }),
  "faults.md": () => import("../../docs/faults.md", { with: { type: "text" } }),
  "threat-model.md": () => import("../../docs/threat-model.md", { with: { type: "text" } }),
};

/** The pages by their names. */
export const PAGES: ReadonlyMap<string, GuidePage> = new Map(
  Object.entries(TEXTS).map(([file, load]) => [nameOf(file), { file, load }]),
);
