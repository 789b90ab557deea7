/**
 * Passwords for the database's server. The driver answers any method that the server asks for, so an
 * attacker between the two, or on the server's port, could ask for the password in clear text.
 * @module
 */

/**
 * The password for a server. Where no certificate proves the server's identity, it is a password that
 * answers SCRAM alone, which reveals it to nobody. Undefined where there is none.
 */
export function passwordFor(url: string, own?: string): string | undefined {
  const address = URL.parse(url);
  const password = own ?? decodeURIComponent(address?.password ?? "");
  if (password === "") return undefined;
  const mode = address?.searchParams.get("sslmode") ?? address?.searchParams.get("ssl");
  return mode === "verify-full" ? password : scramOnly(password);
}

/**
 * A password as bytes, which the driver stretches for SCRAM as it would a text. To send it, or its MD5
 * sum, the driver needs a text, and fails.
 */
function scramOnly(password: string): string {
  const bytes: Uint8Array = new TextEncoder().encode(password);
  const value = () => {
    throw new Error("the database's server asks for the password in another way than by SCRAM");
  };
  return Object.defineProperty(bytes, Symbol.toPrimitive, { value }) as unknown as string;
}
