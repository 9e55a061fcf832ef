/** Every operation, as the metric `processor_request_duration_seconds` names it. */
const processorOperations = [
  'account.read',
  'customers.create',
  'customers.read',
  'customers.update',
  'customers.delete',
  'customers.list',
  'customers.search',
  'plans.create',
  'plans.read',
  'plans.update',
  'plans.update_price',
  'plans.archive_price',
  'plans.archive_product',
  'plans.list',
  'plans.search',
  'payments.create',
  'payments.read',
  'payments.update',
  'payments.cancel',
  'payments.capture',
  'payments.confirm',
  'payments.list',
  'refunds.create',
  'refunds.read',
  'refunds.list',
  'disputes.read',
  'disputes.list',
  'subscriptions.create',
  'subscriptions.read',
  'subscriptions.update',
  'subscriptions.cancel',
  'subscriptions.resume',
  'subscriptions.list',
  'subscriptions.list_items',
  'coupons.create',
  'promotion_codes.list',
  'checkouts.create',
  'checkouts.read',
  'checkouts.expire',
  'checkouts.list',
  'subscription_schedules.create',
  'subscription_schedules.update',
  'subscription_schedules.release',
  'invoices.read',
  'invoices.finalize',
  'invoices.pay',
  'invoices.void',
  'invoices.preview',
  'invoices.list',
  'invoice_payments.list',
  'invoices.list_lines',
  'invoice_items.list',
  'invoice_items.update',
  'invoice_items.create',
  'setup_intents.create',
  'setup_intents.list',
  'payment_methods.read',
  'payment_methods.list',
  'payment_methods.detach',
  'portal_sessions.create',
  'portal_configurations.create',
  'portal_configurations.list',
  'events.list',
  'webhook_endpoints.create',
  'webhook_endpoints.update',
  'webhook_endpoints.delete',
  'webhook_endpoints.list',
] as const;

export type ProcessorOperation = (typeof processorOperations)[number];

/**
 * The outcomes of a call, as the metric names them. `refused`: the object's state forbade it, and the result says so.
 */
export type ProcessorOutcome =
  | 'ok'
  | 'refused'
  | 'rejected'
  | 'misconfigured'
  | 'bad_answer'
  | 'unavailable'
  | 'timeout'
  | 'overloaded';
