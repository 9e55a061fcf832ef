import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setInterval } from 'node:timers/promises';
import { eventTypes } from '../../src/processor/event-types.ts';
import { type Service, useService } from '../support/service.ts';

/** Installed with `npm ci --prefix test/stripe-cli`, apart from the service's own packages. */
const command = resolve(
  import.meta.dirname,
  `../stripe-cli/node_modules/@stripe/cli-linux-${process.arch}/bin/stripe`,
);
const skip = existsSync(command) ? false : 'the Stripe CLI is not installed: npm ci --prefix test/stripe-cli';

/** Needs a bank debit; the sandbox has only cards. */
const unsupported = ['payment_intent.processing'];
/** Most of a trigger's time is the start of the command, so a few at a time keep the cores busy. */
const triggersAtOnce = 3;
/** A trigger takes less than a second. */
const triggerTimeoutMs = 30_000;
/** Far longer than the worker takes, even on a busy machine. */
const processedTimeoutMs = 20_000;
const askAgainDelayMs = 50;

interface Outcome {
  readonly type: string;
  readonly said: string;
  readonly succeeded: boolean;
}

test("the Stripe CLI's triggers succeed and their events reach Till", { skip }, async (t) => {
  const service = await useService();
  const cli = await useCli(t, service.processorUrl);
  const { said: help } = await cli('--help');
  const offered = new Set(help.split(/\s+/));
  const types = eventTypes.filter((type) => offered.has(type));
  assert.ok(types.length >= 28, `the CLI triggers only ${types.join(', ')}`);

  const outcomes: Outcome[] = [];
  for (let at = 0; at < types.length; at += triggersAtOnce)
    outcomes.push(...(await Promise.all(types.slice(at, at + triggersAtOnce).map(cli))));
  const failed = outcomes.filter(({ succeeded }) => !succeeded);
  assert.deepEqual(
    failed.map(({ type }) => type),
    unsupported,
    failed.map(({ said }) => said).join('\n'),
  );

  await service.control('POST', 'delivery/flush');
  const states = await processedStates(service);
  // Till takes in the invoices, and ignores other objects that it did not make.
  assert.deepEqual(
    types.filter((type) => states.has(type)),
    types.filter((type) => !unsupported.includes(type)),
  );
  for (const [type, found] of states) {
    assert.equal(found.has('failed'), false, `${type} failed`);
    if (type.startsWith('invoice.') && types.some((known) => known === type))
      assert.equal(found.has('processed'), true, `${type} was not processed`);
  }
});

/** Runs `stripe trigger` with a home of its own, so that it reads and writes nobody's settings. */
async function useCli(t: TestContext, url: string): Promise<(argument: string) => Promise<Outcome>> {
  const home = await mkdtemp(join(tmpdir(), 'till-stripe-cli-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const env = { HOME: home, STRIPE_CLI_TELEMETRY_OPTOUT: '1' };
  const connection = ['--api-base', url, '--api-key', 'sk_test_stripe_cli'];
  return (argument) =>
    new Promise((done) => {
      execFile(
        command,
        ['trigger', argument, ...connection],
        { env, timeout: triggerTimeoutMs },
        (error, stdout, stderr) =>
          done({ type: argument, said: `${stdout}${stderr}`, succeeded: error === null }),
      );
    });
}

/** The states of each type's events, once none is pending. */
async function processedStates({ sql }: Service): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const signal = AbortSignal.timeout(processedTimeoutMs);
  for await (const _ of setInterval(askAgainDelayMs, undefined, { signal })) {
    const rows = await sql<{ type: string; states: string[] }>(
      'select type, array_agg(distinct state) as states from till.webhook_events group by type',
    );
    if (rows.length > 0 && rows.every(({ states }) => !states.includes('pending')))
      return new Map(rows.map(({ type, states }) => [type, new Set(states)]));
  }
  throw new Error('the events stayed pending');
}
