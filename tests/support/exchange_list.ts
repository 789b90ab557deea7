/**
 * The list of exchanges as the client library knows them, for the file that the service reads.
 * Run by itself it writes the file anew: `deno run -A --config tests/deno.json tests/support/exchange_list.ts`.
 * @module
 */
import type { ListedExchange } from "../../domain/exchanges/exchange_list.ts";

const FILE = new URL(
  "../../domain/exchanges/exchange_list.json",
  import.meta.url,
);
/** Calls that a transfer takes. */
const NEEDED = [
  "fetchCurrencies",
  "fetchDepositAddress",
  "fetchDeposits",
  "fetchWithdrawals",
];
/** Credentials that a record can hold, by their name in the library. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  apiKey: "api_key",
  secret: "secret",
  password: "password",
  uid: "uid",
};

interface Described {
  id: string;
  name: string;
  countries?: string[];
  has: Record<string, unknown>;
  urls: { api?: unknown };
  hostname?: string;
  requiredCredentials: Record<string, boolean>;
  implodeHostname(url: string): string;
}

/** Describes every exchange that the service can work with. */
export async function describeExchanges(): Promise<ListedExchange[]> {
  const { default: ccxt } = await import("ccxt");
  const classes = ccxt as unknown as Record<string, new () => Described> & {
    exchanges: string[];
  };
  const listed: ListedExchange[] = [];
  for (const id of classes.exchanges) {
    const one = new classes[id]();
    const requires = Object.entries(one.requiredCredentials).filter(([, is]) => is)
      .map(([name]) => CREDENTIALS[name] ?? name);
    const known = requires.every((name) => Object.values(CREDENTIALS).includes(name));
    const able = one.has.withdraw === true &&
      NEEDED.every((call) => one.has[call] === true);
    if (!known || !able || !requires.includes("api_key") || !requires.includes("secret")) continue;
    listed.push({
      id,
      name: one.name,
      countries: [...new Set(one.countries ?? [])].filter((code) => /^[A-Z]{2}$/.test(code)).sort(),
      requires,
      hosts: hostsOf(one),
    });
  }
  return listed;
}

function hostsOf(one: Described): string[] {
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === "string") texts.push(one.implodeHostname(value));
    else if (typeof value === "object" && value !== null) {
      Object.values(value).forEach(collect);
    }
  };
  collect(one.urls.api);
  return [
    ...new Set(
      texts.filter((text) => text.startsWith("https://") && URL.canParse(text))
        .map((text) => new URL(text).host),
    ),
  ].sort();
}

if (import.meta.main) {
  const text = (await describeExchanges()).map((one) => `  ${JSON.stringify(one)}`).join(",\n");
  await Deno.writeTextFile(FILE, `[\n${text}\n]\n`);
}
