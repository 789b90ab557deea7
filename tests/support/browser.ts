/**
 * A real browser, where there is one: Chromium without a window, driven over its own protocol.
 * @module
 */

/** A page that is open. */
export interface Page {
  /** What was reported as wrong: exceptions, refused resources, violations of the policy. */
  readonly faults: readonly string[];
  /** Goes to an address, and waits until it is loaded. */
  open(url: string): Promise<void>;
  /** Gives the value of an expression, awaited, as JSON. */
  evaluate<T>(expression: string): Promise<T>;
  /** Makes the page believe in a colour scheme. */
  prefer(scheme: "dark" | "light"): Promise<void>;
}

/** A running browser with a page. */
export interface Browser extends AsyncDisposable {
  readonly page: Page;
}

type Message = {
  id?: number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: unknown;
};

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
const FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run " +
  "--disable-background-networking --disable-component-update --remote-debugging-port=0";
const READY = /DevTools listening on (ws:\S+)/;

/** Where a browser is installed; null where none is, which is said. */
export function findBrowser(): string | null {
  const found = NAMES.map(pathOf).find((path) => path !== null);
  if (found === undefined) console.warn(`skipped: these tests need Chromium (${NAMES.join(", ")})`);
  return found ?? null;
}

/** Whether a program is installed; where it is not, that is said. */
export function isInstalled(name: string): boolean {
  const found = pathOf(name) !== null;
  if (!found) console.warn(`skipped: these tests need ${name}`);
  return found;
}

function pathOf(name: string): string | null {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  return folders.map((folder) => `${folder}/${name}`).find(isFile) ?? null;
}

/** Starts the browser, with an empty page. */
export async function startBrowser(): Promise<Browser> {
  const folder = await Deno.makeTempDir({ prefix: "purser-browser-" });
  const child = new Deno.Command(findBrowser()!, {
    args: [...FLAGS.split(" "), `--user-data-dir=${folder}`, "about:blank"],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const [output, drained] = await readyLine(child.stderr);
  const socket = await connect(output);
  return {
    page: await pageOf(socket),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
      socket.close();
      await closed;
      child.kill("SIGTERM");
      await child.status;
      await drained;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The address of the protocol, and the rest of the output, which is read to its end. */
async function readyLine(output: ReadableStream<Uint8Array>): Promise<[string, Promise<void>]> {
  const reader = output.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the browser ended: ${text}`);
    text += value;
    const address = READY.exec(text)?.[1];
    if (address === undefined) continue;
    const drain = async () => {
      while (!(await reader.read()).done);
    };
    return [address, drain()];
  }
}

async function connect(url: string): Promise<WebSocket> {
  const targets = `http://${new URL(url).host}/json`;
  const [target] = (await (await fetch(targets)).json()).filter(({ type }: { type: string }) =>
    type === "page"
  );
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  return socket;
}

async function pageOf(socket: WebSocket): Promise<Page> {
  const faults: string[] = [];
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let loaded = Promise.withResolvers<void>();
  let last = 0;
  socket.addEventListener("message", ({ data }) => {
    const { id, method, params, result, error }: Message = JSON.parse(data);
    if (id !== undefined) {
      if (error) waiting.get(id)!.reject(new Error(JSON.stringify(error)));
      else waiting.get(id)!.resolve(result);
    } else if (method === "Page.loadEventFired") loaded.resolve();
    else if (method === "Runtime.exceptionThrown") faults.push(JSON.stringify(params));
    else if (method === "Log.entryAdded") faults.push(JSON.stringify(params));
  });
  // deno-lint-ignore no-explicit-any -- each method answers with a shape of its own
  function ask(method: string, params: Record<string, unknown> = {}): Promise<any> {
    const answer = Promise.withResolvers<unknown>();
    waiting.set(++last, answer);
    socket.send(JSON.stringify({ id: last, method, params }));
    return answer.promise;
  }
  for (const domain of ["Page", "Runtime", "Log"]) await ask(`${domain}.enable`);
  return {
    faults,
    async open(url) {
      loaded = Promise.withResolvers();
      const { errorText } = await ask("Page.navigate", { url });
      if (errorText) throw new Error(`${url}: ${errorText}`);
      await loaded.promise;
    },
    async evaluate(expression) {
      const { result, exceptionDetails } = await ask("Runtime.evaluate", {
        ...{ expression, awaitPromise: true, returnByValue: true },
      });
      if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
      return result.value;
    },
    async prefer(value) {
      const features = [{ name: "prefers-color-scheme", value }];
      await ask("Emulation.setEmulatedMedia", { features });
    },
  };
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
