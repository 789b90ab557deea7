/**
 * Hosts and paths of requests as sent. They are not read by URL, which throws at hosts such as 999.1.1.1.
 * @module
 */

/** The host of a request, in lower case; a name may end with the dot of the root. */
export function hostOf(url: string): string {
  return withoutPort(authorityOf(url)).replace(/\.$/, "");
}

/** The part of a URL before its path. */
export function authorityOf(url: string): string {
  return url.slice(url.indexOf("://") + 3, pathStart(url));
}

/** A host in lower case: the port of the scheme may stand in one of the two places, or be empty. */
export function withoutPort(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, "");
}

/** Where the path of a URL begins. */
export function pathStart(url: string): number {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  return start < 0 ? url.length : start; // CONNECT has no path
}

/** The path of a URL, as it was sent. */
export function pathOf(url: string): string {
  const start = pathStart(url);
  const end = url.indexOf("?", start);
  return end < 0 ? url.slice(start) : url.slice(start, end);
}

/** The public address that was asked for last: a service has one. */
let base = { url: "", path: "" };

/** The path under which a public address reaches the service: empty, or a proxy's prefix. */
export function basePathOf(baseUrl: string): string {
  if (baseUrl !== base.url) {
    base = { url: baseUrl, path: new URL(baseUrl).pathname.replace(/\/+$/, "") };
  }
  return base.path;
}
