import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { Ajv } from 'ajv';
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts';
import type { Job } from 'kubernetes-types/batch/v1.d.ts';
import type { PodSpec } from 'kubernetes-types/core/v1.d.ts';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts';
import { parse, parseAllDocuments } from 'yaml';
import { version } from '#core/platform/version.ts';
import { loadConfig, secretVariables } from '#runtime/composition/config.ts';
import { findProgram, skipWithout } from '../support/require-program.ts';
import { projectFolder } from '../support/till-in-child.ts';

const chart = join(projectFolder, 'deploy/helm');
/** Helm's engine and functions, from Debian. */
const goPath = '/usr/share/gocode';
const skip = skipWithout(
  findProgram('go') !== undefined && existsSync(join(goPath, 'src/github.com/Masterminds/sprig')),
  { what: 'go and sprig', install: 'apt-get install golang-go golang-github-masterminds-sprig-dev' },
);
const given = { secretName: 'till-secrets', settings: { PUBLIC_URL: 'https://till.example.com' } };
const peer = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } };
const scraper = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
/** Everything that a default leaves out. */
const everything = {
  ...given,
  imagePullSecrets: [{ name: 'registry' }],
  image: { repository: 'registry.example.com/till', tag: '1.2.3' },
  worker: { replicas: 3, autoscaling: { enabled: true, replicasMax: 5, cpuPercent: 60 } },
  migration: { secretName: 'till-owner' },
  service: { annotations: { 'example.com/note': 'yes' } },
  networkPolicy: { apiFrom: [peer], metricsFrom: [scraper], to: [{ ports: [5432], peers: [peer] }] },
  podAnnotations: { 'example.com/scrape': 'true' },
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'payments', operator: 'Exists' }],
};

type KubernetesObject = { readonly apiVersion: string; readonly kind: string } & Record<string, unknown>;

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'till-chart-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Compiled once. Go keeps what it has compiled, so that the next run takes a second. */
const renderer = { folder: '', program: '' };
before(() => {
  if (skip !== false) return;
  renderer.folder = mkdtempSync(join(tmpdir(), 'till-chart-'));
  renderer.program = join(renderer.folder, 'render-chart');
  const main = join(projectFolder, 'test/deploy/support/render-chart/main.go');
  const cache = join(projectFolder, 'node_modules/.cache/go');
  const env = { PATH: process.env['PATH'], GO111MODULE: 'off', GOPATH: goPath, GOCACHE: cache };
  const built = spawnSync('go', ['build', '-o', renderer.program, main], { encoding: 'utf8', env });
  assert.equal(built.status, 0, built.stderr);
});
after(() => rmSync(renderer.folder, { recursive: true, force: true }));

function runRenderer(t: TestContext, values: object) {
  const file = join(temporaryFolder(t), 'values.yaml');
  writeFileSync(file, JSON.stringify(values));
  return spawnSync(renderer.program, [chart, file], { encoding: 'utf8' });
}

function render(t: TestContext, values: object): readonly KubernetesObject[] {
  const { status, stdout, stderr } = runRenderer(t, values);
  assert.equal(status, 0, stderr);
  const documents = parseAllDocuments(stdout);
  assert.ok(!('empty' in documents));
  for (const { errors } of documents) assert.deepEqual(errors, []);
  return documents.map((document) => document.toJS()).filter((object) => object !== null);
}

function ofKind<Kind>(objects: readonly KubernetesObject[], kind: string): readonly Kind[] {
  return objects.filter((object) => object.kind === kind) as readonly unknown[] as readonly Kind[];
}

/**
 * Unknown fields and wrong types are errors of the compiler: `kubernetes-types` is generated from Kubernetes' own
 * schema.
 */
function typeErrors(t: TestContext, objects: readonly KubernetesObject[]): string {
  const types = join(projectFolder, 'node_modules/kubernetes-types');
  const groupOf = (apiVersion: string) =>
    apiVersion === 'v1' ? 'core/v1' : apiVersion.replace(/\.k8s\.io\//, '/').replace(/^(\w+)\//, '$1/');
  const lines = objects.map(
    ({ apiVersion, kind, ...rest }, index) =>
      `import type { ${kind} as Kind${index} } from ${JSON.stringify(`${types}/${groupOf(apiVersion)}.d.ts`)};\n` +
      `export const object${index}: Kind${index} = ${JSON.stringify({ apiVersion, kind, ...rest }, null, 1)};`,
  );
  const file = join(temporaryFolder(t), 'objects.ts');
  writeFileSync(file, lines.join('\n'));
  const options = [
    '--noEmit',
    '--singleThreaded',
    '--strict',
    '--ignoreConfig',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--types',
    '',
  ];
  const { stdout, stderr } = spawnSync(join(projectFolder, 'node_modules/.bin/tsc'), [...options, file], {
    encoding: 'utf8',
  });
  return stdout + stderr;
}

test('everything that the chart renders fits the schema of Kubernetes', { skip }, (t) => {
  const kinds = [
    'Deployment',
    'HorizontalPodAutoscaler',
    'Job',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
  ];
  const rendered = [given, everything].map((values) => render(t, values));
  for (const objects of rendered) {
    assert.deepEqual([...new Set(objects.map(({ kind }) => kind))].toSorted(), kinds);
    const names = objects.map(({ kind, metadata }) => `${kind} ${(metadata as { name: string }).name}`);
    assert.equal(new Set(names).size, names.length, 'each has a name of its own');
  }
  const deployment = rendered.flat().find(({ kind }) => kind === 'Deployment');
  const misspelt = { ...deployment, spec: { ...(deployment?.['spec'] as object), replica: 2 } };
  const errors = typeErrors(t, [...rendered.flat(), misspelt as unknown as KubernetesObject]);
  // One line, which shows that the check finds a mistake.
  assert.match(errors, /^[^\n]+"replica"' does not exist[^\n]*\n?$/);
});

function podsOf(objects: readonly KubernetesObject[]): readonly PodSpec[] {
  const workloads = [...ofKind<Deployment>(objects, 'Deployment'), ...ofKind<Job>(objects, 'Job')];
  return workloads.map(({ spec }) => {
    assert.ok(spec?.template.spec);
    return spec.template.spec;
  });
}

test('pods meet the restricted Pod Security Standard, and contain no secret', { skip }, (t) => {
  const objects = render(t, everything);
  const pods = podsOf(objects);
  assert.equal(pods.length, 3);
  for (const { securityContext, containers, automountServiceAccountToken } of pods) {
    assert.equal(securityContext?.runAsNonRoot, true);
    assert.equal(securityContext?.seccompProfile?.type, 'RuntimeDefault');
    assert.equal(automountServiceAccountToken, false);
    for (const container of containers) {
      assert.equal(container.securityContext?.allowPrivilegeEscalation, false);
      assert.equal(container.securityContext?.readOnlyRootFilesystem, true);
      assert.deepEqual(container.securityContext?.capabilities, { drop: ['ALL'] });
      assert.ok(container.resources?.limits?.['memory'], 'memory is limited');
      assert.equal(container.envFrom?.[0]?.secretRef?.name, 'till-secrets');
      const names = container.env?.map(({ name }) => name) ?? [];
      assert.deepEqual(
        names.filter((name) => secretVariables.includes(name)),
        [],
      );
    }
  }
  assert.deepEqual(ofKind(objects, 'Secret'), []);
});

test('Till accepts the settings of each pod, and stops before Kubernetes kills it', { skip }, (t) => {
  const secrets = {
    API_KEYS: 'shop:0123456789abcdef0123456789abcdef',
    DATABASE_URL: 'postgres://till@postgres/till',
    REDIS_URL: 'redis://redis:6379',
    PROCESSOR_SECRET_KEY: 'sk_live_0123456789abcdef',
    PROCESSOR_WEBHOOK_SECRET: 'whsec_0123456789abcdef',
  };
  const pods = podsOf(render(t, given));
  const roles = pods.map(({ containers: [container], terminationGracePeriodSeconds }) => {
    const settings = Object.fromEntries(container?.env?.map(({ name, value }) => [name, value]) ?? []);
    const config = loadConfig({ NODE_ENV: 'production', ...secrets, ...settings }, '/app');
    if (container?.args !== undefined) return container.args.join(' ');
    const { readinessProbe, livenessProbe } = container ?? {};
    assert.equal(livenessProbe?.httpGet?.path, '/health/live');
    assert.equal(readinessProbe?.httpGet?.path, '/health/ready');
    const noticedSeconds = (readinessProbe?.periodSeconds ?? 0) * (readinessProbe?.failureThreshold ?? 0);
    assert.ok(noticedSeconds < config.stopDelaySeconds);
    assert.ok((terminationGracePeriodSeconds ?? 0) >= config.stopDelaySeconds + 15 + 5);
    return config.role;
  });
  assert.deepEqual(roles, ['api', 'worker', 'migrate']);
});

test('a network policy lets in only those that are named', { skip }, (t) => {
  const ingressOf = (values: object) =>
    ofKind<NetworkPolicy>(render(t, values), 'NetworkPolicy').map(({ spec }) =>
      spec?.ingress?.flatMap(({ from }) => from),
    );
  assert.deepEqual(ingressOf(given), [[], []]);
  assert.deepEqual(ingressOf(everything), [[peer, scraper], [scraper]]);
});

test('the schema of the values accepts the defaults, and refuses mistakes and secrets', () => {
  const validate = new Ajv({ allErrors: true }).compile(
    JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')),
  );
  const defaults = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
  const accepts = (values: object) => validate({ ...defaults, ...values });
  assert.ok(accepts(given), JSON.stringify(validate.errors));
  assert.ok(accepts(everything), JSON.stringify(validate.errors));
  assert.ok(!accepts({ secretName: '' }));
  assert.ok(!accepts({ ...given, replicas: 3 }));
  for (const name of secretVariables) assert.ok(!accepts({ ...given, settings: { [name]: 'x' } }), name);
  assert.deepEqual(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')).appVersion, version);
});

test('the chart says what is missing', { skip }, (t) => {
  assert.match(runRenderer(t, { secretName: 'x' }).stderr, /PUBLIC_URL is required/);
  assert.match(
    runRenderer(t, { settings: { CONSOLE: 'off' } }).stderr,
    /secretName is the name of the Secret/,
  );
});
