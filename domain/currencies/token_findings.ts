/** What was found out about a third party's token, and what of it refuses a registration. @module */
import type { TokenRow } from "../../db/currencies/tokens.ts";
import { fromUnits, toUnits } from "../money.ts";
import type { IssuerRights } from "./token_views.ts";

/** The result of checking a third party's token. */
export interface TokenFindings {
  id: string;
  /** The answers of its contract; null if there is no contract. `supply` in base units. */
  told: {
    decimals: number | null;
    supply: bigint | null;
    name: string | null;
    freezeAuthority?: string | null;
    issuerRights?: IssuerRights;
  } | null;
  /** The settled balance of the ramp's address, in base units. */
  held: bigint;
  /** Whether it moves the value of the coin, of the ramp's asset, or of another token of the ramp. */
  twin: boolean;
  /** The contract, it or one that it was to be compared with, whose code tells no balances; null if all do. */
  silent: string | null;
  /** Contracts of the ramp's tokens that it was compared with. */
  compared: readonly string[];
  /**
   * The newest block at the check: the registered supply includes transfers to the ramp up to it.
   */
  height: number;
}

/** Refuses a supply above the ramp's balance: the whole supply of the currency can be withdrawn. */
export function faultOf(
  token: Pick<TokenRow, "decimals" | "supply">,
  { told, held, twin, silent }: TokenFindings,
): string | null {
  if (told === null) return "no contract lives at this address";
  if (told.decimals === null || told.supply === null) return "the contract is no token";
  if (told.decimals !== token.decimals) {
    return `the contract has ${told.decimals} decimal places, not ${token.decimals}`;
  }
  if (silent !== null) return `the contract ${silent} tells no balance of the ramp's address`;
  if (twin) {
    return "its balance equals that of another asset at the ramp's address: it may be the same asset";
  }
  const units = toUnits(token.supply, token.decimals);
  if (units > told.supply) return `no more than ${fromUnits(told.supply, told.decimals)} exist`;
  if (units <= held) return null;
  return `the ramp holds no more than ${fromUnits(held, told.decimals)} of it`;
}
