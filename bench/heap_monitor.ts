/**
 * The service, and beside it a look at its heap. At each SIGUSR2 it collects all garbage and writes down how much is
 * alive, into the file that `HEAP_FILE` names. It is started with `--v8-flags=--expose-gc`.
 *
 * @module
 */
import { getHeapStatistics } from "node:v8";
import { main } from "../main.ts";

Deno.addSignalListener("SIGUSR2", () => {
  const { gc } = globalThis as unknown as { gc(): void };
  gc();
  gc(); // what the first one let go by finalizers
  const file = Deno.env.get("HEAP_FILE")!;
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  Deno.writeTextFileSync(`${file}.new`, JSON.stringify({ heap, external }));
  Deno.renameSync(`${file}.new`, file);
});

await main(Deno.args);
