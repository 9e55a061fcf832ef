import type { Stripe } from 'stripe';
import { UnmappableError } from '../../port/event-facts.ts';
import { WireObject } from '../wire/wire-object.ts';

type Phase = Stripe.SubscriptionScheduleUpdateParams.Phase;

/**
 * Settings of a phase that only the dashboard sets. New phases repeat them, because a phase without them takes the
 * defaults of the schedule. One-time items are not repeated.
 */
export function settingsOf(phase: WireObject): Partial<Phase> {
  const onBehalfOf = phase.optional('reference', 'on_behalf_of');
  const transfer = phase.optional('object', 'transfer_data');
  const thresholds = copied(phase.optional('object', 'billing_thresholds'), [
    'amount_gte',
    'reset_billing_cycle_anchor',
  ]);
  return {
    ...copied(phase, ['collection_method', 'description', 'application_fee_percent']),
    ...ids(phase, 'default_tax_rates'),
    ...(Object.keys(thresholds).length === 0 ? {} : { billing_thresholds: thresholds }),
    ...invoiceSettingsOf(phase),
    ...(onBehalfOf === null ? {} : { on_behalf_of: onBehalfOf }),
    ...(transfer === null
      ? {}
      : {
          transfer_data: {
            destination: transfer.reference('destination'),
            ...copied(transfer, ['amount_percent']),
          },
        }),
  };
}

/**
 * Whether the processor computes taxes. For the running phase, the subscription shows the effective value: the phase
 * may take it from the defaults, and the processor disables it if it does not know where the customer lives.
 */
export function taxOf(subscription: WireObject | null, phase: WireObject): Pick<Phase, 'automatic_tax'> {
  const ofPhase = phase.optional('object', 'automatic_tax');
  const current = subscription?.optional('object', 'automatic_tax') ?? ofPhase;
  const enabled = current?.optional('flag', 'enabled') ?? null;
  if (current === null || enabled === null || (ofPhase === null && !enabled)) return {};
  const liability = accountOf(current, 'liability');
  return { automatic_tax: { enabled, ...(liability && { liability }) } };
}

/** Settings of an item, of the subscription or of a phase, that the dashboard can set. */
export function itemSettings(item: WireObject): Partial<Phase['items'][number]> {
  const discounts = (item.optional('array', 'discounts') ?? []).map(itemDiscount);
  const usage = item.optional('object', 'billing_thresholds')?.optional('wholeNumber', 'usage_gte') ?? null;
  return {
    ...copied(item, ['metadata']),
    ...ids(item, 'tax_rates'),
    ...(discounts.length === 0 ? {} : { discounts }),
    ...(usage === null ? {} : { billing_thresholds: { usage_gte: usage } }),
  };
}

/** A discount of a phase, or of an item of a phase. */
export function phaseDiscount(discount: WireObject): Stripe.SubscriptionScheduleUpdateParams.Phase.Discount {
  const name = (['discount', 'promotion_code', 'coupon'] as const).find(
    (field) => discount.optional('reference', field) !== null,
  );
  if (name === undefined) throw new UnmappableError(`${discount.path} names no discount`);
  return { [name]: discount.reference(name) };
}

/** The fields that have a value, as parameters. Their types are those of the processor's own object. */
export function copied(object: WireObject | null, fields: readonly string[]): Record<string, never> {
  const values = fields.flatMap((field) => {
    const value = object?.has(field) ? object.raw(field) : null;
    const isEmpty = value === null || (typeof value === 'object' && Object.keys(value).length === 0);
    return isEmpty ? [] : [[field, value]];
  });
  return Object.fromEntries(values);
}

export function idOf(value: unknown): string {
  return WireObject.parse({ value }, 'reference').reference('value');
}

function ids<Field extends string>(object: WireObject, field: Field): { [F in Field]?: string[] } {
  const found = (object.optional('array', field) ?? []).map(idOf);
  // The compiler widens the name of a computed field.
  return found.length === 0 ? {} : ({ [field]: found } as { [F in Field]?: string[] });
}

function invoiceSettingsOf(phase: WireObject): Pick<Phase, 'invoice_settings'> {
  const settings = phase.optional('object', 'invoice_settings');
  if (settings === null) return {};
  const issuer = accountOf(settings, 'issuer');
  const invoice_settings = {
    ...copied(settings, ['custom_fields', 'days_until_due', 'description', 'footer']),
    ...ids(settings, 'account_tax_ids'),
    ...(issuer && { issuer }),
  };
  return Object.keys(invoice_settings).length === 0 ? {} : { invoice_settings };
}

/** Which account issues invoices, or is liable for taxes. */
function accountOf(
  settings: WireObject,
  field: 'issuer' | 'liability',
): Stripe.SubscriptionScheduleUpdateParams.Phase.AutomaticTax.Liability | undefined {
  const given = settings.optional('object', field);
  if (given === null) return undefined;
  const account = given.optional('reference', 'account');
  return { type: given.text('type'), ...(account === null ? {} : { account }) };
}

/**
 * An item of a subscription shows its discounts, or their ids. An item of a phase shows the coupons or codes that give
 * them.
 */
function itemDiscount(value: unknown): Stripe.SubscriptionScheduleUpdateParams.Phase.Item.Discount {
  if (typeof value === 'string') return { discount: value };
  const discount = WireObject.parse(value, 'discount');
  return discount.optionalText('object') === 'discount'
    ? { discount: discount.id() }
    : phaseDiscount(discount);
}
