/**
 * Settings of exchanges: which of them workers may reach, and other addresses of theirs.
 *
 * @module
 */
import list from "../domain/exchanges/exchange_list.json" with { type: "json" };
import type { Reader } from "./reader.ts";

/** The settings of exchanges. */
export interface ExchangeSettings {
  /** Exchanges that workers may reach, by their id; null: all that are supported. */
  exchanges: readonly string[] | null;
  /** Other addresses of exchanges, by their id. */
  exchangeUrls: Readonly<Record<string, string>>;
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Reads the setting EXCHANGES, and an address of each exchange that has one. */
export function readExchanges(
  read: Reader,
  env: Readonly<Record<string, string>>,
): ExchangeSettings {
  const given = read.text("EXCHANGES");
  const ids = list.map(({ id }) => id);
  const named = given === null || given === "none"
    ? []
    : given.split(",").map((id) => id.trim()).filter((id) => id !== "");
  for (const id of named) {
    if (ids.includes(id)) continue;
    read.faults.push(`EXCHANGES: ${JSON.stringify(id)} is no exchange that is supported`);
  }
  const exchangeUrls: Record<string, string> = {};
  for (const name of Object.keys(env)) {
    const id = /^RAMP_([A-Z0-9_]+)_URL$/.exec(name)?.[1].toLowerCase();
    if (id === undefined) continue;
    if (!ids.includes(id)) {
      read.faults.push(`${name} names no exchange that is supported`);
      continue;
    }
    const url = read.url(name, ["http:", "https:"]);
    if (url === null) continue;
    // Keys and money never cross a network in plain text.
    if (new URL(url).protocol === "https:" || LOOPBACK.test(new URL(url).hostname)) {
      exchangeUrls[id] = url;
    } else {
      read.faults.push(`${name} is not encrypted: https:// is expected on another machine`);
    }
  }
  return { exchanges: given === null ? null : named, exchangeUrls };
}
