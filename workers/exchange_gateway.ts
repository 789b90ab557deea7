/** The exchange gateway as workers see it, and how it fails. Amounts are decimal texts. @module */
import type { ExchangeCurrency } from "../domain/exchanges/exchange_assets.ts";
import type { ExchangeEnd } from "../domain/exchanges/transfer_ends.ts";
import type { NamedAddress } from "../domain/exchanges/transfer_payment.ts";
import type { InstallationSettings } from "../domain/installation_settings.ts";
import type { CredentialKeys } from "./keys/exchange_keys.ts";

/** Credentials of an account at an exchange, decrypted. */
export type Credentials = Readonly<Record<string, string>>;

/** An account at an exchange. */
export interface ExchangeAccount {
  /** Id of the external ramp; requests of one account are made one after the other. */
  readonly id: string;
  /** Id of the exchange. */
  readonly exchange: string;
  /** Whose requests they are, as `realm/user`: threads are shared out by it. */
  readonly owner: string;
  readonly credentials: Credentials;
}

/** A currency on one network, in the exchange's names. */
export interface ExchangeAsset {
  readonly currency: string;
  readonly network: string;
}

/** A payment that an exchange is asked for. */
export interface ExchangePayment extends ExchangeAsset {
  readonly address: string;
  readonly amount: string;
  /** Our id of it, which exchanges that take one use once. */
  readonly mark: string;
}

/** A currency, and the time from which its transfers are listed. */
export interface ExchangeHistory extends Pick<ExchangeAsset, "currency"> {
  readonly since: number;
  readonly mark: string;
}

/** Talks with exchanges. Each call fails with an {@link ExchangeError}. */
export interface ExchangeGateway {
  /** Lists the currencies; the exchange checks the key for it. */
  currencies(account: ExchangeAccount): Promise<ExchangeCurrency[]>;
  depositAddress(account: ExchangeAccount, of: ExchangeAsset): Promise<NamedAddress>;
  /** Asks the exchange to pay: never to be repeated unless it fails as `refused` or `unasked`. */
  withdraw(account: ExchangeAccount, payment: ExchangePayment): Promise<ExchangeEnd>;
  withdrawals(account: ExchangeAccount, of: ExchangeHistory): Promise<ExchangeEnd[]>;
  deposits(account: ExchangeAccount, of: ExchangeHistory): Promise<ExchangeEnd[]>;
  close(): void;
}

/** Exchanges of an installation: their gateway, and the keys of credentials. */
export interface Exchanges {
  readonly gateway: ExchangeGateway;
  readonly keys: CredentialKeys;
  readonly settings: InstallationSettings;
}

/**
 * How a call failed. `key`: the exchange refuses the key. `refused`: it refuses the request, and did
 * nothing. `unasked`: it was not asked. `timeout` and `unknown`: whether it did something is not known.
 */
export type ExchangeFault = "key" | "refused" | "unasked" | "timeout" | "unknown";

/** A call to an exchange that failed; the message holds neither keys nor addresses of the network. */
export class ExchangeError extends Error {
  override readonly name = "ExchangeError";

  /** Makes an error. */
  constructor(readonly fault: ExchangeFault, message: string) {
    super(message);
  }
}
