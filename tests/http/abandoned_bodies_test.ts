import { equal } from "node:assert/strict";
import type { Log } from "../../log.ts";
import { createApp } from "../../routes/http/app.ts";
import { PLATFORM_KEY, testRealm } from "../support/realm.ts";

for (
  const [how, framing, part] of [
    ["of a known length", "content-length: 1000", '{"source":'],
    ["in chunks", "transfer-encoding: chunked", '5\r\n{"a":\r\n'],
  ]
) {
  Deno.test(`a caller that leaves in the middle of a body ${how} is no error of the service`, async () => {
    await using realm = await testRealm();
    const told = Promise.withResolvers<{ level: string; code: unknown }>();
    const log: Log = (level, message, fields) => {
      if (message === "request") told.resolve({ level, code: fields?.code });
    };
    const app = createApp({ ...realm.services, log }, PLATFORM_KEY);
    const begun = Promise.withResolvers<void>();
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => {
        const answer = app(request, "127.0.0.1");
        begun.resolve();
        return answer;
      },
    );
    const { port } = server.addr as Deno.NetAddr;
    const caller = await Deno.connect({ hostname: "127.0.0.1", port });
    await caller.write(
      new TextEncoder().encode(
        `POST /v1/transactions HTTP/1.1\r\nhost: a\r\nx-api-key: ${realm.admin.key}\r\n` +
          `content-type: application/json\r\n${framing}\r\n\r\n${part}`,
      ),
    );
    await begun.promise;
    caller.close();
    const { level, code } = await told.promise;
    equal(code, "request.malformed");
    equal(level, "info");
  });
}
