/** Settings of backups. @module */
import { listOf, type Reader } from "./reader.ts";

/** Settings of backups. */
export interface BackupConfig {
  /** Folder of the files; null: `backups` in DATA_DIR. */
  readonly folder: string | null;
  /** Public keys of age that backups are encrypted for. */
  readonly recipients: readonly string[];
  /** File with the private key, which `restore` alone reads. */
  readonly identityFile: string | null;
}

/** Reads the settings of backups. */
export function readBackups(read: Reader): BackupConfig {
  const recipients = listOf(read.text("BACKUP_RECIPIENTS"));
  for (const one of recipients) {
    if (/^age1[0-9a-z]{58,4000}$/.test(one)) continue;
    // A private key that was put here by mistake is not shown.
    read.faults.push(
      "BACKUP_RECIPIENTS: each is a public key that starts with age1",
    );
  }
  return {
    folder: read.text("BACKUP_DIR"),
    recipients,
    identityFile: read.text("BACKUP_IDENTITY_FILE"),
  };
}
