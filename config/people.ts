/** Settings of the customer-data platform. @module */
import type { Reader } from "./reader.ts";

/** Where profiles of persons and companies are kept. */
export interface PeopleConfig {
  readonly provider: "local" | "infobip" | "off";
  /** The realm that the account belongs to; null: the oldest one. */
  readonly realm: string | null;
  /** The account at the provider; null where profiles are kept here, or nowhere. */
  readonly account: { readonly baseUrl: string; readonly apiKey: string } | null;
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const REALM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Reads the settings of the customer-data platform. */
export function readPeople(read: Reader): PeopleConfig {
  const provider = read.choice("CDP_PROVIDER", ["local", "infobip", "off"], "local");
  const realm = read.text("CDP_REALM");
  if (realm !== null && !REALM.test(realm)) read.faults.push("CDP_REALM is not the id of a realm");
  if (provider !== "infobip") return { provider, realm, account: null };
  const baseUrl = read.url("INFOBIP_BASE_URL", ["http:", "https:"])?.replace(/\/+$/, "") ?? null;
  const apiKey = read.text("INFOBIP_API_KEY");
  if (baseUrl === null && read.text("INFOBIP_BASE_URL") === null) {
    read.faults.push("INFOBIP_BASE_URL is missing: CDP_PROVIDER=infobip needs it");
  }
  if (apiKey === null) {
    read.faults.push("INFOBIP_API_KEY is missing: CDP_PROVIDER=infobip needs it");
  } else if (/[^\x21-\x7e]/.test(apiKey)) {
    read.faults.push("INFOBIP_API_KEY has characters that no key has");
  }
  if (baseUrl === null || apiKey === null) return { provider, realm, account: null };
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== "https:" && !LOOPBACK.test(hostname)) {
    read.faults.push("INFOBIP_BASE_URL starts with http://: the key would travel in plain text");
  }
  return { provider, realm, account: { baseUrl, apiKey } };
}
