import pg from 'pg';

/** Every row of every table, as text. */
export async function dumpTables(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
  );
  const dumps = [];
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: string }>(`select row::text from ${name} row`);
    dumps.push(name, ...rows.map(({ row }) => row));
  }
  await client.end();
  return dumps.join('\n');
}
