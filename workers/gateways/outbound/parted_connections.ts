/** A connection as exchanges use it: written at once, and read part by part. @module */
import type { Socket } from "node:net";

/** A connection of which one exchange at a time reads. */
export interface PartedConnection {
  /** Gives the bytes that came; null: the end. */
  read(): Promise<Uint8Array | null>;
  write(bytes: Uint8Array): Promise<void>;
  /** Tells once when anything comes, while nothing is asked; the next `read()` gives that. */
  watch(onBytes: () => void): void;
  close(): void;
}

/** Parts that wait to be read: an exchange takes each before the next comes, so more are nobody's. */
const WAITING_MAX = 64;

/** Opens a connection for exchanges. */
export function openParted(socket: Socket): PartedConnection {
  const parts: Uint8Array[] = [];
  let isEnded = false;
  let failure: Error | null = null;
  let wake = () => {};
  socket.on("data", (part: Uint8Array) => {
    if (parts.push(part) > WAITING_MAX) socket.destroy();
    wake();
  });
  socket.on("error", (error: Error) => failure ??= error);
  for (const name of ["end", "error", "close"]) {
    socket.on(name, () => {
      isEnded = true;
      wake();
    });
  }
  return {
    async read() {
      if (parts.length === 0 && !isEnded) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
      const part = parts.shift();
      if (part === undefined && failure !== null) throw failure;
      return part ?? null;
    },
    write(bytes) {
      return new Promise((resolve, reject) => {
        socket.write(bytes, (error) => error ? reject(error) : resolve());
      });
    },
    watch(onBytes) {
      if (parts.length > 0 || isEnded) onBytes();
      else wake = onBytes;
    },
    close: () => void socket.destroy(),
  };
}
