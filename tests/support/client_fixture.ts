/**
 * The service behind a real port for its client, and a network in between that loses what a test tells it to.
 *
 * @module
 */
import { type ClientOptions, createClient, type Purser } from "../../client/client.ts";
import { createApp } from "../../routes/http/app.ts";
import { openRawServer, type RawPeer } from "./raw_server.ts";
import { PLATFORM_KEY, type TestRealm, type TestUser } from "./realm.ts";

/** A service that listens. */
export interface Served extends AsyncDisposable {
  url: string;
}

/** Serves a realm on the loopback interface. */
export function serve(realm: TestRealm): Served {
  const app = createApp(realm.services, PLATFORM_KEY);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => app(request, "127.0.0.1"),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Makes a client of a user. */
export function clientOf(
  { url }: { url: string },
  { key }: Pick<TestUser, "key">,
  options: Partial<ClientOptions> = {},
): Purser {
  return createClient({ url, key, ...options });
}

/**
 * What becomes of a request: it is passed on (`pass`); its answer is lost whole (`lost`) or from its middle on (`half`); it
 * does not arrive (`never`); or somebody else answers with this text.
 */
export type Course = "pass" | "lost" | "half" | "never" | { text: string };

/** A network that fails. */
export interface Network extends AsyncDisposable {
  url: string;
  /** Requests as they came, heads and bodies. */
  requests: string[];
  /** How many answers of the service have begun to arrive. */
  begun(): number;
  /** Cuts every connection that is open. */
  cut(): void;
}

/** Opens a network in front of a service; `plan` decides what becomes of the n-th request, from 0. */
export function openNetwork(
  service: { url: string },
  plan: (n: number, request: string) => Course,
): Network {
  const requests: string[] = [];
  const open = new Set<() => void>();
  let begun = 0;
  const server = openRawServer(async (peer) => {
    const text = await peer.request();
    if (text === null) return;
    const course = plan(requests.push(text) - 1, text);
    if (typeof course === "object") await peer.send(course.text);
    if (typeof course === "object" || course === "never") return;
    await passOn(service, peer, text, course, { open, begin: () => begun++ });
  });
  return {
    url: server.url.replace(/\/$/, ""),
    requests,
    begun: () => begun,
    cut() {
      for (const close of open) close();
    },
    async [Symbol.asyncDispose]() {
      for (const close of open) close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function passOn(
  service: { url: string },
  peer: RawPeer,
  text: string,
  course: "pass" | "lost" | "half",
  { open, begin }: { open: Set<() => void>; begin: () => void },
): Promise<void> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: portOf(service.url) });
  const close = () => {
    try {
      connection.close();
    } catch {
      // its end closed it
    }
    open.delete(close);
    peer.close();
  };
  open.add(close);
  try {
    const alone = text.replace(/\r\nconnection: [^\r]*/i, "")
      .replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    const bytes = Uint8Array.from(alone, (one) => one.charCodeAt(0));
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    const answer: number[] = [];
    for await (const chunk of connection.readable) {
      if (answer.length === 0) begin();
      if (course === "pass" && !await peer.send(chunk)) break;
      answer.push(...chunk);
    }
    if (course === "half") await peer.send(Uint8Array.from(answer.slice(0, answer.length - 20)));
  } catch {
    // one of the two ends was closed
  } finally {
    close();
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** An answer of somebody in front of the service. */
export function answerOf(
  status: string,
  headers: Record<string, string>,
  body: unknown = "",
): Course {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const all = { ...headers, "content-length": `${text.length}`, connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return { text: `HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${text}` };
}

/** A header of a request as it came; null where it had none. */
export function headerOf(request: string, name: string): string | null {
  return new RegExp(`\r\n${name}: ([^\r]*)`, "i").exec(request)?.[1] ?? null;
}
