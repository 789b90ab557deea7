/** The command `worker`: the workers without the API. @module */
import { type CommandContext, type Invocation, listen } from "./context.ts";
import { endServer, limitTime } from "./ending.ts";
import { assertRecord, runWorkers } from "./workers.ts";

/** Runs the workers alone. */
export async function worker(
  context: CommandContext,
  { ending }: Invocation,
): Promise<void> {
  await assertRecord(context.config);
  const server = listen(context.config, (request) => {
    // Not by URL, which throws at hosts that are none.
    const live = /^[a-z]+:\/\/[^/]*\/health\/live(\?|$)/i.test(request.url);
    return Response.json({ status: live ? "ok" : "not found" }, { status: live ? 200 : 404 });
  });
  const runner = await runWorkers(context);
  context.log("info", "working");
  limitTime(context.log, await ending);
  await endServer(server, context.log);
  await runner.stop();
}
