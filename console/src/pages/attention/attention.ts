import type { Attention } from '../../../../client/src/index.ts';
import { plural } from '../../format/words.ts';

/** Changes of these objects can change what needs attention. */
export const urgentTypes: readonly string[] = ['payment', 'subscription', 'invoice'];

/** What needs attention, in a few words for each kind of which there is any. */
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
