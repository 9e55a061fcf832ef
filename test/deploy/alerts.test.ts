import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { callLimits } from '../../src/processor/stripe/wire/calls.ts';
import { startBackend } from '../support/backend.ts';
import { startEventSink } from '../support/event-sink.ts';
import { createCustomer, createPayment } from '../support/objects.ts';
import { skipWithoutProgram } from '../support/require-program.ts';
import { startTill } from '../support/till.ts';
import { projectFolder } from '../support/till-in-child.ts';

const folder = join(projectFolder, 'deploy/prometheus');
const rulesFile = join(folder, 'till.rules.yaml');
const rules = readFileSync(rulesFile, 'utf8');
const ruleTests = readFileSync(join(folder, 'till.rules.test.yaml'), 'utf8');
const dashboard = readFileSync(join(projectFolder, 'deploy/grafana/till.json'), 'utf8');
const attemptsPerCall = callLimits.retriesMax + 1;
const skip = skipWithoutProgram('promtool', 'prometheus');
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => String(name));

function promtool(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
}

test('Prometheus accepts the rules; each alert fires in its fault, and stays quiet beside it', {
  skip,
}, () => {
  promtool('check', 'rules', 'till.rules.yaml');
  promtool('test', 'rules', 'till.rules.test.yaml');
  for (const alert of alerts)
    for (const what of ['fires', 'stays quiet'])
      assert.ok(ruleTests.includes(`- name: ${alert} ${what}\n`), `${alert} ${what} is tested`);
});

test('each alert leads to its section of the runbooks, and each section belongs to an alert', () => {
  const runbooks = readFileSync(join(projectFolder, 'docs/runbooks.md'), 'utf8');
  const sections = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name]) => String(name));
  assert.deepEqual(sections, alerts);
  const anchors = [...rules.matchAll(/runbook_url: \S+\/docs\/runbooks\.md#(\w+)/g)].map(([, name]) => name);
  assert.deepEqual(
    anchors,
    alerts.map((name) => name.toLowerCase()),
  );
});

/** The metrics that an expression of Prometheus reads. */
function metricsIn(expression: string): readonly string[] {
  const plain = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, ' ')
    .replaceAll(/\b(by|without|on)\s*\([^)]*\)/g, ' ');
  return [...plain.matchAll(/\b([a-z]\w*)\b(?!\s*\()/g)]
    .map(([, name]) => String(name))
    .filter((name) => name !== 'by');
}

/** Of Prometheus itself, for each target. */
const ownOfPrometheus = ['up'];

test('a running Till has every metric that the rules and the dashboard read', async (t) => {
  const till = await startTill({ in: 'process', on: await startBackend(t) });
  await createPayment(till);
  const text = await (await fetch(`${till.url}/metrics`)).text();
  const series = new Set([...text.matchAll(/^([a-z]\w*)[{ ]/gm)].map(([, name]) => name));
  const { panels } = JSON.parse(dashboard) as {
    readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
  };
  const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const watched = [...rules.matchAll(/ expr: (?:'(.*)'|\|\n((?: {10}.*\n)+))/g)].map(
    ([, line, lines]) => line ?? lines ?? '',
  );
  assert.equal(watched.length, alerts.length);
  const read = new Set([...shown, ...watched].flatMap(metricsIn));
  assert.ok(read.size > 20, `${read.size} metrics`);
  assert.deepEqual(
    [...read].filter((name) => !series.has(name) && !ownOfPrometheus.includes(name)),
    [],
  );
});

/** The series of a scrape, by name and labels. */
async function scrape(url: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = [...text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? (\S+)$/gm)];
  return new Map(
    lines.map(([, name, labels = '', value]) => [
      `${name}{${[labels, 'job="till", instance="till-1"'].filter((part) => part !== '').join(', ')}}`,
      Number(value),
    ]),
  );
}

/**
 * The alerts that fire if the fault between two scrapes lasts for half an hour. A counter grows every minute by what it
 * grew in the fault, and an age grows by a minute. Other gauges keep their value.
 */
function alertsAfter(
  t: TestContext,
  before: ReadonlyMap<string, number>,
  during: ReadonlyMap<string, number>,
) {
  const series = [...during].flatMap(([name, value]) => {
    const start = before.get(name) ?? 0;
    const isCounter = /_(total|count|sum|bucket)\{/.test(name);
    const isAge = name.startsWith('event_delivery_oldest_seconds') && value > 0;
    const step = isCounter ? value - start : isAge ? 60 : 0;
    const first = isCounter ? start : value;
    return Number.isNaN(value) ? [] : [`      - series: '${name}'\n        values: '${first}+${step}x40'`];
  });
  const expected = (name: string) => `      - { eval_time: 40m, alertname: ${name}, exp_alerts: [] }`;
  const file = `rule_files: [${rulesFile}]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n${series.join('\n')}\n    alert_rule_test:\n${alerts.map(expected).join('\n')}\n`;
  const place = mkdtempSync(join(tmpdir(), 'till-alerts-'));
  t.after(() => rmSync(place, { recursive: true }));
  writeFileSync(join(place, 'fault.yaml'), file);
  const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', join(place, 'fault.yaml')], {
    encoding: 'utf8',
  });
  // Each alert that fires contradicts the file, which expects none.
  return [...`${stdout}${stderr}`.matchAll(/alertname: (\w+), time/g)].map(([, name]) => name);
}

/** These Tills have no Redis. */
const withoutRedis = ['TillRateLimitsAlone'];

test('the alerts for the processor and for errors fire while the processor is down', { skip }, async (t) => {
  const till = await startTill({ in: 'process', on: await startBackend(t) });
  const customer = await createCustomer(till);
  const before = await scrape(till.url);
  await till.setFault({
    operation: 'payment_intents.create',
    kind: 'error',
    status: 500,
    times: attemptsPerCall,
  });
  const order = { customerId: customer.id, amount: 900, currency: 'eur' };
  assert.ok((await till.call('POST', '/payments', order)).status >= 500);
  const during = await scrape(till.url);
  const fired = alertsAfter(t, before, during);
  assert.deepEqual(fired, ['TillErrors', 'TillProcessorFailing', ...withoutRedis]);
});

test('the alert for late deliveries fires while an endpoint refuses events', { skip }, async (t) => {
  const till = await startTill({
    in: 'process',
    on: await startBackend(t),
    delivers: true,
    events: { allowPrivate: true },
  });
  const refused = Promise.withResolvers<void>();
  const sink = await startEventSink(t, (response) => {
    response.writeHead(500).end();
    refused.resolve();
  });
  await till.post('/event-endpoints', { url: sink.url });
  const before = await scrape(till.url);
  await createCustomer(till);
  await refused.promise;
  const fired = alertsAfter(t, before, await scrape(till.url));
  assert.deepEqual(fired, ['TillDeliveriesLate', ...withoutRedis]);
});
