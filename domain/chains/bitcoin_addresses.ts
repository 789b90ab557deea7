/**
 * Addresses of Bitcoin and its relatives, parsed into their output scripts. Only forms that are safe to
 * pay are accepted; the account of an address is not known here.
 * @module
 */
import { type ChainId, chainInfo } from "../assets.ts";

/** Names a network of a chain. */
export type Network = "main" | "testnet" | "signet" | "regtest";

/** A refusal of an address. */
export interface Refusal {
  /** Tells it apart from a good address. */
  readonly ok: false;
  /** The fault, in words for the caller. */
  readonly reason: string;
}

/** Holds an address that one may pay to. */
export interface Payee {
  /** Tells it apart from a refusal. */
  readonly ok: true;
  /** The one form in which this script's address is stored and compared. */
  readonly address: string;
  /** The output script (scriptPubKey) that pays it. */
  readonly script: Uint8Array;
}

interface Form {
  readonly pubkeyHash: number;
  readonly scriptHash: number;
  readonly bech32: string | null;
}

const FORMS: ReadonlyMap<string, Form> = new Map([
  ["BITCOIN main", { pubkeyHash: 0x00, scriptHash: 0x05, bech32: "bc" }],
  ["BITCOIN testnet", { pubkeyHash: 0x6f, scriptHash: 0xc4, bech32: "tb" }],
  ["BITCOIN signet", { pubkeyHash: 0x6f, scriptHash: 0xc4, bech32: "tb" }],
  ["BITCOIN regtest", { pubkeyHash: 0x6f, scriptHash: 0xc4, bech32: "bcrt" }],
  ["LITECOIN main", { pubkeyHash: 0x30, scriptHash: 0x32, bech32: "ltc" }],
  ["LITECOIN testnet", { pubkeyHash: 0x6f, scriptHash: 0x3a, bech32: "tltc" }],
  ["LITECOIN regtest", { pubkeyHash: 0x6f, scriptHash: 0x3a, bech32: "rltc" }],
  ["DOGECOIN main", { pubkeyHash: 0x1e, scriptHash: 0x16, bech32: null }],
  ["DOGECOIN testnet", { pubkeyHash: 0x71, scriptHash: 0xc4, bech32: null }],
  ["DOGECOIN regtest", { pubkeyHash: 0x6f, scriptHash: 0xc4, bech32: null }],
]);

type CashPrefix = "bitcoincash" | "bchtest" | "bchreg";

const CASH_PREFIX: Readonly<Record<string, CashPrefix>> = {
  main: "bitcoincash",
  testnet: "bchtest",
  regtest: "bchreg",
};

/** Reads an address of a chain of the Bitcoin family. */
export async function parseBitcoin(
  chain: ChainId,
  network: Network,
  text: string,
): Promise<Payee | Refusal> {
  if (chain === "BITCOIN_CASH") return await cash(network, text);
  const form = FORMS.get(`${chain} ${network}`);
  if (!form) return refuse(`${chainInfo(chain).name} has no ${network} network`);
  const hrp = /^([a-z]+)1/i.exec(text)?.[1].toLowerCase() ?? "";
  if (hrp === "ltcmweb" || hrp === "tmweb") {
    return refuse("addresses of the MWEB extension are not supported");
  }
  if (owners((one) => one.bech32 === hrp)) return await segwit(form, hrp, text);
  return await base58(chain, form, text);
}

/** Writes an output script as the address that stands for it; null if none is payable. */
export async function writeBitcoin(
  chain: ChainId,
  network: Network,
  script: Uint8Array,
): Promise<string | null> {
  const form = FORMS.get(`${chain} ${network}`) ?? null;
  const prefix = chain === "BITCOIN_CASH" ? CASH_PREFIX[network] : undefined;
  const text = await written(form, prefix, script);
  if (text === null) return null;
  // Reading it back excludes scripts that only resemble a payable one.
  const payee = await parseBitcoin(chain, network, text);
  return payee.ok && sameBytes(payee.script, script) ? payee.address : null;
}

async function written(
  form: Form | null,
  prefix: CashPrefix | undefined,
  script: Uint8Array,
): Promise<string | null> {
  const keyHash = script.subarray(3, -2);
  const scriptHash = script.subarray(2, -1);
  const toKey = script.length === 25 && sameBytes(script, payToKeyHash(keyHash));
  const toScript = [23, 35].includes(script.length) && sameBytes(script, payToScript(scriptHash));
  if (prefix !== undefined) {
    if (!toKey && !toScript) return null;
    const { encodeCashAddress } = await import("@bitauth/libauth");
    const [payload, type] = toKey ? [keyHash, "p2pkh" as const] : [scriptHash, "p2sh" as const];
    return encodeCashAddress({ prefix, payload, type }).address;
  }
  if (form === null) return null;
  const { address } = await import("bitcoinjs-lib");
  if (toKey) return address.toBase58Check(keyHash, form.pubkeyHash);
  if (toScript && script.length === 23) return address.toBase58Check(scriptHash, form.scriptHash);
  const version = script[0] === 0 ? 0 : script[0] - 0x50;
  const program = script.subarray(2);
  const witness = version >= 0 && version <= 1 && script[1] === program.length;
  if (form.bech32 === null || !witness || program.length === 0) return null;
  return address.toBech32(program, version, form.bech32);
}

async function segwit(form: Form, hrp: string, text: string): Promise<Payee | Refusal> {
  if (hrp !== form.bech32) return refuse(elsewhere(owners((one) => one.bech32 === hrp)));
  if (mixesCase(text)) return refuse("it mixes upper and lower case");
  const { address } = await import("bitcoinjs-lib");
  let program: { version: number; data: Uint8Array };
  try {
    program = address.fromBech32(text);
  } catch (error) {
    return refuse(
      /wrong encoding/.test(String(error))
        ? "the checksum is of the wrong kind: witness version 0 takes bech32, later ones bech32m"
        : "the checksum or a character is wrong",
    );
  }
  const { version, data } = program;
  const fault = await witnessFault(version, data);
  if (fault) return refuse(fault);
  const script = Uint8Array.of(version === 0 ? 0 : 0x50 + version, data.length, ...data);
  return { ok: true, address: text.toLowerCase(), script };
}

async function witnessFault(version: number, data: Uint8Array): Promise<string | null> {
  if (version === 0) {
    return data.length === 20 || data.length === 32
      ? null
      : "the witness program's length is wrong";
  }
  // Coins sent to a version nobody has given a meaning yet can be taken by anyone.
  if (version !== 1) return `witness version ${version} is not in use`;
  if (data.length !== 32) return "the witness program's length is wrong";
  const { isXOnlyPoint } = await import("@bitcoinerlab/secp256k1");
  return isXOnlyPoint(data) ? null : "no key can spend from it: the taproot key is off the curve";
}

async function base58(chain: ChainId, form: Form, text: string): Promise<Payee | Refusal> {
  const { address } = await import("bitcoinjs-lib");
  let decoded: { version: number; hash: Uint8Array };
  try {
    decoded = address.fromBase58Check(text);
  } catch (error) {
    return refuse(
      /checksum/i.test(String(error)) ? "the checksum is wrong" : "the form is unknown",
    );
  }
  const { version, hash } = decoded;
  if (version === form.pubkeyHash) return { ok: true, address: text, script: payToKeyHash(hash) };
  if (version === form.scriptHash) return { ok: true, address: text, script: payToScript(hash) };
  if (chain === "LITECOIN" && (version === 0x05 || version === 0xc4)) {
    return refuse("this form is shared with Bitcoin; write the address in its Litecoin form");
  }
  return refuse(
    elsewhere(owners((one) => one.pubkeyHash === version || one.scriptHash === version)),
  );
}

async function cash(network: Network, text: string): Promise<Payee | Refusal> {
  const prefix = CASH_PREFIX[network];
  if (!prefix) return refuse(`Bitcoin Cash has no ${network} network`);
  if (/^[123mn][1-9A-HJ-NP-Za-km-z]{24,34}$/.test(text)) {
    return refuse("the legacy form is shared with Bitcoin; write the address as CashAddr");
  }
  if (mixesCase(text)) return refuse("it mixes upper and lower case");
  const lower = text.toLowerCase();
  const { decodeCashAddress, encodeCashAddress } = await import("@bitauth/libauth");
  const decoded = decodeCashAddress(lower.includes(":") ? lower : `${prefix}:${lower}`);
  if (typeof decoded === "string") return refuse("the checksum, a character or the form is wrong");
  const { payload, type } = decoded;
  if (decoded.prefix !== prefix) return refuse(`it is for ${decoded.prefix}, not for ${prefix}`);
  const toKey = type === "p2pkh" || type === "p2pkhWithTokens";
  if (payload.length !== 20 && (toKey || payload.length !== 32)) {
    return refuse("the hash has a length that is not in use");
  }
  // A token-aware address stands for the same script as the plain one.
  const plain = encodeCashAddress({ prefix, payload, type: toKey ? "p2pkh" : "p2sh" });
  const script = toKey ? payToKeyHash(payload) : payToScript(payload);
  return { ok: true, address: plain.address, script };
}

function payToKeyHash(hash: Uint8Array): Uint8Array {
  return Uint8Array.of(0x76, 0xa9, hash.length, ...hash, 0x88, 0xac);
}

/** Takes 20 bytes of HASH160 or, on Bitcoin Cash, 32 bytes of HASH256. */
function payToScript(hash: Uint8Array): Uint8Array {
  return Uint8Array.of(hash.length === 20 ? 0xa9 : 0xaa, hash.length, ...hash, 0x87);
}

/** Names the networks whose form passes the test, or "". */
function owners(test: (form: Form) => boolean): string {
  return [...FORMS].filter(([, form]) => test(form)).map(([key]) => {
    const [chain, network] = key.split(" ");
    return `${chainInfo(chain as ChainId).name} ${network}`;
  }).join(", ");
}

function elsewhere(networks: string): string {
  return networks ? `it is an address of ${networks}` : "it belongs to a network that is unknown";
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

function mixesCase(text: string): boolean {
  return text !== text.toLowerCase() && text !== text.toUpperCase();
}

function refuse(reason: string): Refusal {
  return { ok: false, reason };
}
