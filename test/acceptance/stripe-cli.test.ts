import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventTypes } from '../../src/processor/stripe/events/event-types.ts';
import type { Sql } from '../support/backend.ts';
import { startTill } from '../support/till.ts';

/** Installed with `npm ci --prefix test/stripe-cli`, apart from the service's own packages. */
const command = resolve(
  import.meta.dirname,
  `../stripe-cli/node_modules/@stripe/cli-linux-${process.arch}/bin/stripe`,
);
const skip = existsSync(command) ? false : 'needs the Stripe CLI: npm ci --prefix test/stripe-cli';

/** They need a bank debit: see sandbox/README.md. */
const isUnsupported = (type: string) =>
  type === 'payment_intent.processing' || type === 'checkout.session.async_payment_succeeded';
/** Most of a trigger's time is the start of the command, so a few at a time keep the cores busy. */
const triggersAtOnce = 3;
/** These succeed without their event: two cancel and release a schedule, and one ignores that its debit is refused. */
const isOtherEvent = (type: string) =>
  [
    'subscription_schedule.aborted',
    'subscription_schedule.completed',
    'checkout.session.async_payment_failed',
  ].includes(type);
/** A trigger takes less than a second. */
const triggerTimeoutMs = 30_000;

interface Outcome {
  readonly type: string;
  readonly said: string;
  readonly succeeded: boolean;
}

test("the Stripe CLI's triggers succeed and their events reach Till", { skip }, async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const cli = await useCli(t, till.processorUrl);
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
    types.filter(isUnsupported),
    failed.map(({ said }) => said).join('\n'),
  );

  await till.settle();
  const states = await statesByType(till);
  // Till takes in the invoices, and ignores other objects that it did not create.
  assert.deepEqual(
    types.filter((type) => states.has(type)),
    types.filter((type) => !isUnsupported(type) && !isOtherEvent(type)),
  );
  for (const [type, found] of states) {
    assert.equal(found.has('failed') || found.has('pending'), false, `${type} was not applied`);
    if (type.startsWith('invoice.') && types.some((known) => known === type))
      assert.equal(found.has('processed'), true, `${type} was not processed`);
  }
});

/** Runs `stripe trigger` with a home of its own, so that no settings of the user are read or written. */
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

async function statesByType({
  sql,
}: {
  readonly sql: Sql;
}): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await sql<{ type: string; states: string[] }>(
    'select type, array_agg(distinct state) as states from till.webhook_events group by type',
  );
  return new Map(rows.map(({ type, states }) => [type, new Set(states)]));
}
