import type { SubscriptionFacts } from '../../../subscriptions/subscription.ts';
import type { SubscriptionCalls } from '../../processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { isMissing } from '../wire/attempt.ts';
import { WireObject, withKnownLinks } from '../wire/wire-object.ts';
import { defaultOfSubscription } from './map-payment-method.ts';
import { mapSubscription, secretToConfirm, toPay } from './map-subscription.ts';
import { termExpansions } from './map-subscription-terms.ts';

/** Enough for every open invoice of a subscription: the processor makes one per period, and voids or closes old ones. */
const openInvoicesMax = 100;

interface SubscriptionWithInvoices {
  readonly subscription: SubscriptionFacts;
  readonly response: unknown;
  readonly openInvoices: readonly unknown[];
}

/** Two reads each, because the latest invoice of a subscription need not be the one that is open. */
export function createOpenInvoiceReads({
  stripe,
  call,
}: AdapterContext): Pick<SubscriptionCalls, 'readToConfirm' | 'readToPay'> {
  const read = async (
    processorSubscriptionId: string,
    expand: { readonly subscription: readonly string[]; readonly invoices: readonly string[] },
  ): Promise<SubscriptionWithInvoices | null> => {
    const found = await call('subscriptions.read', {
      kind: 'read',
      send: (options) =>
        stripe.subscriptions.retrieve(
          processorSubscriptionId,
          { expand: [...expand.subscription, ...termExpansions] },
          options,
        ),
      take: (response, asOf) => ({
        response,
        // It already has a row, with its links.
        subscription: mapSubscription(withKnownLinks(response, { localId: null, customer: null }), asOf),
      }),
      refused: (refusal) => (isMissing(refusal) ? null : undefined),
    });
    if (found === null) return null;
    const filter = { subscription: processorSubscriptionId, status: 'open', limit: openInvoicesMax } as const;
    const openInvoices = await call('invoices.list', {
      kind: 'read',
      send: (options) => stripe.invoices.list({ ...filter, expand: [...expand.invoices] }, options),
      take: (response) => WireObject.parse(response, 'list').array('data'),
    });
    return { ...found, openInvoices };
  };

  return {
    readToConfirm: async (processorSubscriptionId) => {
      const found = await read(processorSubscriptionId, {
        subscription: ['pending_setup_intent'],
        invoices: ['data.confirmation_secret'],
      });
      if (found === null) return null;
      const { subscription, response, openInvoices } = found;
      return { subscription, clientSecret: secretToConfirm(response, openInvoices) };
    },

    readToPay: async (processorSubscriptionId) => {
      const found = await read(processorSubscriptionId, { subscription: [], invoices: [] });
      if (found === null) return null;
      const { subscription, response, openInvoices } = found;
      const paymentMethodId = defaultOfSubscription(WireObject.parse(response, 'subscription'));
      return { subscription, paymentMethodId, ...toPay(response, openInvoices) };
    },
  };
}
