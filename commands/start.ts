/** The command `start`: serves the API and, unless they are off, runs the workers. @module */
import { parseArgs } from "node:util";
import { openRealmContexts } from "../domain/realms/context.ts";
import { openSigningKeys } from "../domain/security/signing_keys.ts";
import { createApp } from "../routes/http/app.ts";
import { openPadding } from "../routes/http/answer_padding.ts";
import { endUnread } from "../routes/http/body_streams.ts";
import { keepNetworksKnown } from "../routes/http/health.ts";
import { openLimits } from "../routes/http/rate_limits.ts";
import { probeDelays, requestMetricsOf } from "../routes/http/request_metrics.ts";
import type { Services } from "../routes/http/services.ts";
import { openUntaken } from "../routes/http/untaken_answers.ts";
import { openEnding } from "../routes/http/shutdown.ts";
import { openPeople } from "../workers/gateways/people/people.ts";
import type { Runner } from "../workers/jobs/runner.ts";
import { type CommandContext, type Invocation, listen } from "./context.ts";
import { endServer, limitTime } from "./ending.ts";
import { welcome } from "./sandbox.ts";

/** Message of the launcher to a service that it starts. */
const START_FLAGS = {
  supervised: { type: "boolean" },
  sandbox: { type: "string" },
  "platform-key-file": { type: "string" },
} as const;

/** Serves the API and, unless they are off, runs the workers. */
export async function start(
  context: CommandContext,
  { args, ending }: Invocation,
): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: START_FLAGS });
  const { config, log, database, migrations, provisioning } = context;
  // A process that only serves does not load the code of chains.
  const workers = config.workers ? await import("./workers.ts") : null;
  await workers?.assertRecord(config);
  const now = Date.now;
  let runner: Runner | null = null;
  const services: Services = {
    ...{ config, log, lostLines: context.lostLines },
    ...{ platform: database.platform, replica: database.replica },
    migrations,
    provisioning,
    realms: openRealmContexts(database, now),
    signingKeys: openSigningKeys({
      platform: database.platform,
      userKeyTtlS: config.userKeyTtlS,
      now,
    }),
    secrets: provisioning.secrets,
    people: openPeople(config, provisioning.secrets, database.platform),
    limits: openLimits({ platform: database.platform, log, now }),
    connections: () => database.taken(),
    ending: openEnding(),
    wake: (id) => runner?.wake(id),
    now,
  };
  const app = createApp(services, context.platformKey);
  database.replica?.watch(({ fault, lagMs }) => {
    if (fault === null) log("info", "the replica answers lists", { lag_ms: lagMs });
    else log("warn", "the primary answers lists: the replica does not", { fault });
  });
  const padding = openPadding();
  const untaken = openUntaken(services);
  const server = listen(config, (request, info) => {
    const { hostname, port } = info.remoteAddr;
    const sent = (answer: Response) => {
      endUnread(request, info);
      return untaken(request, { answer, sending: info, connection: info.remoteAddr });
    };
    const given = app(request, hostname);
    const answer = given instanceof Promise ? given.then(sent) : sent(given);
    return padding.isDue(port) ? padding.add(answer) : answer;
  });
  const endReading = keepNetworksKnown(services);
  const endProbe = probeDelays(requestMetricsOf(services));
  const { isCrowded } = services.realms;
  if (workers !== null) runner = await workers.runWorkers(context, isCrowded);
  log("info", "serving", { address: config.baseUrl, workers: config.workers });
  const { sandbox, "platform-key-file": keyFile = null } = values;
  if (sandbox !== undefined && sandbox !== "") await welcome(context, sandbox, keyFile);
  limitTime(log, await ending);
  endReading();
  endProbe();
  services.ending.begin();
  await endServer(server, log);
  await services.limits.close();
  await runner?.stop();
}
