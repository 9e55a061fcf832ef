/**
 * Stores a batch of usage events with one insert into the service's own table, with its days and its indexes. It checks
 * no customer and no repeat, finds no windows, and counts nothing.
 */
import pg from 'pg';
import { bareApp, serve, setting } from './serve.ts';

const pool = new pg.Pool({
  connectionString: setting('DATABASE_URL'),
  max: Number(setting('DATABASE_POOL_SIZE')),
});
const meterId = '00000000-0000-7000-8000-000000000000';
const insert = {
  name: 'insert',
  text: `insert into till.usage_events
      (application, id, day, at, quantity, customer_id, meter_id, window_start, created_at)
    select '', id, (at at time zone 'utc')::date, at, quantity, "customerId", '${meterId}', at, now()
    from json_to_recordset($1) as v (id text, "customerId" uuid, quantity bigint, at timestamptz)`,
};

const app = bareApp();
app.post<{ Body: { events: readonly unknown[] } }>('/api/v1/usage', async ({ body: { events } }, reply) => {
  const { rowCount } = await pool.query({ ...insert, values: [JSON.stringify(events)] });
  return reply.send({ recorded: rowCount, duplicates: 0, rejected: [] });
});
await serve(app);
