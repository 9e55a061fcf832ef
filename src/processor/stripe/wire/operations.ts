/**
 * Every operation, as the metric `processor_request_duration_seconds` names it, and the endpoint that it calls, as the
 * processor's rate limits count it.
 */
export const processorOperations = {
  'account.read': 'GET /v1/account',
  'customers.create': 'POST /v1/customers',
  'customers.read': 'GET /v1/customers/{id}',
  'customers.update': 'POST /v1/customers/{id}',
  'customers.delete': 'DELETE /v1/customers/{id}',
  'customers.list': 'GET /v1/customers',
  'customers.search': 'GET /v1/customers/search',
  'plans.create': 'POST /v1/prices',
  'plans.read': 'GET /v1/prices/{id}',
  'plans.update': 'POST /v1/products/{id}',
  'plans.update_price': 'POST /v1/prices/{id}',
  'plans.archive_price': 'POST /v1/prices/{id}',
  'plans.archive_product': 'POST /v1/products/{id}',
  'plans.list': 'GET /v1/prices',
  'plans.search': 'GET /v1/prices/search',
  'payments.create': 'POST /v1/payment_intents',
  'payments.read': 'GET /v1/payment_intents/{id}',
  'payments.update': 'POST /v1/payment_intents/{id}',
  'payments.cancel': 'POST /v1/payment_intents/{id}/cancel',
  'payments.capture': 'POST /v1/payment_intents/{id}/capture',
  'payments.confirm': 'POST /v1/payment_intents/{id}/confirm',
  'payments.list': 'GET /v1/payment_intents',
  'refunds.create': 'POST /v1/refunds',
  'refunds.read': 'GET /v1/refunds/{id}',
  'refunds.list': 'GET /v1/refunds',
  'disputes.read': 'GET /v1/disputes/{id}',
  'disputes.list': 'GET /v1/disputes',
  'subscriptions.create': 'POST /v1/subscriptions',
  'subscriptions.read': 'GET /v1/subscriptions/{id}',
  'subscriptions.update': 'POST /v1/subscriptions/{id}',
  'subscriptions.cancel': 'DELETE /v1/subscriptions/{id}',
  'subscriptions.resume': 'POST /v1/subscriptions/{id}/resume',
  'subscriptions.list': 'GET /v1/subscriptions',
  'subscriptions.list_items': 'GET /v1/subscription_items',
  'coupons.create': 'POST /v1/coupons',
  'promotion_codes.list': 'GET /v1/promotion_codes',
  'checkouts.create': 'POST /v1/checkout/sessions',
  'checkouts.read': 'GET /v1/checkout/sessions/{id}',
  'checkouts.expire': 'POST /v1/checkout/sessions/{id}/expire',
  'checkouts.list': 'GET /v1/checkout/sessions',
  'subscription_schedules.create': 'POST /v1/subscription_schedules',
  'subscription_schedules.update': 'POST /v1/subscription_schedules/{id}',
  'subscription_schedules.release': 'POST /v1/subscription_schedules/{id}/release',
  'invoices.read': 'GET /v1/invoices/{id}',
  'invoices.finalize': 'POST /v1/invoices/{id}/finalize',
  'invoices.pay': 'POST /v1/invoices/{id}/pay',
  'invoices.void': 'POST /v1/invoices/{id}/void',
  'invoices.preview': 'POST /v1/invoices/create_preview',
  'invoices.list': 'GET /v1/invoices',
  'invoice_payments.list': 'GET /v1/invoice_payments',
  'invoices.list_lines': 'GET /v1/invoices/{id}/lines',
  'invoice_items.list': 'GET /v1/invoiceitems',
  'invoice_items.update': 'POST /v1/invoiceitems/{id}',
  'invoice_items.create': 'POST /v1/invoiceitems',
  'setup_intents.create': 'POST /v1/setup_intents',
  'setup_intents.list': 'GET /v1/setup_intents',
  'payment_methods.read': 'GET /v1/payment_methods/{id}',
  'payment_methods.list': 'GET /v1/payment_methods',
  'payment_methods.detach': 'POST /v1/payment_methods/{id}/detach',
  'portal_sessions.create': 'POST /v1/billing_portal/sessions',
  'portal_configurations.create': 'POST /v1/billing_portal/configurations',
  'portal_configurations.list': 'GET /v1/billing_portal/configurations',
  'events.list': 'GET /v1/events',
  'webhook_endpoints.create': 'POST /v1/webhook_endpoints',
  'webhook_endpoints.update': 'POST /v1/webhook_endpoints/{id}',
  'webhook_endpoints.delete': 'DELETE /v1/webhook_endpoints/{id}',
  'webhook_endpoints.list': 'GET /v1/webhook_endpoints',
} as const;

export type ProcessorOperation = keyof typeof processorOperations;

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
