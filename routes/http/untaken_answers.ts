/**
 * Answers that were made and are not taken. Over HTTP/1.1 a connection has one at a time. Over HTTP/2 it has two
 * hundred, and its other end may take none of them for as long as it likes: one connection without a key would hold two
 * hundred copies of the longest public answer. The large ones of a caller on a connection have a bound together.
 * @module
 */
import { DomainError } from "../../domain/errors.ts";
import type { Network } from "../../domain/ip_addresses.ts";
import type { Sending } from "./body_streams.ts";
import { callerAddress, readNetworks } from "./caller_address.ts";
import { largeSize, problem } from "./responses.ts";
import type { Services } from "./services.ts";
import { requestHeaders } from "./underlying_request.ts";
import { requestIdOf } from "./unrouted.ts";

/** Bytes of large answers that a caller may leave on a connection; one alone may be larger. */
const UNTAKEN_MAX = 16 * 1024 * 1024;

/** The other end of a connection. */
export interface Connection {
  hostname: string;
  port: number;
}

/** Counts an answer that is sent now, or gives a refusal in its place. */
export type CountUntaken = (
  request: Request,
  sent: { answer: Response; sending: Sending; connection: Connection },
) => Response;

/** Begins to count the answers of a process. */
export function openUntaken(services: Services): CountUntaken {
  const held = new Map<string, number>();
  const proxies: readonly Network[] = readNetworks(services.config.trustedProxies);
  return (request, { answer, sending, connection: { hostname, port } }) => {
    const size = largeSize(answer);
    if (size === 0) return answer;
    const headers = requestHeaders(request);
    // A proxy carries the requests of many over one connection.
    const caller = `${hostname} ${port} ${callerAddress(headers, hostname, proxies)}`;
    const before = held.get(caller) ?? 0;
    // What was changed is answered in any case: a refusal would say that nothing was done. A repeat changes nothing.
    const changes = request.method !== "GET" && !answer.headers.has("idempotency-replayed");
    if (before > 0 && before + size > UNTAKEN_MAX && !changes) {
      const why = "the answers before are not taken yet";
      const refused = new DomainError("service.overloaded", why, { retryAfterS: 1 });
      return problem(services, requestIdOf(headers, services), refused);
    }
    held.set(caller, before + size);
    const taken = () => {
      const left = held.get(caller)! - size;
      if (left > 0) held.set(caller, left);
      else held.delete(caller);
    };
    sending.completed.then(taken, taken);
    return answer;
  };
}
