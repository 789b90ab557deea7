/**
 * Explanations of deposits from the database alone: why a payment was not credited, and what an
 * address is for. No node is asked; a rescan does that.
 * @module
 */
import { z } from "zod";
import { type CursorRow, type NetworkKey, selectCursors } from "../../db/chains/cursors.ts";
import type { Db } from "../../db/database.ts";
import {
  type AddressUseRow,
  type Asked,
  type ExplainedRow,
  type ExplainedUnmatchedRow,
  selectAddressUses,
  selectDepositsAbout,
  selectPurposes,
  selectUnmatchedAbout,
  selectWithdrawalsAbout,
} from "../../db/deposits/explanations.ts";
import { selectLastRescan } from "../../db/deposits/rescans.ts";
import { type Actor, reachesRealm, type RequestActor, roleOf } from "../actor.ts";
import { type ChainId, CHAINS } from "../assets.ts";
import { depthOf } from "../chains/networks.ts";
import { addressForms, hashFormOf, hashForms } from "../chains/text_forms.ts";
import { Flag } from "../entity.ts";
import { mayRead, notFound, rightsOf } from "../permissions.ts";
import { viewRescan } from "./rescans.ts";

/** A use of an address as shown. */
const AddressUseView = z.object({
  kind: z.enum(["ramp", "deposit", "linked", "reserved"]).meta({
    description: "The address of a ramp itself, of a deposit account, of a third party that is " +
      "linked to an account, or one that a ramp has not given out yet.",
  }),
  chain: z.string(),
  testnet: z.boolean(),
  asset: z.string().meta({ description: "The one asset that is credited there." }),
  account: z.string().meta({ description: "The account that is credited; or the ramp." }),
  beneficiary: z.string().nullable().meta({
    description: "The virtual account that the value goes on to, or that is credited itself.",
  }),
  owner: z.string().nullable(),
  paused_at: z.number().int().nullable().meta({
    description: "Since when a linked address is not watched: too many deposits arrived there.",
  }),
  created_at: z.number().int(),
}).meta({ id: "AddressUse" });

/** An address with its uses. */
export const AddressUsesView = z.object({
  address: z.string(),
  uses: z.array(AddressUseView),
}).meta({ id: "AddressUses" });

/** Parameters of an explanation. */
export const ExplainQuery = z.strictObject({
  hash: z.string().min(1).max(128).optional(),
  address: z.string().min(1).max(128).optional(),
  chain: z.enum(CHAINS.map((chain) => chain.id) as [ChainId, ...ChainId[]]).optional(),
  testnet: Flag.optional().meta({
    description: "Whether it was on a test network; either, unless given.",
  }),
}).refine(
  ({ hash, address }) => hash !== undefined || address !== undefined,
  "a hash or an address is expected",
);

/** What became of a payment. */
const VERDICTS = [
  "held",
  "unmined",
  "too_shallow",
  "unmatched",
  "below_minimum",
  "forwarding",
  "credited",
  "orphaned",
  "own_payment",
  "no_such_address",
  "not_given_out",
  "paused",
  "not_scanned",
  "not_seen",
] as const;
type Verdict = typeof VERDICTS[number];

/** A known fact. */
interface Fact {
  fact: "deposit" | "unmatched" | "address" | "payment" | "chain" | "rescan";
  id: string | null;
  detail: string;
}

/** An explanation as shown. */
export const ExplanationView = z.object({
  verdict: z.enum(VERDICTS).meta({
    description: "Of several payments the first in this order, so that one that waits is told " +
      "before those that are credited.",
  }),
  facts: z.array(z.object({
    fact: z.enum(["deposit", "unmatched", "address", "payment", "chain", "rescan"]),
    id: z.string().nullable().meta({
      description: "Of the deposit, the unmatched deposit, the account, the withdrawal or the " +
        "rescan; null where there is none to show.",
    }),
    detail: z.string(),
  })),
}).meta({ id: "DepositExplanation" });

/** Most payments that an explanation reads: of a transaction, or at an address on a network. */
const ROWS_MAX = 20;

/**
 * Tells whose an address is, and for what.
 *
 * @throws {DomainError} address.not_found
 */
export async function findAddress(
  db: Db,
  actor: Actor,
  text: string,
): Promise<z.infer<typeof AddressUsesView>> {
  const uses = await usesOf(db, actor, await addressForms(text));
  if (uses.length === 0) throw notFound("address.not_found");
  return {
    address: uses[0].address,
    uses: uses.map(({ network, address: _, ...use }) => ({ ...use, testnet: network !== "main" })),
  };
}

/** The uses of an address that the actor may see. Reserved ones are for administrators of the realm. */
async function usesOf(
  db: Db,
  actor: Actor,
  forms: readonly string[],
): Promise<AddressUseRow[]> {
  if (forms.length === 0) return [];
  return (await selectAddressUses(db, forms)).filter((use) =>
    use.kind === "reserved" ? isRealmAdmin(actor) : mayRead(actor, use.owner)
  );
}

function isRealmAdmin(actor: Actor): boolean {
  return roleOf(actor) === "admin" && reachesRealm(actor);
}

/** Everything that the database knows of what was asked about. */
interface Known {
  deposits: ExplainedRow[];
  unmatched: ExplainedUnmatchedRow[];
  uses: AddressUseRow[];
  payments: Fact[];
  rescan: Fact[];
  cursors: CursorRow[];
}

/** Explains why a payment was not credited, or what it was credited as. */
export async function explainDeposit(
  db: Db,
  actor: RequestActor,
  input: z.infer<typeof ExplainQuery>,
): Promise<z.infer<typeof ExplanationView>> {
  const known = await knownOf(db, actor, input);
  const depth = ({ chain, network }: ExplainedRow) =>
    depthOf(actor.settings.chains, chain as ChainId, network !== "main");
  const verdicts: Verdict[] = [
    ...known.deposits.map(verdictOf),
    ...known.unmatched.map((): Verdict => "unmatched"),
    ...known.payments.map((): Verdict => "own_payment"),
  ];
  const verdict = VERDICTS.find((one) => verdicts.includes(one)) ?? absence(known, input, actor.at);
  const facts: Fact[] = [
    ...known.deposits.map((row) => depositFact(row, depth(row))),
    ...known.unmatched.map(unmatchedFact),
    ...known.payments,
    ...known.uses.map(addressFact),
    ...known.cursors.map(chainFact),
    ...known.rescan,
  ];
  return { verdict, facts };
}

async function knownOf(
  db: Db,
  actor: Actor,
  { hash, address, chain, testnet }: z.infer<typeof ExplainQuery>,
): Promise<Known> {
  const hashes = hash === undefined ? null : hashForms(hash);
  const addresses = address === undefined ? null : await addressForms(address, chain);
  const isMeant = (one: NetworkKey) =>
    (chain === undefined || one.chain === chain) &&
    (testnet === undefined || (one.network !== "main") === testnet);
  const uses = (await usesOf(db, actor, addresses ?? [])).filter(isMeant);
  const owner = rightsOf(actor).read === "all" ? null : actor.user;
  const at = { chain: chain ?? null, testnet: testnet ?? null };
  const asked: Asked = { hashes, addresses, uses, ...at, owner, limit: ROWS_MAX };
  // What lies at an address that is not the actor's is not looked through.
  const isKnown = hashes === null ? uses.length > 0 : hashes.length > 0;
  const deposits = isKnown ? await selectDepositsAbout(db, asked) : [];
  const unmatched = isKnown ? await selectUnmatchedAbout(db, asked) : [];
  const payments = hashes === null ? [] : await paymentsOf(db, actor, { ...asked, hashes });
  const places = new Set([...deposits, ...unmatched, ...uses].map(networkName));
  // Of a transaction that nothing is known of, each chain that it may be on counts.
  const isAnywhere = hash !== undefined && places.size === 0 && payments.length === 0;
  const counts = (one: CursorRow) =>
    places.has(networkName(one)) || one.chain === chain ||
    (isAnywhere && hashFormOf(one.chain as ChainId, hash) !== null);
  return {
    ...{ deposits, unmatched, uses, payments },
    rescan: hashes === null || !isRealmAdmin(actor) ? [] : await rescanOf(db, { ...asked, hashes }),
    cursors: (await selectCursors(db)).filter((one) => isMeant(one) && counts(one)),
  };
}

function networkName({ chain, network }: NetworkKey): string {
  return `${chain} ${network}`;
}

async function paymentsOf(
  db: Db,
  actor: Actor,
  asked: Asked & { hashes: readonly string[] },
): Promise<Fact[]> {
  const withdrawals = await selectWithdrawalsAbout(db, asked);
  if (withdrawals.length > 0 || !isRealmAdmin(actor)) {
    return withdrawals.map(({ id, status }) => ({
      ...{ fact: "payment", id, detail: `the transaction pays this withdrawal: ${status}` },
    }));
  }
  return (await selectPurposes(db, asked)).map((purpose) => ({
    ...{ fact: "payment", id: null, detail: `the realm itself sent the transaction: ${purpose}` },
  }));
}

async function rescanOf(
  db: Db,
  asked: Asked & { hashes: readonly string[] },
): Promise<Fact[]> {
  const row = await selectLastRescan(db, asked);
  if (row === null) return [];
  const { id, state, node, found_count } = viewRescan(row);
  const told = node === null
    ? "no node was asked yet"
    : node.state === "block"
    ? `a node has the transaction in block ${node.block}`
    : `of the transaction a node says: ${node.state}`;
  const detail = `the last rescan is ${state} and found ${found_count} transfers; ${told}`;
  return [{ fact: "rescan", id, detail }];
}

/** The verdict on a deposit. */
function verdictOf(row: ExplainedRow): Verdict {
  if (row.status === "ORPHANED") return "orphaned";
  if (row.status === "PENDING") {
    if (row.held !== null || row.error !== null) return "held";
    return row.block === null ? "unmined" : "too_shallow";
  }
  if (row.beneficiary === null || row.beneficiary === row.account) return "credited";
  if (row.sweep === "done") return "credited";
  return row.sweep === "waiting" ? "below_minimum" : "forwarding";
}

/** How long a chain may be unread before what is on it counts as not scanned. */
const UNREAD_MS = 600_000;

/** Why nothing is known. */
function absence(
  { uses, cursors }: Known,
  { hash, address }: z.infer<typeof ExplainQuery>,
  at: number,
): Verdict {
  if (address !== undefined && uses.length === 0) return "no_such_address";
  if (uses.length > 0 && uses.every((use) => use.kind === "reserved")) return "not_given_out";
  if (uses.length > 0 && uses.every((use) => use.paused_at !== null)) return "paused";
  const unread = cursors.some((one) =>
    (hash === undefined || hashFormOf(one.chain as ChainId, hash) !== null) &&
    (one.halted !== null || one.height < one.head || at - one.scanned_at > UNREAD_MS)
  );
  return unread ? "not_scanned" : "not_seen";
}

function depositFact(row: ExplainedRow, needs: number): Fact {
  const { id, amount, asset, address, status, confirmations, held, error } = row;
  const said = held !== null
    ? `; it waits for a reconciliation: ${held}`
    : error !== null
    ? `; ${error.code}: ${error.detail ?? "no more is known"}`
    : "";
  const depth = status === "PENDING" ? `, ${confirmations} of ${needs} confirmations` : "";
  const forward = verdictOf(row) === "below_minimum"
    ? "; its value is below the cost of forwarding it and waits for more"
    : verdictOf(row) === "forwarding"
    ? "; its value is being forwarded"
    : "";
  return {
    fact: "deposit",
    id,
    detail: `${amount} ${asset} at ${address}: ${status}${depth}${said}${forward}`,
  };
}

function unmatchedFact(row: ExplainedUnmatchedRow): Fact {
  const { id, address, wanted, asset, contract } = row;
  const came = asset ?? (contract === null ? "another coin" : `the token ${contract}`);
  return { fact: "unmatched", id, detail: `${address} is for ${wanted}, and ${came} arrived` };
}

function addressFact(use: AddressUseRow): Fact {
  const what = {
    ramp: "a ramp's own address",
    deposit: "the address of a deposit account",
    linked: use.paused_at === null
      ? "linked to an account"
      : "linked to an account, and watched no more",
    reserved: "an address of a ramp that was not given out yet",
  }[use.kind];
  const detail = `${use.address} on ${networkName(use)}: ${what}, for ${use.asset}`;
  return { fact: "address", id: use.account, detail };
}

function chainFact(cursor: CursorRow): Fact {
  const halted = cursor.halted === null ? "" : "; it waits for an operator";
  const detail = `${networkName(cursor)} is read up to block ${cursor.height} of ${cursor.head}`;
  return { fact: "chain", id: null, detail: detail + halted };
}
