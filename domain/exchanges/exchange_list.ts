/**
 * The exchanges that the service can work with, as the client library describes them. Data: a file
 * beside this module, which a test compares with the library. The serving half loads no library.
 * @module
 */
import list from "./exchange_list.json" with { type: "json" };

/** The parts of an authentication record. */
export type CredentialName = "api_key" | "secret" | "password" | "uid";

/** An exchange. */
export interface ListedExchange {
  /** Its id in the client library. */
  readonly id: string;
  readonly name: string;
  /** Two-letter codes of the countries that it operates from. */
  readonly countries: readonly string[];
  /** The parts of an authentication record that it asks for. */
  readonly requires: readonly string[];
  /** Hosts of its API. */
  readonly hosts: readonly string[];
}

const EXCHANGES: ReadonlyMap<string, ListedExchange> = new Map(
  (list as ListedExchange[]).map((one) => [one.id, one]),
);

/** Lists every exchange, by id. */
export function allExchanges(): readonly ListedExchange[] {
  return [...EXCHANGES.values()];
}

/** Finds an exchange by its id; null where the service cannot work with it. */
export function findExchange(id: string): ListedExchange | null {
  return EXCHANGES.get(id) ?? null;
}
