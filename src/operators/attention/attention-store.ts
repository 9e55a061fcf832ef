import type { WebhookEvent } from '#core/model/webhook-event.ts';
import type { Queryable } from '#core/platform/postgres.ts';

/** Only the most urgent items. A list or a page shows the others. */
const shownMax = 20;
/** Counting this many index entries takes a few milliseconds. */
const totalMax = 10_000;
/** The sweeper checks a claim a minute or two after its lease has ended, and settles most of them. */
const settlingTime = `interval '5 minutes'`;

/** Items of one kind that need attention. */
interface Urgent<Item> {
  /** At most `totalMax`. */
  readonly total: number;
  /** The most urgent first. */
  readonly data: readonly Item[];
}

interface AttentionCustomer {
  readonly id: string;
  readonly externalId: string | null;
  readonly email: string | null;
  readonly name: string | null;
}

interface UrgentDispute {
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
  readonly reason: string | null;
  /** In ISO 8601. */
  readonly evidenceDueBy: string | null;
  readonly customer: AttentionCustomer | null;
}

interface UrgentSubscription {
  readonly subscriptionId: string;
  readonly planId: string;
  readonly planName: string;
  readonly amountDue: number;
  readonly currency: string;
  readonly nextPaymentAttemptAt: Date | null;
  readonly customer: AttentionCustomer | null;
}

interface UrgentEndpoint {
  readonly id: string;
  readonly url: string;
  readonly description: string | null;
  readonly enabled: boolean;
  readonly failingSince: Date | null;
  readonly disabledAt: Date | null;
}

type UrgentWebhookEvent = Pick<
  WebhookEvent,
  'id' | 'type' | 'objectId' | 'attempts' | 'lastError' | 'createdAt' | 'receivedAt'
>;

interface UrgentClaim {
  readonly operation: string;
  readonly objectId: string;
  readonly parentId: string | null;
  readonly keyName: string;
  readonly createdAt: Date;
}

/** The customer of a row, as other responses show it. */
const customer = `case when customers.deleted_at is null then jsonb_build_object('id', customers.id,
  'externalId', customers.external_id, 'email', customers.email, 'name', customers.name) end as customer`;

/** The same condition as that of the index, so that PostgreSQL uses it. */
const needsResponse = `dispute ->> 'status' in ('needs_response', 'warning_needs_response')`;
const isFailing = `disabled_reason = 'failing' or (enabled and failing_since is not null)`;
const isUnsettled = `completed_at is null and leased_until < now() - ${settlingTime}`;

/**
 * All SQL that finds items that need attention. It only reads. Each statement uses an index that contains only such
 * rows, or few others.
 */
export class AttentionStore {
  disputes(db: Queryable): Promise<Urgent<UrgentDispute>> {
    return find<UrgentDispute>(
      db,
      `till.payments where ${needsResponse}`,
      `select urgent.id as "paymentId", (dispute ->> 'amount')::bigint as amount, dispute ->> 'currency' as currency,
         dispute ->> 'status' as status, dispute ->> 'reason' as reason, dispute ->> 'evidenceDueBy' as "evidenceDueBy",
         ${customer}
       from (select id, customer_id, dispute from till.payments where ${needsResponse}
         order by dispute ->> 'evidenceDueBy', id limit ${shownMax}) as urgent
       join till.customers on customers.id = urgent.customer_id
       order by dispute ->> 'evidenceDueBy', urgent.id`,
    );
  }

  /**
   * Subscriptions by the open amount of their invoices. Amounts of different currencies are compared as numbers. The
   * invoices of each subscription are looked up one by one: adding up all open invoices would also read those of other
   * subscriptions.
   */
  pastDue(db: Queryable): Promise<Urgent<UrgentSubscription>> {
    return find<UrgentSubscription>(
      db,
      `till.subscriptions where status = 'past_due'`,
      `select urgent.id as "subscriptionId", plans.id as "planId", plans.name as "planName", amount_due as "amountDue",
         plans.currency, (select min(next_payment_attempt_at) from till.invoices
           where invoices.processor_subscription_id = urgent.processor_subscription_id and invoices.status = 'open')
           as "nextPaymentAttemptAt", ${customer}
       from (
         select id, customer_id, plan_id, processor_subscription_id, owed.amount as amount_due
         from till.subscriptions cross join lateral (
           select coalesce(sum(amount_remaining), 0)::bigint as amount from till.invoices
           where invoices.status = 'open' and invoices.processor_subscription_id is not null
             and invoices.processor_subscription_id = subscriptions.processor_subscription_id
         ) as owed
         where subscriptions.status = 'past_due'
         order by amount_due desc, id limit ${shownMax}
       ) as urgent
       join till.customers on customers.id = urgent.customer_id
       join till.plans on plans.id = urgent.plan_id
       order by amount_due desc, urgent.id`,
    );
  }

  endpoints(db: Queryable): Promise<Urgent<UrgentEndpoint>> {
    return find<UrgentEndpoint>(
      db,
      `till.event_endpoints where ${isFailing}`,
      `select id, url, description, enabled, failing_since as "failingSince", disabled_at as "disabledAt"
       from till.event_endpoints where ${isFailing}
       order by coalesce(failing_since, disabled_at), id limit ${shownMax}`,
    );
  }

  webhookEvents(db: Queryable): Promise<Urgent<UrgentWebhookEvent>> {
    return find<UrgentWebhookEvent>(
      db,
      `till.webhook_events where state = 'failed'`,
      `select id, type, object_id as "objectId", attempts, last_error as "lastError", created_at as "createdAt",
         received_at as "receivedAt"
       from till.webhook_events where state = 'failed' order by created_at, id limit ${shownMax}`,
    );
  }

  claims(db: Queryable): Promise<Urgent<UrgentClaim>> {
    return find<UrgentClaim>(
      db,
      `till.idempotency_claims where ${isUnsettled}`,
      `select operation, resource_id as "objectId", parent_id as "parentId", key_name as "keyName",
         created_at as "createdAt"
       from till.idempotency_claims where ${isUnsettled} order by leased_until limit ${shownMax}`,
    );
  }
}

async function find<Item extends object>(db: Queryable, from: string, text: string): Promise<Urgent<Item>> {
  const counting = `select count(*)::integer as total from (select from ${from} limit ${totalMax}) as counted`;
  const [[count], data] = await Promise.all([
    db.query<{ readonly total: number }>(counting),
    db.query<Item>(text),
  ]);
  return { total: count?.total ?? 0, data };
}
