/**
 * Streams of events as a caller reads them.
 *
 * @module
 */
import { createApp } from "../../routes/http/app.ts";
import { PLATFORM_KEY, type TestRealm } from "./realm.ts";

/** A stream of events that is read. */
export interface Open extends AsyncDisposable {
  status: number;
  type: string | null;
  /** Blocks that came, each by its fields. */
  blocks: Record<string, string>[];
  ended: boolean;
}

/** Opens a stream of a user. */
export async function openStream(
  realm: TestRealm,
  user: { key: string },
  path = "/v1/events",
  headers: Record<string, string> = {},
): Promise<Open> {
  const app = createApp(realm.services, PLATFORM_KEY);
  const request = new Request(`http://purser.test${path}`, {
    headers: { "x-api-key": user.key, ...headers },
  });
  const answer = await app(request, "127.0.0.1");
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  const stream: Open = {
    ...{
      status: answer.status,
      type: answer.headers.get("content-type"),
      blocks: [],
      ended: false,
    },
    async [Symbol.asyncDispose]() {
      await reader.cancel();
      await reading;
    },
  };
  const read = async () => {
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
      const parts = text.split("\n\n");
      text = parts.pop()!;
      for (const part of parts) {
        stream.blocks.push(Object.fromEntries(
          part.split("\n").map((line) => {
            const at = line.indexOf(": ");
            return [line.slice(0, at), line.slice(at + 2)];
          }),
        ));
      }
    }
    stream.ended = true;
  };
  const reading = read().catch(() => {});
  return stream;
}

/** The notes of the events that came. */
export function notesOf({ blocks }: Open): string[] {
  return blocks.filter((one) => one.event !== undefined).map((one) =>
    JSON.parse(one.data).data.note
  );
}
