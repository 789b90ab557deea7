/** Who may call from where. @module */
import { listOf, type Reader } from "./reader.ts";

/** Reads the origins whose pages browsers let call the API; each as a browser writes it. */
export function readOrigins(read: Reader): string[] {
  const origins = listOf(read.text("CORS_ORIGINS"));
  for (const origin of origins) {
    if (isOrigin(origin)) continue;
    read.faults.push(
      `CORS_ORIGINS: ${JSON.stringify(origin)} is not an origin such as https://app.example`,
    );
  }
  return origins;
}

/** `*` is none: a page of anywhere could then use a key that it was given by mistake. */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol } = new URL(text);
  return origin === text && /^https?:$/.test(protocol);
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\]|)$/;

/**
 * Reads the networks that read the metrics: this machine, unless a public address is set; a proxy in front may have an
 * address of this machine too.
 */
export function readMetricsNetworks(read: Reader, baseUrl: string): string[] {
  const given = read.text("METRICS_NETWORKS");
  if (given !== null) return listOf(given);
  return LOOPBACK.test(new URL(baseUrl).hostname) ? ["127.0.0.0/8", "::1"] : [];
}
