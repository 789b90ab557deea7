/** A realm with a funded Ethereum ramp and an external ramp at an exchange on loopback. @module */
import { selectRampTransfer } from "../../db/exchanges/ramp_transfers.ts";
import { reading } from "../../db/transaction.ts";
import { viewRampTransfer } from "../../domain/exchanges/ramp_transfer_views.ts";
import { newId } from "../../domain/ids.ts";
import type { ExchangeGateway, Exchanges } from "../../workers/exchange_gateway.ts";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { advanceTransfer, type OnTransferCheckpoint } from "../../workers/exchanges/transfers.ts";
import { openExchangeGateway } from "../../workers/gateways/exchanges/gateway.ts";
import { openCredentialKeys } from "../../workers/keys/exchange_keys.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { until } from "./eventually.ts";
import { type FundedRamp, openFundedRamp } from "./evm_fixture.ts";
import { EXCHANGE_KEY, type ExchangeServer, startExchange } from "./exchange_server.ts";
import type { Answer, TestRealm } from "./realm.ts";

/** What workers need for exchanges. */
export function openTestExchanges(realm: TestRealm, urls: Record<string, string>): Exchanges {
  const { config } = realm.services;
  const open = { assertOpen: () => Promise.resolve() };
  return {
    // On a busy machine the client library may take longer to load than a call may take.
    gateway: openExchangeGateway({ urls, timeoutMs: 240_000 }),
    keys: openCredentialKeys(config.masterKey!, Date.now, {
      ...open,
      underMaster: (work) => work(),
    }),
    settings: {
      chains: config.chains,
      hotFeeMaxFactor: config.hotFeeMaxFactor,
      webhooks: config.webhooks,
    },
  };
}

/** A fixture. */
export interface ExchangeFixture extends AsyncDisposable {
  funded: FundedRamp;
  realm: TestRealm;
  exchange: ExchangeServer;
  exchanges: Exchanges;
  /** Id of the external ramp; it is ready. */
  ramp: string;
  context(now?: number): WorkerContext;
  deposit(more?: Record<string, unknown>): Promise<Answer>;
  withdraw(more?: Record<string, unknown>): Promise<Answer>;
  /** Carries a transfer on, and shows it. */
  advance(
    id: string,
    how?: {
      at?: OnTransferCheckpoint;
      now?: number;
      gateway?: ExchangeGateway;
    },
  ): Promise<Answer["body"]>;
}

/**
 * Opens a fixture.
 *
 * @param more addresses of other exchanges, by their id
 * @param env further settings
 */
export async function openExchangeFixture(
  more: Readonly<Record<string, string>> = {},
  env: Record<string, string> = {},
): Promise<ExchangeFixture> {
  const exchange = startExchange();
  const funded = await openFundedRamp({ env });
  const { realm } = funded;
  const exchanges = openTestExchanges(realm, { binance: exchange.url, ...more });
  await exchanges.keys.ensureKey({ realm: realm.id, pool: realm.pool });
  const context = (now = Date.now()): WorkerContext => ({
    ...funded.context,
    exchanges,
    actor: { ...funded.context.actor, at: now, requestId: newId(now) },
  });
  const { send, identity } = realm.admin;
  const made = await send("POST", "/v1/ramps", {
    ramp: "binance",
    identity,
    authentication: EXCHANGE_KEY,
  });
  if (made.status !== 201) throw new Error(made.text);
  const ramp: string = made.body.id;
  // A busy machine takes longer to load the client library than a call may take.
  await until(async () => {
    await checkExternalRamp(context(), { ramp });
    return (await send("GET", `/v1/ramps/${ramp}`)).body.status === "READY";
  });
  const { account } = funded;
  return {
    ...{ funded, realm, exchange, exchanges, ramp, context },
    deposit: (more = {}) =>
      send("POST", `/v1/ramps/${ramp}/deposit`, { account, asset: "ETH", value: "1.5", ...more }),
    withdraw: (more = {}) =>
      send("POST", `/v1/ramps/${ramp}/withdraw`, { account, asset: "ETH", value: "2", ...more }),
    async advance(id, { at, now, gateway } = {}) {
      const given = context(now);
      const own = gateway === undefined
        ? given
        : { ...given, exchanges: { ...exchanges, gateway } };
      await advanceTransfer(own, { transfer: id }, at);
      const row = await reading(realm.pool, (db) => selectRampTransfer(db, id));
      return viewRampTransfer(row!);
    },
    async [Symbol.asyncDispose]() {
      exchanges.gateway.close();
      await funded[Symbol.asyncDispose]();
      await exchange[Symbol.asyncDispose]();
    },
  };
}
