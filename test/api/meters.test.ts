import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createCustomer } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { createMeter, type MeterBody, readUsage, recordUsage, usageOf } from '../support/usage.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });

test('201: a meter is created, read, listed and renamed', async () => {
  const meter = await createMeter(till, { key: 'api_calls', name: 'API calls', resets: 'month' });
  const { id, createdAt, updatedAt, ...rest } = meter;
  assert.deepEqual(rest, { key: 'api_calls', name: 'API calls', resets: 'month', active: true });
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(await till.get(`/meters/${id}`), meter);
  const newer = await createMeter(till);
  const first = await till.get<{ data: MeterBody[]; nextCursor: string }>('/meters?limit=1');
  assert.deepEqual(first.data, [newer]);
  const rows = await till.get(`/meters?limit=1&cursor=${first.nextCursor}`);
  assert.deepEqual(rows, { data: [meter], nextCursor: null });
  const { body } = await till.tryPatch(`/meters/${id}`, { name: 'Calls' });
  assert.deepEqual(body, { ...meter, name: 'Calls', updatedAt: body['updatedAt'] });
  assert.ok(String(body['updatedAt']) > updatedAt);
});

test('409: a key that another meter has is refused, also of an archived one', async () => {
  const meter = await createMeter(till);
  const again = { key: meter.key, name: 'Other', resets: 'period' };
  const refused = await till.tryPost('/meters', again);
  assert.deepEqual([refused.status, refused.body['code']], [409, 'meter_key_taken']);
  await till.post(`/meters/${meter.id}/archive`);
  assert.equal((await till.tryPost('/meters', again)).status, 409);
  const results = await Promise.all(
    Array.from({ length: 5 }, () => till.tryPost('/meters', { ...again, key: `${meter.key}.2` })),
  );
  assert.deepEqual(results.map(({ status }) => status).toSorted(), [201, 409, 409, 409, 409]);
});

test('a request with the same idempotency key creates and changes once', async () => {
  const body = { key: 'replayed', name: 'Calls', resets: 'period' };
  const first = await till.tryPost('/meters', body, 'meter-1');
  const again = await till.tryPost('/meters', body, 'meter-1');
  assert.deepEqual([first.status, again.status, again.replayed], [201, 201, true]);
  assert.deepEqual(again.body, first.body);
  const path = `/meters/${first.body['id']}`;
  const renamed = await till.tryPatch(path, { name: 'One' }, 'rename-1');
  await till.tryPatch(path, { name: 'Two' });
  const replayed = await till.tryPatch(path, { name: 'One' }, 'rename-1');
  assert.deepEqual([renamed.status, replayed.status, replayed.replayed], [200, 200, true]);
  assert.equal((await till.get<MeterBody>(path)).name, 'Two');
});

test('an archived meter rejects usage, and its limits end', async () => {
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  await recordUsage(till, usageOf(customer, meter));
  assert.equal((await readUsage(till, customer, meter))?.used, 1);
  const archived = await till.post<MeterBody>(`/meters/${meter.id}/archive`);
  assert.equal(archived.active, false);
  assert.deepEqual(await till.post(`/meters/${meter.id}/archive`), archived);
  const { recorded, rejected } = await recordUsage(till, usageOf(customer, meter, { id: 'late' }));
  assert.deepEqual([recorded, rejected], [0, [{ index: 0, id: 'late', code: 'meter_archived' }]]);
  const refused = await till.tryPost('/usage/consume', usageOf(customer, meter));
  assert.deepEqual([refused.status, refused.body['code']], [409, 'meter_archived']);
  assert.equal(await readUsage(till, customer, meter), undefined);
});

test('409: there are at most 100 active meters, and archiving one makes room', async () => {
  const [row] = await till.sql<{ count: number }>(
    'select count(*)::int as count from till.meters where active',
  );
  for (let count = Number(row?.count); count < 100; count += 1) await createMeter(till);
  const refused = await till.tryPost('/meters', { key: 'one-more', name: 'Calls', resets: 'period' });
  assert.deepEqual([refused.status, refused.body['code']], [409, 'too_many_meters']);
  const { id } = (await till.get<{ data: MeterBody[] }>('/meters?limit=1')).data[0] ?? { id: '' };
  await till.post(`/meters/${id}/archive`);
  await createMeter(till, { key: 'one-more' });
});

test('however many meters are archived, all active ones count, and archived ones can be read', async (t) => {
  const { sql, ...other } = await startTill({ in: 'process', for: t, mustNotLogErrors: true });
  const [customer, first] = [await createCustomer(other), await createMeter(other)];
  await recordUsage(other, usageOf(customer, first, { quantity: 2 }));
  await other.post(`/meters/${first.id}/archive`);
  await sql(`insert into till.meters (id, key, name, resets, active, created_at, updated_at)
    select gen_random_uuid(), 'old-' || number, 'Old', 'period', false, now(), now() + interval '1 minute'
    from generate_series(1, 300) as number`);
  const meter = await createMeter(other);
  assert.equal((await recordUsage(other, usageOf(customer, meter))).recorded, 1);
  const late = usageOf(customer, { key: 'old-1' }, { id: 'late' });
  assert.deepEqual((await recordUsage(other, late)).rejected, [
    { index: 0, id: 'late', code: 'meter_archived' },
  ]);
  assert.equal((await other.tryPost('/usage/consume', late)).body['code'], 'meter_archived');
  const path = `/usage?customerId=${customer.id}&meter=${first.key}`;
  const { data } = await other.get<{ data: { quantity: number }[] }>(path);
  assert.deepEqual(
    data.map(({ quantity }) => quantity),
    [2],
  );
  const events = await other.get<{ data: { meter: string }[] }>(`/usage/events?customerId=${customer.id}`);
  assert.deepEqual(events.data.map((one) => one.meter).toSorted(), [first.key, meter.key].toSorted());
});
