/**
 * Virtual currencies: users create them, issue them and destroy them in the realm's ledger.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { type CurrencyRow, insertCurrency, type IssueRow } from "../../db/currencies/currencies.ts";
import type { Tx } from "../../db/database.ts";
import { brokenConstraint } from "../../db/errors.ts";
import { selectTokenBySymbol } from "../../db/currencies/tokens.ts";
import { openAccount } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { allAssets } from "../assets.ts";
import { CURRENCIES } from "../codes.ts";
import { EntityFields, type EntityView, FreeForm, idOf, text, viewEntity } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { AccountingCurrency } from "../identity/identities.ts";
import { newId } from "../ids.ts";
import { postSupply } from "../ledger/supply.ts";
import {
  Amount,
  AmountOrZero,
  assertScale,
  CURRENCY_DECIMALS,
  DecimalText,
  jsonNumber,
  trim,
} from "../money.ts";
import { assertBase } from "./rates.ts";

/** Latest issues and destructions that a currency shows: each answer to an issue, which is stored under its key, has them. */
export const ISSUES_SHOWN = 100;
/** Display symbols of native coins that a currency must not be mistaken for. */
const RESERVED = ["BNB", "TRX"];
/** Endings of names that are reserved for tokens on a chain. */
const CHAIN_SUFFIXES = ["_ETH", "_MATIC", "_CELO", "_BSC", "_TRON", "_SOL"];

/** Whether a name is the code of an asset or a currency, or resembles one. */
export function resemblesCode(name: string): boolean {
  const codes = new Set([...allAssets().map(({ code }) => code), ...CURRENCIES, ...RESERVED]
    .map((code) => likenesses(code)[0]));
  return likenesses(name).some((likeness) => codes.has(likeness));
}

/** Whether a name ends like that of a token on a chain. */
function resemblesToken(name: string): boolean {
  return likenesses(name).some((likeness) =>
    CHAIN_SUFFIXES.some((suffix) => `_${likeness}`.endsWith(suffix))
  );
}

/**
 * What a reader may take a name for: in capitals, with 0 as O, - as _, without those at its ends; with l and 1 as I, and
 * with 1 as L, as which I is read, too, among small letters. The database reads names in the same ways (name_likeness).
 */
function likenesses(name: string): [string, string] {
  const read = (bars: RegExp, as: string) =>
    name.replaceAll(bars, as).replaceAll(/^[-_]+|[-_]+$/g, "").toUpperCase()
      .replaceAll("0", "O").replaceAll("-", "_");
  return [read(/[l1]/g, "I"), read(/[a-z]/.test(name) ? /[I1]/g : /1/g, "L")];
}

/** A request for a currency. */
export const NewCurrency = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{2,40}$/, "2 to 40 of A-Z a-z 0-9 _ - are expected"),
  supply: AmountOrZero.default("0"),
  base: text(40).optional(),
  rate: Amount.optional(),
  currency: AccountingCurrency.optional(),
  symbol: text(20).optional(),
  symbol_url: z.url({ protocol: /^https?$/ }).max(2000).optional(),
  sub_unit: z.tuple([text(40), text(40)]).optional().meta({
    description: "The name of the sub-unit, in singular and plural.",
  }),
  data: FreeForm.default({}),
}).meta({ id: "NewCurrency" });
/** A request for a currency. */
export type NewCurrency = z.infer<typeof NewCurrency>;

/** A currency as shown. */
export const CurrencyView = z.object({
  id: z.string(),
  name: z.string(),
  supply: DecimalText,
  base: z.string().nullable(),
  rate: z.number().nullable(),
  currency: z.string(),
  country: z.string(),
  symbol: z.string().nullable(),
  symbol_url: z.string().nullable(),
  sub_unit: z.array(z.string()).nullable(),
  account: idOf("Account"),
  issuing: z.array(z.object({
    operation: z.enum(["issue", "destroy"]),
    amount: DecimalText,
    account: z.string(),
    reference: z.string(),
  })),
  active: z.boolean(),
  ...EntityFields,
}).meta({ id: "Currency" });

/** A currency with its latest issues. */
export type CurrencyWithIssues = CurrencyRow & { issues: IssueRow[] };

/**
 * Creates a currency and the account that holds its initial supply; the caller owns both.
 *
 * @param input.supply a decimal of at most 18 places, or as many as a token behind it has
 * @throws {DomainError} currency.taken, asset.unknown, request.invalid
 */
export async function createCurrency(
  tx: LedgerTx,
  actor: Actor,
  input: NewCurrency & { decimals?: number },
): Promise<CurrencyWithIssues> {
  const decimals = input.decimals ?? CURRENCY_DECIMALS;
  assertScale(input.supply, decimals, "/supply");
  if (resemblesCode(input.name)) {
    throw new DomainError("currency.taken", "this name is the code of an asset or a currency");
  }
  if (input.decimals === undefined) {
    if (resemblesToken(input.name)) {
      throw new DomainError("currency.taken", "only tokens on a chain have names that end so");
    }
    await assertNotDeployed(tx, input.name);
  }
  await assertBase(tx, input);
  const asset = { code: input.name, decimals, registered: null };
  const account = await openAccount(tx, actor, {
    type: "virtual",
    asset,
    enabled: true,
    default: false,
    testnet: false,
    data: {},
  });
  const row = await insertUnlessTaken(tx, {
    id: newId(actor.at),
    name: input.name,
    decimals: asset.decimals,
    base: input.base ?? null,
    rate: input.rate ?? null,
    currency: input.currency ?? actor.realm.accountingCurrency,
    country: account.country,
    symbol: input.symbol ?? null,
    symbol_url: input.symbol_url ?? null,
    sub_unit: input.sub_unit ?? null,
    account: account.id,
    data: input.data,
    owner: actor.user,
    created_at: actor.at,
  });
  if (input.supply === "0") return { ...row, issues: [] };
  const issue = { account: account.id, operation: "issue" as const, amount: input.supply };
  const { id: transaction } = await postSupply(tx, actor, { ...issue, currency: row });
  return { ...row, supply: input.supply, issues: [{ ...issue, transaction }] };
}

/** Reserves the name of a deployed token: its owner registers it when the deployment is final. */
async function assertNotDeployed(tx: Tx, name: string): Promise<void> {
  const token = await selectTokenBySymbol(tx, name);
  if (token === null || token.external) return;
  throw new DomainError("currency.taken", "a token of this name has been deployed");
}

/** Why the database refuses a name. */
const TAKEN: Readonly<Record<string, string>> = {
  currencies_name_key: "a currency of this name exists in the realm",
  currencies_likeness: "this name reads like that of another user's currency",
};

async function insertUnlessTaken(
  tx: Tx,
  row: Parameters<typeof insertCurrency>[1],
): Promise<CurrencyRow> {
  try {
    return await tx.savepoint((sp) => insertCurrency(sp, row));
  } catch (error) {
    const why = TAKEN[brokenConstraint(error) ?? ""];
    if (why === undefined) throw error;
    throw new DomainError("currency.taken", why);
  }
}

/** Shows a currency. */
export function viewCurrency(row: CurrencyWithIssues): EntityView & Record<string, unknown> {
  return {
    id: row.id,
    name: row.name,
    supply: trim(row.supply),
    base: row.base,
    rate: row.rate === null ? null : jsonNumber(trim(row.rate)),
    currency: row.currency,
    country: row.country,
    symbol: row.symbol,
    symbol_url: row.symbol_url,
    sub_unit: row.sub_unit,
    account: row.account,
    issuing: row.issues.map((issue) => ({
      operation: issue.operation,
      amount: trim(issue.amount),
      account: issue.account,
      reference: issue.transaction,
    })),
    active: row.active,
    ...viewEntity(row),
  };
}
