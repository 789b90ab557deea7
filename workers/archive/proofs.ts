/**
 * Archived parts as their files prove them: transactions in the order of the hash chain, which is recomputed over them, and
 * the last entries of all accounts, which are the balance checkpoints.
 * @module
 */
import { createHash } from "node:crypto";
import type { LinkableTransaction } from "../../db/audit/hash_chain.ts";
import { type ArchivedRow, selectArchived } from "../../db/ledger/archives.ts";
import type { Pool } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { refuse } from "../../domain/backup/manifests.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { add, compare, negate, trim } from "../../domain/money.ts";
import { type ArchiveFile, checkFiles, readRows, type Store } from "./archive_files.ts";
import { findArchive } from "./archiving.ts";

/** A row by its columns; null is PostgreSQL's null. */
type TextRow = Record<string, string | null>;

/** Characters that PostgreSQL writes with a backslash in its text form. */
const ESCAPED: Readonly<Record<string, string>> = {
  ...{ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" },
};
const GROUP_LETTERS = 3;

/**
 * Reads the archived transactions of a realm from the first on, after the files of each part were compared with its record.
 *
 * @throws {DomainError} request.invalid where files are gone or others, or their entries are not those of the record
 */
export async function* archivedTransactions(
  pool: Pool,
  realm: string,
  store: Pick<Store, "folder" | "identities">,
): AsyncGenerator<LinkableTransaction> {
  const from = { ...store, recipients: [] };
  const checkpoints = new Map<string, string>();
  for (const part of await reading(pool, selectArchived)) {
    const { manifest } = await findArchive(store.folder, realm, part);
    await checkFiles(from, manifest);
    const [due, found] = [openMoves(), openMoves()];
    for (const file of manifest.files) {
      if (file.table === "entries") await proveEntries(from, file, part, checkpoints, found);
    }
    for (const file of manifest.files) {
      if (file.table !== "transactions") continue;
      for await (const row of readTable(from, file)) {
        const { id, source, source_seq, destination, destination_seq, amount } = row;
        due.add({ account: source, seq: source_seq, transaction: id, amount: negate(amount!) });
        due.add({ account: destination, seq: destination_seq, transaction: id, amount });
        yield linkable(row);
      }
    }
    if (due.digest() !== found.digest()) {
      refuse(`the entries of the part until ${manifest.until} are not those of its transactions`);
    }
  }
}

/**
 * What moved on each account, in the order of its entries, which is that of its transactions: so both files of a part can be
 * compared without one of them in memory.
 */
function openMoves() {
  const moves = new Map<string, string>();
  return {
    add({ account, seq, transaction, amount }: TextRow): void {
      const text = `${moves.get(account!) ?? ""} ${seq} ${transaction} ${trim(amount!)}`;
      moves.set(account!, createHash("sha256").update(text).digest("base64"));
    },
    digest(): string {
      const whole = createHash("sha256");
      for (const account of [...moves.keys()].sort()) {
        whole.update(`${account} ${moves.get(account)}\n`);
      }
      return whole.digest("hex");
    },
  };
}

/** Recomputes the running balances of a part, and the digest of its last ones. */
async function proveEntries(
  store: Store,
  file: ArchiveFile,
  part: ArchivedRow,
  checkpoints: Map<string, string>,
  moves: ReturnType<typeof openMoves>,
): Promise<void> {
  const groups = openDigest();
  let last: TextRow | null = null;
  const end = () => {
    if (last === null) return;
    checkpoints.set(last.account!, `${last.seq} ${last.balance}`);
    groups.add(last);
  };
  for await (const row of readTable(store, file)) {
    if (row.account !== last?.account) end();
    const before: string[] = row.account === last?.account
      ? [last!.seq!, last!.balance!]
      : (checkpoints.get(row.account!) ?? "0 0").split(" ");
    if (
      BigInt(row.seq!) !== BigInt(before[0]) + 1n ||
      compare(add(before[1], row.amount!), row.balance!) !== 0
    ) {
      refuse(`${file.name}: entry ${row.account} ${row.seq} does not follow the one before it`);
    }
    moves.add(row);
    last = row;
  }
  end();
  if (groups.digest() === part.checkpoints) return;
  refuse(`${file.name} ends with other balances than the record of the part`);
}

/** The digest that checkpoint_digest() of the database computes; rows come in the order of accounts. */
function openDigest(): { add: (row: TextRow) => void; digest: () => string } {
  const whole = createHash("sha256");
  let [group, hash] = ["", createHash("sha256")];
  const close = () => {
    if (group !== "") whole.update(hash.digest());
  };
  return {
    add({ account, seq, balance, linked }) {
      const of = account!.slice(0, GROUP_LETTERS);
      if (of !== group) {
        close();
        [group, hash] = [of, createHash("sha256")];
      }
      const fields = [account, seq, trim(balance!), ...(linked === null ? [] : [trim(linked)])];
      hash.update(`${fields.join(" ")}\n`);
    },
    digest() {
      close();
      return whole.digest("hex");
    },
  };
}

/** Reads the rows of a file. */
async function* readTable(store: Store, file: ArchiveFile): AsyncGenerator<TextRow> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of readRows(store, file)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield rowOf(file.columns, line);
  }
}

function rowOf(columns: readonly string[], line: string): TextRow {
  const values = line.split("\t");
  return Object.fromEntries(columns.map((column, i) => [column, valueOf(values[i])]));
}

function valueOf(text: string): string | null {
  if (text === "\\N") return null;
  return text.replace(/\\(.)/g, (_, letter) => ESCAPED[letter] ?? letter);
}

/** The fields of a transaction that its link covers. */
function linkable(row: TextRow): LinkableTransaction {
  const json = (text: string | null) =>
    text === null ? null : parseStoredJson(text) as Record<string, unknown>;
  return {
    ...row as unknown as LinkableTransaction,
    testnet: row.testnet === "t",
    seal: json(row.seal),
    address_data: json(row.address_data),
    created_at: Date.parse(row.created_at!),
  };
}
