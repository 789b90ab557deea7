/**
 * Archives of parts. The oldest part is proven, written to files, and these are read back; then one database transaction
 * takes it out of the ledger. A process that is killed before leaves files, which the next one takes or writes anew.
 * @module
 */
import { createHash } from "node:crypto";
import type { Pool, Tx } from "../../db/database.ts";
import { copyOut } from "../../db/backup/copies.ts";
import { readOnce } from "../../db/backup/snapshots.ts";
import { selectHash } from "../../db/audit/hash_chain.ts";
import {
  type ArchivedRow,
  archivePart,
  attachPart,
  dropPart,
  type PartRow,
  readPart,
  selectArchived,
  selectColumns,
  selectOldestPart,
  selectRefusal,
} from "../../db/ledger/archives.ts";
import { inStep, PARTED, readAtLength } from "../../db/ledger/parts.ts";
import { reading } from "../../db/transaction.ts";
import { GENESIS } from "../../domain/audit/chain_links.ts";
import { recomputeRange } from "../../domain/audit/hash_chain.ts";
import { refuse } from "../../domain/backup/manifests.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Progress } from "../../progress.ts";
import {
  type ArchiveFile,
  checkFiles,
  lockFolder,
  type Manifest,
  readManifest,
  type Store,
  writeManifest,
  writeRows,
} from "./archive_files.ts";

/** A realm whose parts are archived. */
export interface Archiving extends Store {
  /** Sessions of the owner of its tables. */
  owner: Pool;
  realm: { id: string; schema: string };
  progress?: Progress;
  /** Told of each step that is done; a test ends the work there. */
  onStep?: (step: "verified" | "written" | "read back" | "archived") => void;
}

/** A part that was archived. */
export interface Archived {
  until: string;
  transactions: number;
  entries: number;
  manifest: string;
}

const ORDER = { transactions: "id", entries: "account, seq" } as const;

/**
 * Archives the oldest part, if it ended at or before a time.
 *
 * @param before milliseconds
 * @returns null where no part ended by then
 * @throws {DomainError} request.invalid where it may not leave
 */
export async function archiveOldest(
  archiving: Archiving,
  before: number,
): Promise<Archived | null> {
  const { owner, folder, realm, progress, onStep = () => {} } = archiving;
  using _lock = await lockFolder(folder, realm.id);
  const part = await reading(owner, selectOldestPart);
  if (part === null || part.until > before) return null;
  const until = new Date(part.until).toISOString();
  const why = await reading(owner, (db) => selectRefusal(db, part.bound));
  if (why !== null) refuse(`the part until ${until} is not archived: ${why}`);
  progress?.part(`Verifying the part until ${until}`);
  const manifest = await readOnce(owner, async (tx) => {
    const proven = await provePart(tx, archiving, part);
    onStep("verified");
    return await findWhole(tx, archiving, part, proven) ??
      await writePart(tx, archiving, part, proven).catch((error) => notWritten(error, until));
  });
  onStep("written");
  progress?.part("Reading the files back", storedBytes(manifest.manifest), "bytes");
  await checkFiles(archiving, manifest.manifest, (count) => progress?.add(count));
  onStep("read back");
  progress?.part("Detaching the part");
  await inStep(owner, async (tx) => {
    await readAtLength(tx);
    await archivePart(tx, part.bound, manifest.digest);
  });
  onStep("archived");
  const { transactions, entries } = manifest.manifest;
  return { until, transactions, entries, manifest: manifest.digest };
}

/** Names the part whose files have no room. */
function notWritten(error: unknown, until: string): never {
  if (!(error instanceof DomainError)) throw error;
  return refuse(`the part until ${until} is not archived, nothing has changed: ${error.message}`);
}

/** Sums up the stored bytes of files. */
function storedBytes({ files }: Manifest): number {
  return files.reduce((sum, file) => sum + file.stored_bytes, 0);
}

/** Proves the rows of a part and its links in the hash chain. */
async function provePart(
  tx: Tx,
  { realm, progress, recipients }: Archiving,
  part: PartRow,
): Promise<Omit<Manifest, "files">> {
  const figures = await readPart(tx, part);
  if (figures.fault !== null) refuse(`the part is not archived: ${figures.fault}`);
  const earlier = (await selectArchived(tx)).at(-1) ?? null;
  const before = { seq: Number(earlier?.last_seq ?? 0), hash: earlier?.last_hash ?? GENESIS };
  const last = { seq: Number(figures.last_seq), hash: figures.last_hash };
  if (before.seq > 0 && await selectHash(tx, BigInt(before.seq)) !== before.hash) {
    refuse("the part is not archived: the hash chain differs from the record of the part before");
  }
  if (last.seq > before.seq) {
    progress?.part("Verifying the hash chain", last.seq - before.seq, "links");
    const range = { from: BigInt(before.seq) + 1n, last: BigInt(last.seq) };
    const chain = await recomputeRange(tx, range, (share) => progress?.add(share * last.seq));
    if (chain.break !== null) {
      refuse(
        `the part is not archived: the hash chain breaks at ${chain.break.seq} (${chain.break.reason})`,
      );
    }
  }
  return {
    format: 1,
    realm: realm.id,
    from: earlier?.bound ?? null,
    bound: part.bound,
    until: new Date(part.until).toISOString(),
    transactions: Number(figures.transactions),
    entries: Number(figures.entries),
    ...{ before, last, recipients: recipients.toSorted() },
  };
}

/**
 * Finds files that an earlier process wrote whole; null where there are none.
 *
 * @throws {DomainError} request.invalid where they are another archive of the part, as one for other recipients, or of
 * before a migration: the record of another copy of the realm may name it, and nobody may have its rows but there
 */
async function findWhole(
  tx: Tx,
  archiving: Archiving,
  part: PartRow,
  proven: Omit<Manifest, "files">,
): Promise<{ manifest: Manifest; digest: string } | null> {
  const { folder } = archiving;
  const found = await readManifest(folder, { realm: proven.realm, suffix: part.suffix });
  if (found === null) return null;
  const { files, ...facts } = found.manifest;
  if (!await checkFiles(archiving, { files }).then(() => true, () => false)) return null;
  const isSame = JSON.stringify(facts) === JSON.stringify(proven);
  if (isSame && await hold(tx, archiving, part, files)) return found;
  const other = isSame ? "one from before the ledger was migrated" : "one for other recipients";
  return refuse(
    `${folder} holds another archive of the part until ${proven.until}, or ${other}: give another folder`,
  );
}

/**
 * Whether files hold the rows of a part as they are. A part that came back has another form where the ledger was migrated
 * meanwhile, and its rows may have got what the files do not have.
 */
async function hold(
  tx: Tx,
  { realm, progress }: Archiving,
  { suffix }: PartRow,
  files: readonly ArchiveFile[],
): Promise<boolean> {
  for (const { table, columns, sha256 } of files) {
    const present = await selectColumns(tx, table);
    if (JSON.stringify(present) !== JSON.stringify(columns)) return false;
    progress?.part(`Comparing ${table}`, null, "bytes");
    const digest = createHash("sha256");
    for await (const chunk of counted(rowsOf(tx, { realm, suffix, table, columns }), progress)) {
      digest.update(chunk);
    }
    if (digest.digest("hex") !== sha256) return false;
  }
  return true;
}

/** Reads the rows of a part in the order of their file. */
function rowsOf(
  tx: Tx,
  { realm, suffix, table, columns }:
    & Pick<Archiving, "realm">
    & Pick<PartRow, "suffix">
    & Pick<ArchiveFile, "table" | "columns">,
): AsyncGenerator<Uint8Array> {
  const shape = { name: `${table}_${suffix}`, columns };
  return copyOut(tx, realm.schema, shape, `true order by ${ORDER[table]}`);
}

/** Writes the rows of a part to files. */
async function writePart(
  tx: Tx,
  archiving: Archiving,
  { suffix }: PartRow,
  proven: Omit<Manifest, "files">,
): Promise<{ manifest: Manifest; digest: string }> {
  const { realm, progress } = archiving;
  const files: ArchiveFile[] = [];
  for (const table of PARTED) {
    const columns = await selectColumns(tx, table);
    const name = `${realm.id.replaceAll("-", "")}_${suffix}_${table}`;
    progress?.part(`Writing ${table}`, null, "bytes");
    const rows = rowsOf(tx, { realm, suffix, table, columns });
    files.push(await writeRows(archiving, { name, table, columns }, counted(rows, progress)));
    if (files.at(-1)!.rows !== proven[table]) {
      refuse(`${table}: rows were written of ${proven[table]}`);
    }
  }
  const manifest = { ...proven, files };
  return { manifest, digest: await writeManifest(archiving.folder, suffix, manifest) };
}

async function* counted(rows: AsyncIterable<Uint8Array>, progress?: Progress) {
  for await (const chunk of rows) {
    progress?.add(chunk.length);
    yield chunk;
  }
}

/** Brings the part that was archived last back; gives when it ended. @throws {DomainError} request.invalid */
export async function attachNewest({ owner }: Pick<Archiving, "owner">): Promise<string> {
  const part = (await reading(owner, selectArchived)).at(-1);
  if (part === undefined) return refuse("no part is archived");
  const until = new Date(part.until).toISOString();
  if (!part.attachable) refuse(`the tables of the part until ${until} were dropped`);
  await inStep(owner, async (tx) => {
    await readAtLength(tx);
    await attachPart(tx, part.bound);
  });
  return until;
}

/**
 * Drops the tables of archived parts whose files are whole; gives when these ended.
 *
 * @throws {DomainError} request.invalid where files are gone or others: the tables of that part stay
 */
export async function dropArchived(archiving: Archiving): Promise<string[]> {
  const { owner, folder, realm, progress } = archiving;
  const dropped: string[] = [];
  for (const part of (await reading(owner, selectArchived)).filter((one) => one.attachable)) {
    const { manifest } = await findArchive(folder, realm.id, part);
    progress?.part("Reading the files", storedBytes(manifest), "bytes");
    await checkFiles(archiving, manifest, (count) => progress?.add(count));
    await inStep(owner, (tx) => dropPart(tx, part.bound));
    dropped.push(new Date(part.until).toISOString());
  }
  return dropped;
}

/** Finds the manifest that the record of a part names. @throws {DomainError} request.invalid */
export async function findArchive(
  folder: string,
  realm: string,
  { suffix, until, manifest }: ArchivedRow,
): Promise<{ manifest: Manifest; digest: string }> {
  const found = await readManifest(folder, { realm, suffix });
  if (found !== null && found.digest === manifest) return found;
  const what = found === null ? "no manifest" : "another manifest";
  return refuse(`${folder} holds ${what} of the part until ${new Date(until).toISOString()}`);
}
