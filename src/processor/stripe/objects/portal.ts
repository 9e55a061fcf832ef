import type { Stripe } from 'stripe';
import type {
  NewPortalSession,
  PortalCalls,
  PortalConfiguration,
  PortalFlow,
} from '../../port/portal-calls.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchAll, fetchFrom } from '../wire/listing.ts';
import { WireObject } from '../wire/wire-object.ts';

/** The mark of Till's own configuration. Its value must change with `features`. */
const markName = 'till_portal';
const markValue = '1';

/**
 * No changes of plan: the portal knows no groups, previews or pending changes. Operators can edit the configuration,
 * and Till does not undo that.
 */
const features: Stripe.BillingPortal.ConfigurationCreateParams.Features = {
  payment_method_update: { enabled: true },
  invoice_history: { enabled: true },
  customer_update: { enabled: true, allowed_updates: ['address'] },
  subscription_cancel: { enabled: true, mode: 'at_period_end' },
  subscription_update: { enabled: false },
};

export function createPortalCalls(context: AdapterContext): PortalCalls {
  const { stripe, call } = context;
  return {
    createSession: ({ idempotencyKey, ...session }) =>
      call.write('portal_sessions.create', {
        idempotencyKey,
        send: (options) => stripe.billingPortal.sessions.create(sessionParams(session), options),
        take: (response) =>
          WireObject.parse(response, 'session').expectKind('billing_portal.session').text('url'),
      }),

    listConfigurations: async () => {
      const fetch = fetchFrom(stripe.billingPortal.configurations, {});
      const own = await fetchAll(context, 'portal_configurations.list', fetch, mapOwn);
      // The processor lists the newest first.
      return own.flat().toReversed();
    },

    createConfiguration: ({ idempotencyKey }) =>
      call.write('portal_configurations.create', {
        idempotencyKey,
        send: (options) =>
          stripe.billingPortal.configurations.create(
            { name: 'Till', features, metadata: { [markName]: markValue } },
            options,
          ),
        take: mapConfiguration,
      }),
  };
}

function sessionParams({
  processorCustomerId,
  processorConfigurationId,
  returnUrl,
  flow,
  locale,
}: Omit<NewPortalSession, 'idempotencyKey'>): Stripe.BillingPortal.SessionCreateParams {
  return {
    customer: processorCustomerId,
    configuration: processorConfigurationId,
    return_url: returnUrl,
    ...(flow === undefined ? {} : { flow_data: flowParams(flow, returnUrl) }),
    // The processor refuses a locale that it does not know.
    ...(locale === undefined ? {} : { locale: locale as Stripe.BillingPortal.SessionCreateParams.Locale }),
  };
}

function flowParams(flow: PortalFlow, returnUrl: string): Stripe.BillingPortal.SessionCreateParams.FlowData {
  const after_completion = { type: 'redirect', redirect: { return_url: returnUrl } } as const;
  return flow.kind === 'cancel'
    ? {
        type: 'subscription_cancel',
        subscription_cancel: { subscription: flow.processorSubscriptionId },
        after_completion,
      }
    : { type: 'payment_method_update', after_completion };
}

function mapOwn(value: unknown): readonly PortalConfiguration[] {
  const metadata = WireObject.parse(value, 'configuration').objectOrNull('metadata');
  return metadata?.optionalText(markName) === markValue ? [mapConfiguration(value)] : [];
}

function mapConfiguration(value: unknown): PortalConfiguration {
  const configuration = WireObject.parse(value, 'configuration').expectKind('billing_portal.configuration');
  return { processorConfigurationId: configuration.id(), isActive: configuration.flag('active') };
}
