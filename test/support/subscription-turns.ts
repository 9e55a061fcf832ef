import type { Backend } from './backend.ts';

/** As if the writers of subscriptions that hold their turns had stood still for longer than their leases. */
export async function expireTurns({ sql }: Pick<Backend, 'sql'>): Promise<void> {
  await sql(
    `update till.idempotency_claims set leased_until = now() - interval '1 second' where completed_at is null`,
  );
  await sql(`update till.subscription_turns set leased_until = now() - interval '1 second'`);
}
