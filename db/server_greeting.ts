/**
 * What a database's server may say before it has let a connection in. Whoever answers at its address needs no password to
 * say it, and the driver does as it is told: it would stretch a password as many times as it is asked to, in the only
 * thread of the process, and read on behind the end of a message that is not as it should be.
 *
 * Within TLS nothing is seen of it here: `sslmode=verify-full` keeps others from answering. With `sslmode=prefer` a server
 * that refuses TLS is read like one that was not asked for it.
 * @module
 */
import { Socket } from "node:net";

/** Most rounds of SCRAM, about half a second of work; PostgreSQL asks for 4096. */
const ROUNDS_MAX = 1_000_000;
/** Longest message in bytes: none of these has more than a text for people. */
const MESSAGE_MAX = 65_536;
/** Authentication, error, notice, and the versions that the server knows. */
const KINDS = new Set([..."RENv"].map((kind) => kind.charCodeAt(0)));
const AUTHENTICATION = "R".charCodeAt(0);
const LET_IN = 0;
const SCRAM_CHALLENGE = 11;
/** The server's proof that it knows the password; the driver compares it. */
const SCRAM_PROOF = 12;

/** Reads what comes before the connection is let in; gives what is wrong with it, or null. */
export interface Greeting {
  read(bytes: Uint8Array): string | null;
  /** Whether the connection was let in: the rest is not read here. */
  readonly over: boolean;
}

/**
 * Begins to read a server's greeting.
 *
 * @param isProven the server must know the password before it lets the connection in
 */
export function openGreeting(isProven: boolean): Greeting {
  let rest = new Uint8Array(0);
  let [over, hasProven] = [false, !isProven];
  return {
    get over() {
      return over;
    },
    read(bytes) {
      const known = new Uint8Array(rest.length + bytes.length);
      known.set(rest);
      known.set(bytes, rest.length);
      let at = 0;
      while (!over && known.length - at >= 5) {
        const length = new DataView(known.buffer, at + 1).getUint32(0);
        if (!KINDS.has(known[at])) return "a message that belongs behind the login came before it";
        if (length < 4 || length > MESSAGE_MAX) return `a message of ${length} bytes`;
        if (known.length - at < 1 + length) break;
        const message = known.subarray(at + 5, at + 1 + length);
        if (known[at] === AUTHENTICATION) {
          const fault = faultOf(message);
          if (fault !== null) return fault;
          const method = new DataView(message.buffer, message.byteOffset).getUint32(0);
          hasProven ||= method === SCRAM_PROOF;
          over = method === LET_IN;
          if (over && !hasProven) return "it let in without a proof that it knows the password";
        }
        at += 1 + length;
      }
      rest = known.slice(at);
      return null;
    },
  };
}

function faultOf(message: Uint8Array): string | null {
  if (message.length < 4) return "a demand that names no method";
  if (new DataView(message.buffer, message.byteOffset).getUint32(0) !== SCRAM_CHALLENGE) {
    return null;
  }
  const rounds = new TextDecoder().decode(message.subarray(4)).split(",")
    .filter((part) => part.startsWith("i")).map((part) => part.slice(2));
  const fits = (count: string) => /^[1-9]\d{0,6}$/.test(count) && Number(count) <= ROUNDS_MAX;
  if (rounds.length === 1 && fits(rounds[0])) return null;
  return `a demand for ${rounds.join(" and ").slice(0, 40) || "no"} rounds of SCRAM`;
}

/**
 * Whether an address names this machine, where servers often let in without a password (`trust`): whoever may take their
 * port there has the machine already, or shares it.
 */
export function isOnThisMachine(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return /^(localhost|127(\.\d+){3}|\[::1\]|)$/.test(host);
}

/** The answer of a server that goes on in TLS. */
const TLS = "S".charCodeAt(0);

/**
 * Closes a socket whose server greets otherwise than a database does, before the driver reads it.
 *
 * @param isProven as of {@link openGreeting}
 * @param mayBeTls whether the server is asked for TLS first, and may refuse it (`sslmode=prefer`)
 */
export function guardGreeting(socket: Socket, isProven: boolean, mayBeTls = false): Socket {
  const greeting = openGreeting(isProven);
  const unguard = () => Reflect.deleteProperty(socket, "emit"); // its class's own again
  let asked = mayBeTls;
  socket.emit = function (this: Socket, event: string, ...values: unknown[]): boolean {
    if (event === "data" && asked) {
      asked = false; // the driver reads one byte of this, and drops the rest
      if ((values[0] as Uint8Array)[0] === TLS) unguard();
    } else if (event === "data") {
      const fault = greeting.read(values[0] as Uint8Array);
      if (fault !== null) {
        const message = `the database's server is none, or not as it should be: ${fault}`;
        socket.destroy(Object.assign(new Error(message), { code: "CONNECTION_REFUSED" }));
        return true;
      }
      if (greeting.over) unguard();
    }
    return Reflect.apply(Socket.prototype.emit, this, [event, ...values]);
  } as Socket["emit"];
  return socket;
}
