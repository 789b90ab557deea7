/** The way into a file that finds no room: what is written fails with its fault, wherever it waits. @module */
import { equal, rejects } from "node:assert/strict";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { encryptTo, entranceOf } from "../../workers/backup/envelope.ts";

const FULL = "no room";

/** A sink that takes some writes, each after some turns of the loop, and fails then. */
function sinkOf(writes: number, turns: number): WritableStream<Uint8Array> {
  let taken = 0;
  return new WritableStream({
    async write() {
      for (let turn = 0; turn < turns; turn++) await new Promise((next) => setTimeout(next, 0));
      if (taken++ >= writes) throw new Error(FULL);
    },
  });
}

const recipient = await identityToRecipient(await generateX25519Identity());
const WAYS = {
  encrypted: (sink: WritableStream<Uint8Array>) => encryptTo([recipient], sink),
  plain(sink: WritableStream<Uint8Array>) {
    const { readable, writable } = new CompressionStream("gzip");
    return Promise.resolve(
      entranceOf(writable as WritableStream<Uint8Array>, readable.pipeTo(sink)),
    );
  },
};

for (const [name, enter] of Object.entries(WAYS)) {
  Deno.test(`what is written to a file without room fails with the file's fault, and never waits for it · ${name}`, async () => {
    for (let writes = 0; writes < 8; writes++) {
      for (const turns of [0, 1, 5]) {
        const entrance = await enter(sinkOf(writes, turns));
        const write = async () => {
          for (;;) await entrance.write(crypto.getRandomValues(new Uint8Array(65_536)));
        };
        await rejects(write(), { message: FULL });
        await rejects(entrance.write(new Uint8Array(1)), { message: FULL });
        await entrance.abort(new Error("left"));
      }
    }
  });

  Deno.test(`a file that is small fails at its end where there is no room · ${name}`, async () => {
    const entrance = await enter(sinkOf(0, 1));
    const end = async () => {
      await entrance.write(new Uint8Array(10));
      await entrance.close();
    };
    await rejects(end(), { message: FULL });
    let bytes = 0;
    const whole = await enter(
      new WritableStream({
        write(chunk) {
          bytes += chunk.length;
        },
      }),
    );
    await whole.write(new Uint8Array(10));
    await whole.close();
    equal(bytes > 0, true);
  });
}
