/** Messages between the gateway of exchanges and the isolated code of the client library. @module */
import { z } from "zod";
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

/** Text of which every letter can be seen: what has others is nothing that an exchange would name. */
const Text = z.string().max(200).nullable()
  .transform((text) => text !== null && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(text) ? text : null);
const End = z.object({
  ...{ reference: Text, hash: Text, address: Text, amount: Text, fee: Text, status: Text },
  ...{ network: Text, at: z.number().nullable(), marked: z.boolean(), foreign: z.boolean() },
});
const Network = z.object({
  ...{ network: z.string().max(200), contract: Text, takes: z.boolean(), pays: z.boolean() },
  ...{ minimum: Text, fee: Text, leastTaken: Text, step: Text },
});

/** The forms of the values: what comes out of the isolated thread is checked before it is used. */
export const REPLIES: Readonly<Record<ExchangeRequest["call"], z.ZodType>> = {
  currencies: z.array(
    z.object({ code: z.string().max(200), networks: z.array(Network).max(500) }),
  ).max(50_000),
  depositAddress: z.object({
    ...{ address: Text, network: Text, currency: Text },
    tag: z.string().max(200).nullable(), // a memo stays one, whatever is in it
  }),
  withdraw: End,
  withdrawals: z.array(End).max(50_000),
  deposits: z.array(End).max(50_000),
};
