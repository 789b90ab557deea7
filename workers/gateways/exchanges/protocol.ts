/** Messages between the gateway of exchanges and the isolated code of the client library. @module */
import type { ExchangeFault } from "../../exchange_gateway.ts";

/** A call. */
export interface ExchangeRequest {
  readonly id: number;
  /** Id of the external ramp. */
  readonly account: string;
  readonly exchange: string;
  readonly credentials: Readonly<Record<string, string>>;
  /** Another address of the exchange; null: its own. */
  readonly url: string | null;
  readonly call:
    | "currencies"
    | "depositAddress"
    | "withdraw"
    | "withdrawals"
    | "deposits";
  readonly args: Readonly<Record<string, string | number>>;
}

/** The answer to a call. */
export type ExchangeReply =
  | { readonly id: number; readonly value: unknown }
  | {
    readonly id: number;
    readonly fault: ExchangeFault;
    readonly message: string;
  };
