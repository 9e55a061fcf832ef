import { type Lifetime, startBackend } from './backend.ts';
import { lineToDatabase, type TcpLine } from './tcp-line.ts';
import { startTill } from './till.ts';
import type { ProcessOptions, TillInProcess } from './till-in-process.ts';

/** A Till in this process, whose way to its database can be cut. The test's own queries go another way. */
export async function startTillOnLine(
  life: Lifetime,
  options: Omit<ProcessOptions, 'databaseUrl'> = {},
): Promise<{ readonly till: TillInProcess; readonly line: TcpLine }> {
  const backend = await startBackend(life);
  const { line, url } = await lineToDatabase(backend.databaseUrl);
  backend.atEnd(() => line.close());
  return { till: await startTill({ ...options, in: 'process', on: backend, databaseUrl: url }), line };
}
