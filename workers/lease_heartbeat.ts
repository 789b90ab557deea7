/** Prolongs leases while the work under them runs. @module */

/** A lease that is being prolonged. */
export interface Heartbeat {
  /** Aborted when another process has the lease. */
  lost: AbortSignal;
  /** Prolongs no more. */
  end(): void;
}

/**
 * Prolongs a lease three times in its length.
 *
 * @param leaseMs length of the lease
 * @param prolong tells whether the lease is still held
 * @param failureEnds whether a failure to prolong counts as a loss. Where every write checks the lease
 *   it need not: the lease may outlive a database that is away.
 */
export function startHeartbeat(
  leaseMs: number,
  prolong: () => Promise<boolean>,
  { failureEnds }: { failureEnds: boolean },
): Heartbeat {
  const lost = new AbortController();
  const timer = setInterval(() => {
    prolong().catch(() => !failureEnds).then((held) => held || lost.abort()).catch(() => {});
  }, leaseMs / 3);
  return { lost: lost.signal, end: () => clearInterval(timer) };
}
