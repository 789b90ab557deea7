import { deepEqual, equal, notEqual } from "node:assert/strict";
import {
  checkPassword,
  deriveByPlatform,
  deriveByWasm,
  hashPassword,
} from "../../domain/security/passwords.ts";

Deno.test("the platform's argon2id and the one in WebAssembly give the same", async () => {
  const salt = Uint8Array.from({ length: 16 }, (_, i) => i);
  for (const [memory, passes, lanes] of [[64, 1, 1], [256, 2, 2], [19456, 2, 1]]) {
    const secret = new TextEncoder().encode("correct horse battery ✓");
    const work = { secret, salt, memory, passes, lanes };
    deepEqual(await deriveByPlatform(work), await deriveByWasm(work));
  }
});

Deno.test("hashPassword() salts each verifier, and checkPassword() knows it", async () => {
  const [one, two] = await Promise.all([1, 2].map(() => hashPassword("correct horse battery", "")));
  notEqual(one, two);
  equal(one.startsWith("$argon2id$v=19$m=19456,t=2,p=1$"), true);
  equal(await checkPassword("correct horse battery", one, ""), true);
  equal(await checkPassword("correct horse batterx", one, ""), false);
  equal(await checkPassword("correct horse battery", null, ""), false);
});

Deno.test("checkPassword() does the same work for an unknown user as for a wrong password", async () => {
  const verifier = await hashPassword("correct horse battery", "");
  const known = await derivationsOf(() => checkPassword("wrong password", verifier, ""));
  const unknown = await derivationsOf(() => checkPassword("wrong password", null, ""));
  deepEqual(unknown, known);
  deepEqual(known, [{ name: "Argon2id", memory: 19456, passes: 2, parallelism: 1, salt: 16 }]);
});

/** Watches what the platform is asked to derive meanwhile. */
async function derivationsOf(work: () => Promise<unknown>): Promise<unknown[]> {
  const seen: unknown[] = [];
  const { subtle } = crypto;
  const real = subtle.deriveBits;
  subtle.deriveBits = function (algorithm, key, bits) {
    const { nonce, ...rest } = algorithm as unknown as { nonce: Uint8Array };
    seen.push({ ...rest, salt: nonce.length });
    return real.call(subtle, algorithm, key, bits);
  };
  try {
    await work();
  } finally {
    subtle.deriveBits = real;
  }
  return seen;
}
