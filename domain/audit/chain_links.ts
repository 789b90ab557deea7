/**
 * Links of the hash chain: the text that each hash covers, the function that computes the hashes,
 * and the view for auditors who recompute them.
 * @module
 */
import { hash } from "node:crypto";
import { z } from "zod";
import type { Linkable, LinkableTransaction, LinkRow } from "../../db/audit/hash_chain.ts";
import { canonical } from "../canonical_json.ts";
import { DecimalText, trim } from "../money.ts";

const HASH_BYTES = 32;
/** The hash before the first link: 32 zero bytes, in hexadecimal. */
export const GENESIS: string = "00".repeat(HASH_BYTES);
const FORM_START = 4096;

/** Number and salt of a link; the hash covers both. */
export interface Stand {
  seq: bigint;
  /** 16 random bytes in hexadecimal. */
  salt: string;
}

/** View of a transaction's link: all fields that the hash covers, and the hash. */
const TransactionLink = z.object({
  id: z.string(),
  seq: z.number().int(),
  hash: z.string(),
  salt: z.string(),
  type: z.string(),
  source: z.object({ account: z.string() }),
  destination: z.object({ account: z.string() }),
  asset: z.string(),
  testnet: z.boolean(),
  amount: DecimalText,
  fiat: z.object({ currency: z.string(), rate: DecimalText, value: DecimalText }).nullable(),
  seal: z.record(z.string(), z.unknown()).nullable(),
  reference: z.string().nullable(),
  address_data: z.record(z.string(), z.unknown()).optional(),
  api_key: z.string().optional(),
  reverts: z.string().optional(),
  owner: z.string().nullable(),
  created_at: z.number().int(),
});

/** View of an event's link: all fields that the hash covers, and the hash. */
const EventLink = z.object({
  seq: z.number().int(),
  hash: z.string(),
  salt: z.string(),
  kind: z.string().meta({ description: "The table whose row it is; or `realm`, or `audit`." }),
  subject: z.string(),
  facts: z.record(z.string(), z.unknown()).nullable().meta({
    description: "All of the row that matters for whose money it is, from then on; null: gone.",
  }),
  at: z.number().int(),
});

/** View of a link whose row is gone, or archived: only the hash is left, and the chain goes on from it. */
const MissingLink = z.object({
  seq: z.number().int(),
  hash: z.string(),
  salt: z.string(),
  id: z.string(),
  missing: z.enum(["transaction", "event"]),
  archived: z.boolean().optional().meta({
    description:
      "The transaction left the database with its part; an event of the chain names the part.",
  }),
});

/** A link of the chain as shown. */
export const ChainLinkView = z.union([TransactionLink, EventLink, MissingLink])
  .meta({ id: "ChainLink" });
/** A link of the chain as shown. */
export type ChainLink = z.infer<typeof ChainLinkView>;

/** Writes the text that a link's hash covers: canonical JSON (RFC 8785). */
export function linkText(row: Linkable, stand: Stand): string {
  if (row.event === null) return transactionForm(row, stand);
  const facts = row.facts === null ? "null" : canonical(row.facts);
  return `{"at":${row.noted_at},"facts":${facts},"kind":${JSON.stringify(row.kind)},` +
    `"salt":"${stand.salt}","seq":${stand.seq},"subject":${JSON.stringify(row.subject)}}`;
}

/** Writes a transaction's unchanging fields; the keys are in canonical order already. */
function transactionForm(row: LinkableTransaction, { seq, salt }: Stand): string {
  const fiat = row.fiat_currency === null
    ? "null"
    : `{"currency":"${row.fiat_currency}","rate":"${trim(row.fiat_rate!)}","value":"${
      trim(row.fiat_value!)
    }"}`;
  return (row.address_data === null ? "{" : `{"address_data":${canonical(row.address_data)},`) +
    `"amount":"${trim(row.amount)}",` +
    (row.api_key === null ? "" : `"api_key":"${row.api_key}",`) +
    `"asset":${JSON.stringify(row.asset)},` +
    `"created_at":${row.created_at},"destination":"${row.destination}","fiat":${fiat},` +
    `"id":"${row.id}","owner":${row.owner === null ? "null" : `"${row.owner}"`},` +
    `"reference":${row.reference === null ? "null" : JSON.stringify(row.reference)},` +
    (row.reverts === null ? "" : `"reverts":"${row.reverts}",`) +
    `"salt":"${salt}","seal":${row.seal === null ? "null" : canonical(row.seal)},"seq":${seq},` +
    `"source":"${row.source}","testnet":${row.testnet},"type":"${row.type}"}`;
}

/**
 * Returns a function that computes each next hash of a chain: SHA-256 of the last hash and the
 * text.
 *
 * @param start the hash that the chain begins behind; hashes are 32 bytes, in hexadecimal
 */
export function createLinker(start: string): (text: string) => string {
  const encoder = new TextEncoder();
  let buffer = new Uint8Array(HASH_BYTES + FORM_START);
  let last = start;
  return (text) => {
    const most = HASH_BYTES + text.length * 3;
    if (buffer.length < most) buffer = new Uint8Array(most);
    buffer.setFromHex(last);
    const { written } = encoder.encodeInto(text, buffer.subarray(HASH_BYTES));
    last = hash("sha256", buffer.subarray(0, HASH_BYTES + written), "hex");
    return last;
  };
}

/** Shows a link: all fields that its hash covers, or only its hash and id if the row is gone or archived. */
export function viewLink(row: LinkRow): ChainLink {
  const link = { seq: parseInt(row.seq, 10), hash: row.hash, salt: row.salt };
  if (row.event !== null) {
    const { kind, subject, facts, noted_at: at } = row;
    return { ...link, kind, subject, facts, at };
  }
  if (row.id === null) {
    if (row.missing === "archived") {
      return { ...link, id: row.covers, missing: "transaction", archived: true };
    }
    return { ...link, id: row.covers, missing: row.missing };
  }
  return {
    id: row.id,
    ...link,
    type: row.type,
    source: { account: row.source },
    destination: { account: row.destination },
    asset: row.asset,
    testnet: row.testnet,
    amount: trim(row.amount),
    fiat: row.fiat_currency === null ? null : {
      currency: row.fiat_currency,
      rate: trim(row.fiat_rate!),
      value: trim(row.fiat_value!),
    },
    seal: row.seal,
    reference: row.reference,
    ...(row.address_data === null ? {} : { address_data: row.address_data }),
    ...(row.api_key === null ? {} : { api_key: row.api_key }),
    ...(row.reverts === null ? {} : { reverts: row.reverts }),
    owner: row.owner,
    created_at: row.created_at,
  };
}
