import { databaseVariable, runOnServer } from './test-database.ts';

export interface Snapshot {
  /** Puts the snapshot back in the place of the database, as a restored backup. Every Till on it must be stopped. */
  restore(): Promise<void>;
}

/** A copy of a database on the shared test server, which is dropped with it. Every Till on it must be stopped. */
export async function takeSnapshot({
  databaseUrl,
  atEnd,
}: {
  readonly databaseUrl: string;
  readonly atEnd: (end: () => unknown) => void;
}): Promise<Snapshot> {
  const serverUrl = process.env[databaseVariable];
  const name = /\/(test_[0-9a-f]+)\?/.exec(databaseUrl)?.[1] ?? '';
  if (serverUrl === undefined || name === '') throw new Error('the database is not on the test server');
  const copy = `${name}_snapshot`;
  const replace = async (from: string, to: string) => {
    // The connections of the test itself. Its pool opens new ones.
    await runOnServer(
      serverUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname in ('${from}', '${to}')`,
    );
    await runOnServer(serverUrl, `drop database if exists ${to} with (force)`);
    await runOnServer(serverUrl, `create database ${to} template ${from} strategy file_copy`);
  };
  await replace(name, copy);
  atEnd(() => runOnServer(serverUrl, `drop database if exists ${copy} with (force)`));
  return { restore: () => replace(copy, name) };
}
