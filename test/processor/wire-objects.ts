/** Objects as the wire has them, with just what the adapter reads. */
const createdSeconds = 1_767_225_600;

export const localId = '0199d3a2-0000-7000-8000-0000000000ff';

/** What a request leaves on the objects that it creates. */
export const mark = { key: 'digest-of-key', request: 'digest-of-request' };

const metadata = { till_id: localId, till_key: mark.key, till_request: mark.request };

export const paymentIntent = {
  id: 'pi_1',
  object: 'payment_intent',
  amount: 2000,
  amount_received: 0,
  canceled_at: null,
  client_secret: 'pi_1_secret_hush',
  created: createdSeconds,
  currency: 'eur',
  customer: 'cus_1',
  livemode: false,
  metadata,
  status: 'requires_payment_method',
};

export const customer = {
  id: 'cus_1',
  object: 'customer',
  created: createdSeconds,
  email: 'ada@example.com',
  livemode: false,
  metadata,
  name: 'Ada',
  phone: null,
};

export const refund = {
  id: 're_1',
  object: 'refund',
  amount: 500,
  created: createdSeconds,
  currency: 'eur',
  metadata,
  payment_intent: 'pi_1',
  reason: null,
  status: 'succeeded',
};

export function list(data: readonly unknown[], hasMore = false) {
  return { object: 'list', data, has_more: hasMore, url: '/v1/things' };
}

export function wireError(error: Record<string, unknown>) {
  return { error: { type: 'invalid_request_error', message: 'No.', ...error } };
}

export const newPayment = {
  id: localId,
  processorCustomerId: 'cus_1',
  amount: 2000,
  currency: 'eur',
  idempotencyKey: 'key-1',
  mark,
};
