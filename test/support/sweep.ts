import type { Backend } from './backend.ts';
import type { TillInProcess } from './till-in-process.ts';

/** Makes every claim look abandoned, and lets the sweeper resolve it. */
export async function sweepAll({ sql }: Backend, till: TillInProcess): Promise<void> {
  await sql(
    `update till.idempotency_claims set attempted_at = attempted_at - interval '2 minutes',
       leased_until = leased_until - interval '2 minutes', looked_at = looked_at - interval '2 minutes'
     where completed_at is null`,
  );
  await till.services.sweeper.sweep();
}
