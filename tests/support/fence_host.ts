/** A host with a record of its own, on which processes of workers come and go. @module */
import { openDatabase } from "../../db/database.ts";
import { readMasterKey } from "../../domain/security/envelope.ts";
import type { Log } from "../../log.ts";
import { type Fence, openFence } from "../../workers/installation/fence.ts";
import { quarantineAll } from "../../workers/installation/quarantine_all.ts";

/** The master key of these processes. */
export const MASTER_KEY = btoa("0123456789abcdef0123456789abcdef");

/** A host. */
export interface Host extends AsyncDisposable {
  dataDir: string;
  fence(url: string, how?: FenceHow): Promise<Worker>;
}

/** A process of workers, as far as its fence goes. */
export interface Worker extends Fence, AsyncDisposable {
  /** Ends as a crash does: nothing is written any more. */
  lose(): Promise<void>;
}

/** How a process is started. */
export interface FenceHow {
  /** `INSTALLATION_EPOCH`; left out: the record is a file. */
  label?: string;
  key?: string;
  log?: Log;
}

/** Makes a host. */
export async function host(): Promise<Host> {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-epoch-" });
  return {
    dataDir,
    async fence(url, how = {}) {
      const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
      const log = how.log ?? (() => {});
      const fence = await openFence({
        platform: database.platform,
        dataDir,
        label: how.label ?? null,
        master: (await readMasterKey(how.key ?? MASTER_KEY)).id,
        log,
        halt: (detail, endsLogins) => quarantineAll(database, log, detail, { endsLogins }),
        loop: false,
      });
      const close = async () => {
        await fence.close();
        await database.close();
      };
      return { ...fence, close, lose: () => database.close(), [Symbol.asyncDispose]: close };
    },
    [Symbol.asyncDispose]: () => Deno.remove(dataDir, { recursive: true }),
  };
}
