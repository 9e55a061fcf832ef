import type { Sql } from './backend.ts';

export const listed = ['customers', 'payments', 'subscriptions', 'invoices', 'refunds'] as const;
export type Listed = (typeof listed)[number];

/** Objects that the rows of lists belong to. */
export const owners = {
  customers: ['0199c1f0-0000-7000-8000-000000000001', '0199c1f0-0000-7000-8000-000000000002'],
  plans: ['0199c1f0-0000-7000-8000-000000000011', '0199c1f0-0000-7000-8000-000000000012'],
  subscriptions: ['0199c1f0-0000-7000-8000-000000000021', '0199c1f0-0000-7000-8000-000000000022'],
  payments: ['0199c1f0-0000-7000-8000-000000000031'],
} as const;

export interface ListRow {
  readonly id: string;
  /** Microseconds after the first of January 2026: rows may share a millisecond. */
  readonly micros: number;
  /** Chooses the owner, the plan, the status and so on. */
  readonly kind: number;
}

const time = `timestamptz '2026-01-01' + micros * interval '1 microsecond'`;
const pick = (values: readonly string[], every = 1) =>
  `(array[${values.map((value) => `'${value}'`).join(', ')}])[1 + kind / ${every} % ${values.length}]`;
/** Whether a subscription charged the payment. */
const isCharged = 'kind / 6 % 2 = 1';
const rows = 'from jsonb_to_recordset($1::jsonb) as v (id uuid, micros bigint, kind integer)';
const common = `now(), now(), ${time}, now()`;
const commonColumns = 'processor_as_of, processor_as_of_latest, created_at, updated_at';

const failure = `jsonb_build_object('code', ${pick(['card_declined', 'expired_card'])}, 'declineCode',
  ${pick(['insufficient_funds', 'lost_card', 'expired_card'])}, 'message', null)`;
const dispute = `jsonb_build_object('status', ${pick(['won', 'needs_response'])}, 'amount', 1, 'currency', 'eur',
  'reason', null, 'evidenceDueBy', null)`;

const addOnOf = (planId: string) => `{"planId": "${planId}", "quantity": 2}`;
const addOns = ['[]', `[${addOnOf(owners.plans[0])}]`, `[${owners.plans.map(addOnOf).join(', ')}]`];

const inserts: Readonly<Record<Listed, string>> = {
  customers: `insert into till.customers (id, processor_customer_id, email, name, ${commonColumns})
    select id, 'cus_' || id, ${pick(['ada@example.com', 'Ada@Example.COM', 'bob@example.com'])},
      nullif(${pick(['', 'Ada Lovelace', 'Jürgen 田中太郎', '100% _of_'], 2)}, ''), ${common} ${rows}`,
  payments: `insert into till.payments (id, processor_payment_intent_id, amount, currency, customer_id, intent_status,
      processor_invoice_id, processor_subscription_id, failure, dispute, amount_received, amount_refunded,
      ${commonColumns})
    select id, 'pi_' || id, 2000 + kind / 4 % 3 * 500, ${pick(['eur', 'usd'], 3)}, ${pick(owners.customers)}::uuid,
      ${pick(['succeeded', 'processing', 'canceled'], 2)}, case when ${isCharged} then 'in_' || id end,
      case when ${isCharged} then 'sub_' || ${pick(owners.subscriptions, 12)} end,
      case when kind % 5 = 0 then ${failure} end, case when kind % 7 = 0 then ${dispute} end,
      2, case kind % 11 when 0 then 1 when 2 then 2 else 0 end, ${common} ${rows}`,
  subscriptions: `insert into till.subscriptions (id, processor_subscription_id, processor_main_item_id, customer_id,
      plan_id, status, add_ons, ${commonColumns})
    select id, 'sub_' || id, 'si_1', ${pick(owners.customers)}::uuid, ${pick(owners.plans, 2)}::uuid,
      ${pick(['active', 'trialing', 'canceled'], 4)}, ${pick(addOns, 6)}::jsonb, ${common} ${rows}`,
  invoices: `insert into till.invoices (id, processor_invoice_id, number, amount_due, amount_paid, amount_remaining,
      currency, customer_id, status, attempt_count, processor_subscription_id, ${commonColumns})
    select id, 'in_' || id, nullif(${pick(['', 'A1-0001', 'B2-0007'])}, ''), kind / 3 % 4, 1, 0, 'eur', ${pick(owners.customers)}::uuid, ${pick(['paid', 'open', 'void'], 2)}, 1,
      'sub_' || ${pick(owners.subscriptions, 6)}, ${common} ${rows}`,
  refunds: `insert into till.refunds (id, processor_refund_id, payment_id, amount, currency, status, kind,
      ${commonColumns})
    select id, 're_' || id, '${owners.payments[0]}', 1, 'eur', 'succeeded',
      case when kind % 5 = 0 then 'release' else 'refund' end, ${common} ${rows}`,
};

/** Creates what the rows belong to. Their own time is long before that of any row. */
export async function insertOwners({ sql }: { readonly sql: Sql }): Promise<void> {
  for (const id of owners.customers)
    await sql(
      `insert into till.customers (id, processor_customer_id, email, ${commonColumns})
       values ($1::uuid, 'cus_' || $1, 'owner@example.com', now(), now(), timestamptz '2020-01-01', now())`,
      [id],
    );
  for (const id of owners.plans)
    await sql(
      `insert into till.plans (id, processor_product_id, processor_price_id, name, amount, currency, interval,
         product_active, price_active, product_as_of, product_as_of_latest, price_as_of, price_as_of_latest,
         created_at, updated_at)
       values ($1::uuid, 'prod_' || $1, 'price_' || $1, 'Gold', 1, $2, 'month', true, true, now(), now(), now(), now(),
         now(), now())`,
      [id, id === owners.plans[0] ? 'eur' : 'usd'],
    );
  for (const id of owners.subscriptions)
    await sql(
      `insert into till.subscriptions (id, processor_subscription_id, processor_main_item_id, customer_id, plan_id,
         status, ${commonColumns})
       values ($1::uuid, 'sub_' || $1, 'si_1', $2, $3, 'past_due', now(), now(), timestamptz '2020-01-01', now())`,
      [id, owners.customers[0], owners.plans[0]],
    );
  await sql(
    `insert into till.payments (id, processor_payment_intent_id, amount, currency, customer_id, intent_status,
       ${commonColumns})
     values ($1::uuid, 'pi_' || $1, 1, 'eur', $2, 'requires_action', now(), now(), timestamptz '2020-01-01', now())`,
    [owners.payments[0], owners.customers[0]],
  );
}

export async function insertRows(
  { sql }: { readonly sql: Sql },
  list: Listed,
  added: readonly ListRow[],
): Promise<void> {
  await sql(`${inserts[list]} on conflict do nothing`, [JSON.stringify(added)]);
}

/** Deletes the rows of a list except the owners, so that a walk is short, and corrects its total. */
export async function clearRows({ sql }: { readonly sql: Sql }, list: Listed): Promise<void> {
  if (list === 'subscriptions') await sql('delete from till.subscription_add_ons');
  await sql(`delete from till.${list} where not id = any ($1)`, [Object.values(owners).flat()]);
  await sql('delete from till.list_counts where resource = $1', [list]);
  await sql(`select till.add_to_list_count($1, (select count(*) from till.${list}))`, [list]);
}

/** The path of the list: refunds are listed by payment. */
export function pathOf(list: Listed): string {
  return list === 'refunds' ? `/payments/${owners.payments[0]}/refunds` : `/${list}`;
}

/** The ids of the rows that the condition selects, in the order of the list. */
export async function plainIds(
  { sql }: { readonly sql: Sql },
  list: Listed,
  condition: string,
  order = 'created_at desc, id desc',
): Promise<readonly string[]> {
  const only = list === 'customers' ? 'deleted_at is null' : 'true';
  const found = await sql<{ id: string }>(
    `select id from till.${list} where ${only} and ${condition} order by ${order}`,
  );
  return found.map(({ id }) => id);
}
