/** Stores a batch of usage events as they are sent, with one insert into a table with one index. */
import pg from 'pg';
import { bareApp, serve, setting } from './serve.ts';

const pool = new pg.Pool({
  connectionString: setting('DATABASE_URL'),
  max: Number(setting('DATABASE_POOL_SIZE')),
});
await pool.query(`create table if not exists bare_usage (
  id text not null, customer_id uuid not null, meter text not null, quantity bigint not null, at timestamptz not null,
  primary key (id, at))`);
const insert = {
  name: 'insert',
  text: `insert into bare_usage (id, customer_id, meter, quantity, at)
    select id, "customerId", meter, quantity, at
    from json_to_recordset($1) as v (id text, "customerId" uuid, meter text, quantity bigint, at timestamptz)`,
};

const app = bareApp();
app.post<{ Body: { events: readonly unknown[] } }>('/api/v1/usage', async ({ body: { events } }, reply) => {
  const { rowCount } = await pool.query({ ...insert, values: [JSON.stringify(events)] });
  return reply.send({ recorded: rowCount, duplicates: 0, rejected: [] });
});
await serve(app);
