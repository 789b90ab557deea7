/**
 * What deploy/ gives to operators: manifests of Kubernetes against its schemas, units as systemd reads them. The
 * settings, tasks and probes that they name exist.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { parse, parseAllDocuments } from "yaml";
import { settingNames } from "../../config.ts";
import { allRoutes } from "../../routes/http/route_list.ts";

interface Container {
  args: string[];
  command?: string[];
  volumeMounts?: { mountPath: string }[];
  envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  env?: { name: string; value: string }[];
  resources: { limits: Record<string, string>; requests: Record<string, string> };
  securityContext: Record<string, unknown>;
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } };
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec: {
    template: { metadata: { labels: Record<string, string> }; spec: PodSpec };
    selector: { matchLabels?: Record<string, string>; [label: string]: unknown };
    podSelector: { matchLabels: Record<string, string> };
    /** Of a CronJob. */
    jobTemplate: Pick<Manifest, "spec">;
  };
}

interface PodSpec {
  containers: Container[];
  securityContext: Record<string, unknown>;
  automountServiceAccountToken: boolean;
}

const RUNTIME = [
  ...["DENO_V8_FLAGS", "DENO_DIR", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"],
];
/** What a unit has for itself: what it runs, when it is started again, and where it writes. */
const OWN =
  /^(Type|WorkingDirectory|Environment(File)?|ExecStart|Restart(Sec)?|TimeoutStopSec|StateDirectory(Mode)?)=/;
const read = (name: string) => Deno.readTextFile(`deploy/${name}`);

/** Whether systemd is there to read its units. */
function hasSystemd(): boolean {
  try {
    return new Deno.Command("systemd-analyze", { args: ["--version"] }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * The model of a manifest's kind in the version that it names. The name is put together, because the compiler would read
 * a thousand files for their types, which say nothing here.
 */
async function schemaOf(
  { apiVersion, kind }: Manifest,
): Promise<new (data: Manifest) => { validate(): void }> {
  const models = await import(["kubernetes-models", apiVersion].join("/"));
  ok(kind in models, `${apiVersion} has ${kind}`);
  return models[kind];
}

async function manifests(): Promise<Manifest[]> {
  const documents = parseAllDocuments(await read("kubernetes.yaml"), { merge: true });
  return documents.map((document) => {
    deepEqual(document.errors, []);
    return document.toJS() as Manifest;
  });
}

async function pods(): Promise<Map<string, PodSpec>> {
  const all = (await manifests()).filter(({ kind }) => /^(Deployment|(Cron)?Job)$/.test(kind));
  return new Map(all.map(({ kind, metadata, spec }) => [
    metadata.name,
    (kind === "CronJob" ? spec.jobTemplate.spec : spec).template.spec,
  ]));
}

Deno.test("the manifests are what Kubernetes' schemas describe, and select the pods that they mean", async () => {
  const all = await manifests();
  for (const one of all) new (await schemaOf(one))(one).validate();
  const labels = all.filter(({ spec }) => spec?.template !== undefined)
    .map(({ spec }) => spec.template.metadata.labels);
  const selected = all.flatMap(({ kind, spec }) => {
    if (kind === "Service") return [spec.selector as Record<string, string>];
    return [spec?.selector?.matchLabels ?? spec?.podSelector?.matchLabels ?? []].flat();
  });
  equal(selected.length, 6);
  for (const wanted of selected) {
    const found = labels.filter((one) => Object.entries(wanted).every(([k, v]) => one[k] === v));
    equal(found.length, 1, JSON.stringify(wanted));
  }
});

Deno.test("pods have no rights of their host, bounds, and probes that routes answer", async () => {
  const paths = new Set(allRoutes().map(({ path }) => path));
  for (const [name, pod] of await pods()) {
    equal(pod.automountServiceAccountToken, false, name);
    equal(pod.securityContext.runAsNonRoot, true, name);
    const [container, ...others] = pod.containers;
    deepEqual(others, []);
    deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    match(container.resources.limits.memory, /^\dGi$/);
    const probes = Object.keys(container).filter((key) => key.endsWith("Probe"));
    if (name !== "purser-migrate" && name !== "purser-backup") {
      ok(probes.includes("livenessProbe"), name);
    }
    for (const probe of probes) {
      ok(paths.has(container[probe as `${string}Probe`].httpGet.path), probe);
    }
  }
});

Deno.test("the master key reaches the pod that signs and no other, and every setting exists", async () => {
  const known = new Set([...settingNames(), ...RUNTIME]);
  const config = (await manifests()).find(({ kind }) => kind === "ConfigMap")!;
  for (const name of Object.keys(config.data!)) ok(known.has(name), name);
  const all = await pods();
  const secretsOf = (name: string) =>
    all.get(name)!.containers[0].envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []);
  deepEqual(secretsOf("purser"), ["purser-serving"]);
  deepEqual(secretsOf("purser-migrate"), ["purser-serving"]);
  deepEqual(secretsOf("purser-worker"), ["purser-serving", "purser-signing"]);
  deepEqual(secretsOf("purser-backup"), ["purser-serving"]);
  for (const name of ["purser", "purser-migrate"]) {
    deepEqual(all.get(name)!.containers[0].env, [{ name: "WORKERS", value: "off" }]);
  }
  deepEqual([...all.values()].map(({ containers }) => containers[0].args), [
    ...[["migrate"], ["backup", "--keep", "14"], ["start"], ["worker"]],
  ]);
});

Deno.test("the job of backups writes to its volume with the rights of compose's, and cannot decrypt", async () => {
  const { containers: [container] } = (await pods()).get("purser-backup")!;
  const { services } = parse(await Deno.readTextFile("compose.yaml"), { merge: true });
  deepEqual(container.command, services.backup.entrypoint);
  const known = settingNames();
  for (const { name } of container.env!) ok(known.has(name), name);
  const folder = container.env!.find(({ name }) => name === "BACKUP_DIR")!.value;
  deepEqual(container.volumeMounts!.map(({ mountPath }) => mountPath), [folder]);
  equal(JSON.stringify(container).includes("IDENTITY"), false);
});

/** Units of systemd: the task that each runs, the files of its environment, and whether it has the keys that sign. */
const UNITS = [
  { file: "purser-serving.service", task: "serve", files: ["serving"] },
  { file: "purser-worker.service", task: "worker", files: ["serving", "signing"] },
  { file: "purser-backup.service", task: "backup --keep 14", files: ["serving", "backup"] },
] as const;

Deno.test("the units of systemd run tasks that exist with settings that exist", async () => {
  const known = new Set([...settingNames(), ...RUNTIME]);
  const { tasks } = JSON.parse(await Deno.readTextFile("deno.json"));
  for (const { file, task, files } of UNITS) {
    const unit = await read(file);
    match(unit, new RegExp(`^ExecStart=/usr/local/bin/deno task --quiet ${task}$`, "m"));
    ok(task.split(" ")[0] in tasks);
    for (const [, settings] of unit.matchAll(/^Environment=(.*)$/gm)) {
      for (const setting of settings.split(" ")) ok(known.has(setting.split("=")[0]), setting);
    }
    const given = [...unit.matchAll(/^EnvironmentFile=\/etc\/purser\/(\w+)\.env$/gm)];
    deepEqual(given.map(([, name]) => name), files);
  }
});

Deno.test({
  name: "systemd finds no fault in its units",
  ignore: !hasSystemd(),
  async fn() {
    const { stderr } = await new Deno.Command("systemd-analyze", {
      args: [
        ...["verify", "--man=no", "deploy/purser-backup.timer"],
        ...UNITS.map(({ file }) => `deploy/${file}`),
      ],
    }).output();
    const faults = new TextDecoder().decode(stderr).split("\n")
      .filter((line) => line.includes("purser-") && !line.includes("is not executable"));
    deepEqual(faults, []);
  },
});

Deno.test("the units of systemd have the same bounds and no rights, and a timer makes the backup that Kubernetes makes, as often", async () => {
  const bounds = async (file: string) =>
    (await read(file)).split("[Service]\n")[1].split("\n[")[0]
      .split("\n").filter((line) => /^\w+=/.test(line) && !OWN.test(line)).sort();
  const [first, ...others] = await Promise.all(UNITS.map(({ file }) => bounds(file)));
  ok(first.includes("ProtectSystem=strict") && first.includes("DynamicUser=yes"));
  for (const one of others) deepEqual(one, first);

  const unit = await read("purser-backup.service");
  const folder = /BACKUP_DIR=(\S+)/.exec(unit)![1];
  equal(folder, `/var/lib/${/^StateDirectory=(.*)$/m.exec(unit)![1]}`); // it may write nothing else
  match(unit, /^Type=oneshot$/m);
  ok(!/IDENTITY|MASTER_KEY=|signing\.env/.test(unit));
  const timer = await read("purser-backup.timer");
  ok(!/^Unit=/m.test(timer)); // so it starts the service of its name
  match(timer, /^WantedBy=timers\.target$/m);
  match(timer, /^Persistent=yes$/m);
  const cron = (await manifests()).find(({ kind }) => kind === "CronJob")!;
  const { schedule } = cron.spec as unknown as { schedule: string };
  const [, hour, minute] = /^OnCalendar=\*-\*-\* (\d\d):(\d\d):00$/m.exec(timer)!;
  equal(schedule, `${Number(minute)} ${Number(hour)} * * *`);
  const { containers: [{ args }] } = (await pods()).get("purser-backup")!;
  deepEqual(UNITS.find(({ file }) => file === "purser-backup.service")!.task.split(" "), args);
});
