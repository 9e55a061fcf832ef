import assert from 'node:assert/strict';
import type { Sql } from '../backend.ts';

/** What is stored of deleted customers, and of what belonged to them, that should be gone after the first search. */
const traces = `with deleted as (
    select id, processor_customer_id as key from till.customers where deleted_at is not null)
  select 'payment' as kind, payments.id::text as id from till.payments
    join deleted on customer_id = deleted.id where metadata <> '{}'
  union all select 'subscription', subscriptions.id::text from till.subscriptions
    join deleted on customer_id = deleted.id where metadata <> '{}' or cancellation_reason is not null
  union all select 'checkout', checkouts.id::text from till.checkouts
    join deleted on customer_id = deleted.id where metadata <> '{}'
  union all select 'webhook event', webhook_events.id from till.webhook_events
    join deleted on coalesce(customer_key, object_id) = key
    where personal_data = 'customer' or (personal_data = 'unchecked' and state <> 'pending')
  union all select 'event', position::text from till.events
    join deleted on customer_id = deleted.id
    where (data::jsonb -> 'metadata') <> '{}' or previous::jsonb ?| array['metadata', 'cancellationReason']
      or data::jsonb ->> 'email' <> '' or data::jsonb ->> 'cancellationReason' is not null`;

/** Nothing is left of deleted customers. Call it after the first search for personal data. */
export async function assertForgotten(sql: Sql): Promise<void> {
  assert.deepEqual(await sql(traces), []);
}
