import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Database } from '#core/platform/postgres.ts';
import { ClaimStore, type StoredClaim } from '#engine/idempotency/claim-store.ts';
import { silentLogger } from '../support/log-capture.ts';
import { createTestDatabase } from '../support/test-database.ts';

test('an overtaken request cannot end a claim that was created again with the same idempotency key, not even in the same process', async (t) => {
  const { url, drop } = await createTestDatabase();
  const database = new Database({ url, poolSize: 2, logger: silentLogger });
  t.after(async () => {
    await database.close();
    await drop();
  });
  const claims = new ClaimStore(10_000, 'installation');
  const claim = async (): Promise<StoredClaim> => {
    const request = { operation: 'payments.create', key: 'again', requestHash: Buffer.alloc(32) } as const;
    const [created] = await claims.insert(database, [
      { ...request, keyName: '', resourceId: randomUUID(), parentId: null, owner: 7 },
    ]);
    assert(created);
    return created;
  };
  const overtaken = await claim();
  assert.equal(await claims.remove(database, overtaken), true);
  const anew = await claim();

  assert.equal(await claims.remove(database, overtaken), false);
  await claims.complete(database, [overtaken]);
  await claims.endLease(database, overtaken);
  const [stored] = await database.query<{ resource_id: string; is_open: boolean }>(
    'select resource_id, completed_at is null and leased_until > now() as is_open from till.idempotency_claims',
  );
  assert.deepEqual(stored, { resource_id: anew.resourceId, is_open: true });
});
