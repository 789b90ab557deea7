/**
 * Transactions printed straight as JSON: the same text that JSON.stringify makes of their view, for
 * the hottest path of the service at a fraction of the work.
 * @module
 */
import { balanceOf, type TransactionFields } from "./posting.ts";
import { trim } from "../money.ts";

/** Prints a transaction; a balance only where its account may be seen. */
export function printTransaction(
  fields: TransactionFields,
  sees: (owner: string | null) => boolean,
): string {
  // Ids, codes, currencies and decimals hold nothing that JSON would have to escape.
  return `{"id":"${fields.id}","seq":${fields.seq ?? "null"},"hash":${
    plain(fields.hash)
  },"type":"` +
    fields.type + `","status":"DONE","source":` +
    party(fields.source, fields.source_owner, fields.source_holder) + `,"destination":` +
    party(fields.destination, fields.destination_owner, fields.destination_holder) + `,"asset":"` +
    fields.asset + `","amount":"` + trim(fields.amount) + `","fiat":` + fiat(fields) + `,"seal":` +
    (fields.seal === null ? "null" : JSON.stringify(fields.seal)) + `,"data":` +
    (fields.data === null ? "{}" : JSON.stringify(fields.data)) + `,"reference":` +
    (fields.reference === null ? "null" : JSON.stringify(fields.reference)) +
    (fields.address_data === null ? "" : `,"address_data":${JSON.stringify(fields.address_data)}`) +
    (fields.reverts === null ? "" : `,"reverts":"${fields.reverts}"`) + `,"balances":{"source":` +
    balance(sees(fields.source_owner), fields.source_total, fields.source_blocked) +
    `,"destination":` +
    balance(sees(fields.destination_owner), fields.destination_total, fields.destination_blocked) +
    `},"owner":${plain(fields.owner)},"created_at":${fields.created_at},"error":null}`;
}

function party(account: string, owner: string | null, holder: string | null): string {
  return `{"account":"${account}","owner":${plain(owner)},"holder":${plain(holder)}}`;
}

function fiat(fields: TransactionFields): string {
  if (fields.fiat_currency === null) return "null";
  const { fiat_currency, fiat_rate, fiat_value } = fields;
  return `{"currency":"${fiat_currency}","rate":"${trim(fiat_rate!)}","value":"${
    trim(fiat_value!)
  }"}`;
}

function balance(visible: boolean, total: string, blocked: string | null): string {
  if (!visible) return "null";
  const shown = balanceOf(total, blocked);
  return `{"total":"${shown.total}","available":"${shown.available}"}`;
}

function plain(text: string | null): string {
  return text === null ? "null" : `"${text}"`;
}
