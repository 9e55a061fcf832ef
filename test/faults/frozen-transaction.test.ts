import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertMadeOnce, creationCase, layGround } from '../support/creations.ts';
import { lineToDatabase } from '../support/database-line.ts';
import { startLab, startLabTill } from '../support/fault-lab.ts';

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
    const lab = await startLab(t);
    let freezes = 0;
    const crashPoints = {
      // Inside the transaction that claims the key and reserves the amount.
      pass: (crashPoint: string) => {
        if (crashPoint !== 'claim.prepared' || freezes === 0) return;
        freezes -= 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, frozenMs);
      },
    };
    // Over TCP, as in production: on a socket file the connection breaks before anyone reads why the session ended.
    const { line, url } = await lineToDatabase(lab.databaseUrl);
    lab.atEnd(() => line.close());
    const till = await startLabTill(t, { ...lab, databaseUrl: `${url}?${parameter}` }, { crashPoints });
    const ground = await layGround(lab, till.post);
    const refund = () => till.post(refunds.path(ground), refunds.body(ground), 'frozen');
    freezes = 1;
    const failed = await refund();
    assert.equal(freezes, 0);
    assert.equal(failed.status, 503, JSON.stringify(failed.body));
    assert.equal(failed.body['code'], 'database_unavailable');
    assert.equal((await refund()).status, 200);
    await assertMadeOnce(lab, ground, refunds, 'frozen');
  });
}
