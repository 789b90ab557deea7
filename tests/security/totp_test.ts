import { equal, match } from "node:assert/strict";
import { base32, newTotpSecret, totpCode, totpStep, totpUri } from "../../domain/security/totp.ts";

const SECRET = base32(new TextEncoder().encode("12345678901234567890"));

Deno.test("codes are those of RFC 4226 and RFC 6238", () => {
  equal(SECRET, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  const counts = ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583"];
  for (const [count, code] of counts.entries()) equal(totpCode(SECRET, count), code);
  for (
    const [seconds, code] of [
      [59, "287082"],
      [1111111109, "081804"],
      [1111111111, "050471"],
      [1234567890, "005924"],
      [2000000000, "279037"],
      [20000000000, "353130"],
    ] as const
  ) {
    equal(totpCode(SECRET, Math.floor(seconds / 30)), code, `${seconds}`);
  }
});

Deno.test("a code holds for its step and one beside it, and once", () => {
  const step = 1000;
  const at = step * 30_000 + 1;
  const of = (given: number, after = 0) => totpStep(SECRET, totpCode(SECRET, given), { at, after });
  for (const near of [step - 1, step, step + 1]) equal(of(near), near);
  for (const far of [step - 2, step + 2]) equal(of(far), null);
  equal(of(step, step), null, "used");
  equal(of(step, step + 1), null, "older than the last");
  for (const odd of ["", "12345", "1234567", "１２３４５６", "abcdef"]) {
    equal(totpStep(SECRET, odd, { at, after: 0 }), null);
  }
});

Deno.test("an authenticator gets name and issuer, whatever their characters", () => {
  const secret = newTotpSecret();
  match(secret, /^[A-Z2-7]{32}$/);
  const uri = new URL(totpUri(secret, { issuer: "A & B", name: "x:y@z?&secret=AAAA" }));
  equal(uri.searchParams.get("secret"), secret);
  equal(uri.searchParams.getAll("secret").length, 1);
  equal(uri.searchParams.get("issuer"), "A & B");
});
