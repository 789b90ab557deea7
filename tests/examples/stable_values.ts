/**
 * Values that differ from run to run, as ones that do not: each is derived from the place where it first appears, so
 * that an exchange that is added changes no other. Equal values stay equal; forms and checksums hold; a secret that
 * the service made is nowhere in what comes out.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { bech32 } from "@scure/base";
import { getAddress, HDNodeWallet } from "ethers";

/** Makes values stable. */
export interface StableValues {
  /** A value of an exchange; `place` names where it stands. */
  of(place: string, value: unknown): unknown;
}

/** What happens to a text of a certain form. */
interface Rule {
  readonly form: RegExp;
  readonly replace: (found: string, digest: string) => string;
}

/** The beginning of 2026, at which every run happens. */
const BASE = 1767225600000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The first 48 bits of an id of {@link BASE}. */
const ID_TIME = "019b76da-a800";
/** Secrets that only the names of their members show. */
const SECRETS: Readonly<Record<string, readonly [form: RegExp, make: (digest: string) => string]>> =
  {
    code: [/^\d{6}$/, (digest) => `${parseInt(digest.slice(0, 12), 16) % 1e6}`.padStart(6, "0")],
    recovery_codes: [/^/, (digest) => digest.slice(0, 20).match(/.{4}/g)!.join("-")],
    secret: [/^[A-Z2-7]{32}$/, base32],
    x: [/^[\w-]{43}$/, base64url],
  };
/** Numbers that a run happens to have: what stands for them, by the names of their members. */
const COUNTS: Readonly<Record<string, number>> = {
  block: 21_000_000,
  height: 21_000_012,
  scanned: 21_000_012,
  finalized: 21_000_008,
  runs: 3,
  lag: 0,
  latency_ms: 84,
  clock_ahead_ms: 0,
};

/** Opens stable values for a run that began at a time. */
export function openStableValues(
  start: number,
  constants: readonly string[],
  words: Readonly<Record<string, string>>,
): StableValues {
  const known = new Map<string, string>();
  const kept = new Set(constants.map((one) => one.toLowerCase()));
  const rules = rulesOf(start);

  function text(place: string, value: string): string {
    const [form, make] = SECRETS[nameAt(place)] ?? [];
    if (make !== undefined && form!.test(value)) return remember(value, place, make);
    let made = value;
    for (const [from, to] of Object.entries(words)) made = made.replaceAll(from, to);
    for (const { form, replace } of rules) {
      let n = 0;
      made = made.replace(
        form,
        (found) =>
          kept.has(found.toLowerCase())
            ? found
            : remember(found, `${place}#${n++}`, (digest) => replace(found, digest)),
      );
    }
    return made;
  }

  function remember(found: string, place: string, make: (digest: string) => string): string {
    const before = known.get(found);
    if (before !== undefined) return before;
    const made = make(createHash("sha256").update(place).digest("hex"));
    known.set(found, made);
    known.set(made, made);
    return made;
  }

  function of(place: string, value: unknown): unknown {
    if (typeof value === "string") return text(place, value);
    if (typeof value === "number") {
      const { [nameAt(place)]: count } = COUNTS;
      return count ?? moment(start, value);
    }
    if (Array.isArray(value)) return value.map((one, n) => of(`${place}/${n}`, one));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [text("", name), of(`${place}/${name}`, one)]),
    );
  }
  return { of };
}

/** The name of the member at a place. */
function nameAt(place: string): string {
  return place.split("/").findLast((part) => !/^\d+$/.test(part)) ?? "";
}

/** A time of the run, to the hour; other numbers as they are. */
function moment(start: number, value: number): number {
  if (!Number.isInteger(value)) return value;
  for (const unit of [1, 1000]) {
    const away = value * unit - start;
    if (Math.abs(away) < 400 * DAY) return (BASE + Math.round(away / HOUR) * HOUR) / unit;
  }
  return value;
}

function rulesOf(start: number): Rule[] {
  return [
    { form: /eyJ[\w-]+\.[\w-]+\.[\w-]+/g, replace: (_, digest) => tokenOf(digest) },
    { form: /whsec_[A-Za-z0-9+/=]+/g, replace: (_, digest) => `whsec_${base64(digest)}` },
    { form: /app_[\w-]{43}/g, replace: (_, digest) => `app_${base64url(digest)}` },
    {
      form: /key_[0-9a-f]{32}_[\w-]{43}/g,
      replace: (_, digest) => `key_${idOf(digest).replaceAll("-", "")}_${base64url(digest)}`,
    },
    { form: /(?<=secret=)[A-Z2-7]{32}/g, replace: (_, digest) => base32(digest) },
    { form: /\b0x[0-9a-fA-F]{64}\b/g, replace: (_, digest) => `0x${digest}` },
    { form: /\b0x[0-9a-fA-F]{40}\b/g, replace: addressOf },
    { form: /\brltc1[a-z0-9]+\b/g, replace: (_, digest) => coinAddressOf(digest) },
    {
      form: /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      replace: (_, digest) => idOf(digest),
    },
    { form: /\b[0-9a-f]{64}\b/g, replace: (_, digest) => digest },
    { form: /\b[0-9a-f]{32}\b/g, replace: (_, digest) => digest.slice(0, 32) },
    { form: /\bxpub[1-9A-HJ-NP-Za-km-z]{100,}/g, replace: (_, digest) => publicKeyOf(digest) },
    {
      form: /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g,
      replace: (found) => new Date(moment(start, Date.parse(found))).toISOString(),
    },
    { form: /\b1\d{12}\b/g, replace: (found) => `${moment(start, Number(found))}` },
  ];
}

/** An id of the form that the service's have. */
function idOf(digest: string): string {
  return `${ID_TIME}-7${digest.slice(0, 3)}-8${digest.slice(3, 6)}-${digest.slice(6, 18)}`;
}

function addressOf(found: string, digest: string): string {
  const made = getAddress(`0x${digest.slice(0, 40)}`);
  return found === found.toLowerCase() ? made.toLowerCase() : made;
}

function coinAddressOf(digest: string): string {
  const hash = Uint8Array.fromHex(digest.slice(0, 40));
  return bech32.encode("rltc", [0, ...bech32.toWords(hash)]);
}

function publicKeyOf(digest: string): string {
  return HDNodeWallet.fromSeed(Uint8Array.fromHex(digest)).neuter().extendedKey;
}

/** A token that no key has signed. */
function tokenOf(digest: string): string {
  const part = (value: unknown) => btoa(JSON.stringify(value)).replaceAll("=", "");
  return `${part({ alg: "EdDSA" })}.${part({ sub: idOf(digest) })}.${base64url(digest + digest)}`;
}

function base64(digest: string): string {
  return Uint8Array.fromHex(digest).toBase64();
}

function base64url(digest: string): string {
  return Uint8Array.fromHex(digest).toBase64({ alphabet: "base64url", omitPadding: true });
}

function base32(digest: string): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  return [...Uint8Array.fromHex(digest)].map((byte) => letters[byte % 32]).join("");
}
