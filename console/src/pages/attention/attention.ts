import type { Attention } from '@till/client';
import { plural } from '../../format/words.ts';
import type { pageOf } from '../../links.ts';

/** Changes of these objects can change what needs attention. */
export const urgentTypes: readonly string[] = ['payment', 'subscription', 'invoice'];

/** The items that need attention, in a few words for each kind that has any. */
export function summaryOf(attention: Attention): readonly string[] {
  const { disputes, pastDue, endpoints, webhookEvents, claims } = attention;
  const some = [
    [disputes.total, 'dispute to respond to', 'disputes to respond to'],
    [pastDue.total, 'past-due subscription'],
    [endpoints?.total ?? 0, 'failing event endpoint'],
    [webhookEvents?.total ?? 0, 'failed webhook event'],
    [claims?.total ?? 0, 'interrupted request'],
  ] as const;
  return some.filter(([total]) => total > 0).map(([total, one, many]) => plural(total, one, many));
}

export function isEmpty(attention: Attention): boolean {
  return summaryOf(attention).length === 0;
}

type Claim = NonNullable<Attention['claims']>['data'][number];
interface Subject {
  readonly type: Parameters<typeof pageOf>[0];
  readonly id: string;
}

/**
 * The object that the requests of each operation concern, if it certainly exists: the changed object, or the owner of
 * the new one.
 */
const subjects: Readonly<Record<string, Subject['type']>> = {
  'customers.update': 'customer',
  'plans.update': 'plan',
  'payments.create': 'customer',
  'payments.update': 'payment',
  'payments.capture': 'payment',
  'refunds.create': 'payment',
  'checkouts.create': 'customer',
  'subscriptions.create': 'customer',
  'subscriptions.update': 'subscription',
  'subscriptions.pay': 'subscription',
  'payment_methods.create': 'customer',
  'event_endpoints.update': 'eventEndpoint',
  'event_endpoints.rotate': 'eventEndpoint',
  'event_endpoints.replay': 'eventEndpoint',
};

/** The object of an interrupted request. Undefined if the object may not exist. */
export function subjectOf({
  operation,
  parentId,
}: Pick<Claim, 'operation' | 'parentId'>): Subject | undefined {
  const type = subjects[operation];
  return type === undefined || parentId === null ? undefined : { type, id: parentId };
}
