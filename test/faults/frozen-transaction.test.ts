import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { assertCreatedOnce, createPrerequisites, creationCase } from '../support/creation-cases.ts';
import { lineToDatabase } from '../support/tcp-line.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const refunds = creationCase('refunds.create');
/** In place of the ten seconds that the service itself sets, for which a test cannot wait. */
const limitMs = 1_000;
const frozenMs = 2 * limitMs;

const limits = [
  { code: '25P03', parameter: `idle_in_transaction_session_timeout=${limitMs}` },
  { code: '25P04', parameter: `options=${encodeURIComponent(`-c transaction_timeout=${limitMs}`)}` },
] as const;

for (const { code, parameter } of limits) {
  test(`503: a process frozen inside a transaction for so long that PostgreSQL ends the session (${code}), and the same request succeeds after it`, async (t) => {
    const backend = await startBackend(t);
    let freezes = 0;
    const crashPoints = {
      // Inside the transaction that claims the idempotency key and reserves the amount.
      pass: (crashPoint: string) => {
        if (crashPoint !== 'claim.prepared' || freezes === 0) return;
        freezes -= 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, frozenMs);
      },
    };
    // Over TCP, as in production: on a socket file the connection breaks before anyone reads why the session ended.
    const { line, url } = await lineToDatabase(backend.databaseUrl);
    backend.atEnd(() => line.close());
    const till = await startTill({
      in: 'process',
      on: backend,
      databaseUrl: `${url}?${parameter}`,
      crashPoints,
    });
    // Without the limit, which a busy machine could exceed.
    const patient = await startTill({ in: 'process', on: backend });
    const prerequisites = await createPrerequisites(backend, patient);
    const refund = (at: TillInProcess) =>
      at.tryPost(refunds.path(prerequisites), refunds.body(prerequisites), 'frozen');
    freezes = 1;
    const failed = await refund(till);
    assert.equal(freezes, 0);
    assert.equal(failed.status, 503, JSON.stringify(failed.body));
    assert.equal(failed.body['code'], 'database_unavailable');
    assert.equal((await refund(patient)).status, 200);
    await assertCreatedOnce(backend, prerequisites, refunds, 'frozen');
  });
}
