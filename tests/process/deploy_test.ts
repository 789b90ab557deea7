/**
 * What deploy/ gives to operators: manifests of Kubernetes against its schemas, units as systemd reads them. The
 * settings, tasks and probes that they name exist.
 *
 * @module
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Deployment } from "kubernetes-models/apps/v1";
import { CronJob, Job } from "kubernetes-models/batch/v1";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { ConfigMap, PersistentVolumeClaim, Service } from "kubernetes-models/v1";
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

const SCHEMAS: Readonly<Record<string, new (data: never) => { validate(): void }>> = {
  ...{ ConfigMap, CronJob, Deployment, Job, NetworkPolicy, PersistentVolumeClaim },
  ...{ PodDisruptionBudget, Service },
};
const RUNTIME = [
  ...["DENO_V8_FLAGS", "DENO_DIR", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"],
];
const read = (name: string) => Deno.readTextFile(`deploy/${name}`);

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
  for (const one of all) new SCHEMAS[one.kind](one as never).validate();
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

Deno.test("the units of systemd run tasks that exist with settings that exist, and systemd finds no fault", async () => {
  const known = new Set([...settingNames(), ...RUNTIME]);
  const { tasks } = JSON.parse(await Deno.readTextFile("deno.json"));
  for (const [file, task, keys] of [["serving", "serve", 1], ["worker", "worker", 2]] as const) {
    const unit = await read(`purser-${file}.service`);
    match(unit, new RegExp(`^ExecStart=/usr/local/bin/deno task --quiet ${task}$`, "m"));
    ok(task in tasks);
    for (const [, settings] of unit.matchAll(/^Environment=(.*)$/gm)) {
      for (const setting of settings.split(" ")) ok(known.has(setting.split("=")[0]), setting);
    }
    equal([...unit.matchAll(/^EnvironmentFile=/gm)].length, keys);
    equal(unit.includes("signing.env"), file === "worker");
  }
  const analyze = new Deno.Command("systemd-analyze", {
    args: ["verify", "--man=no", "deploy/purser-serving.service", "deploy/purser-worker.service"],
  });
  const { stderr } = await analyze.output().catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { stderr: new Uint8Array() }; // a machine without systemd
  });
  const faults = new TextDecoder().decode(stderr).split("\n")
    .filter((line) => line.includes("purser-") && !line.includes("is not executable"));
  deepEqual(faults, []);
});
