/** A plain lookup with `pg` behind Fastify, with the service's own schema. */
import pg from 'pg';
import { bareApp, serve, setting } from './serve.ts';
import { subscriptionPath, subscriptionRoute } from './subscription-schema.ts';

const pool = new pg.Pool({
  connectionString: setting('DATABASE_URL'),
  max: Number(setting('DATABASE_POOL_SIZE')),
});
const lookup = `
  select id, processor_subscription_id as "processorSubscriptionId", customer_id as "customerId", plan_id as "planId",
    status, current_period_start as "currentPeriodStart", current_period_end as "currentPeriodEnd",
    trial_end as "trialEnd", quantity, add_ons as "addOns", other_items as "otherItems",
    status in ('active', 'trialing') as entitled, cancel_at_period_end as "cancelAtPeriodEnd", cancel_at as "cancelAt", canceled_at as "canceledAt", cancellation_reason as "cancellationReason",
    ended_at as "endedAt", null as "latestInvoiceId", default_payment_method_id as "defaultPaymentMethodId", discount,
    pending_change as "pendingChange", metadata, created_at as "createdAt", updated_at as "updatedAt"
  from till.subscriptions where id = $1`;

const app = bareApp();
app.get<{ Params: { id: string } }>(subscriptionPath, subscriptionRoute, async (request) => {
  const { rows } = await pool.query(lookup, [request.params.id]);
  return rows[0];
});
await serve(app);
