/**
 * Asset settings of an operator, in one JSON object.
 *
 * @module
 */
import type { AssetState } from "../domain/asset_registry.ts";
import type { AssetSetting } from "../domain/chains/asset_settings.ts";
import type { Reader } from "./reader.ts";

const STATES: Readonly<Record<AssetState, true>> = {
  "active": true,
  "deposit-only": true,
  "withdraw-only": true,
  "suspended": true,
};
const ASSET_STATES = Object.keys(STATES);

/** Schema of the settings of an asset. */
const ASSET_FIELDS: Readonly<Record<keyof AssetSetting, { is: RegExp; expected: string }>> = {
  contract: { is: /^\S{1,128}$/, expected: "an address" },
  symbol: { is: /^\S.{0,63}$/, expected: "1 to 64 characters" },
  state: {
    is: new RegExp(`^(${ASSET_STATES.join("|")})$`),
    expected: `one of ${ASSET_STATES.join(", ")}`,
  },
  reason: { is: /^\S.{0,499}$/, expected: "1 to 500 characters in one line" },
};

/** Reads the setting ASSETS: those assets of it that have no fault. */
export function readAssets(read: Reader): Readonly<Record<string, AssetSetting>> {
  const text = read.text("ASSETS");
  if (text === null) return {};
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    given = null;
  }
  if (!isObject(given)) {
    read.faults.push('ASSETS is not a JSON object such as {"USDC": {"state": "suspended"}}');
    return {};
  }
  for (const key of repeatedKeys(text)) read.faults.push(`ASSETS: ${key} is named twice`);
  const sound = Object.entries(given).filter(([code, setting]) => {
    const faults = faultsOfAsset(setting);
    read.faults.push(...faults.map((fault) => `ASSETS: ${code}${fault}`));
    return faults.length === 0;
  });
  return Object.fromEntries(sound) as Record<string, AssetSetting>;
}

/** Lists the keys that an object of a JSON text has more than once; parsing keeps the last. */
function repeatedKeys(text: string): string[] {
  const open: Set<string>[] = [];
  const repeated: string[] = [];
  let last = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (token !== ":") last = JSON.parse(token);
    else if (open.at(-1)!.has(last)) repeated.push(last);
    else open.at(-1)!.add(last);
  }
  return repeated;
}

function faultsOfAsset(setting: unknown): string[] {
  if (!isObject(setting)) return [" is not an object of contract, symbol, state, reason"];
  return Object.entries(setting).flatMap(([field, value]) => {
    if (!Object.hasOwn(ASSET_FIELDS, field)) return [`.${field} is not a known setting`];
    const { is, expected } = ASSET_FIELDS[field as keyof AssetSetting];
    if (typeof value === "string" && is.test(value)) return [];
    return [`.${field} is ${JSON.stringify(value)}; ${expected} is expected`];
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
