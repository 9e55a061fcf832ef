import { createHash } from 'node:crypto';
import type { Stripe } from 'stripe';
import type { Attempt } from '../../port/attempt.ts';
import { restoredCodeKey } from '../objects/map-subscription.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missingOrWrongState, refused } from '../wire/responses.ts';
import { WireObject } from '../wire/wire-object.ts';
import { type DiscountedSubscription, readDiscounted, restoredMetadata } from './changeable-subscription.ts';
import { type OnceDiscount, restoresDiscountKey, type VoidedInvoice } from './map-voided-invoice.ts';

/** The last version of the API in which a customer can get a discount. */
const versionWithCustomerDiscounts = '2025-02-24.acacia';

/** The processor's longest page of the invoices on which a discount is looked for. */
const laterInvoicesMax = 100;

/** How a discount is redeemed again: by its own code or coupon (`first`), or by a coupon of Till. */
type Source = 'first' | 'till';

/**
 * Restores the discounts for one invoice that a voided invoice has used up, because the processor may not do so. The
 * metadata that says so changes in the same call, so that a discount is restored once, even if a process dies.
 */
export async function restoreDiscounts(
  context: AdapterContext,
  voided: VoidedInvoice,
  which: 'all' | 'ofCustomer',
): Promise<void> {
  const { processorInvoiceId, processorSubscriptionId, onceDiscounts } = voided;
  if (onceDiscounts.length === 0 || processorSubscriptionId === null) return;
  const current = await readDiscounted(context, processorSubscriptionId);
  if (current === null || current.restoredInvoices.includes(processorInvoiceId)) return;
  const lost = await withoutUsed(context, voided, lostDiscounts(voided, current), current);
  const { customer } = current;
  const [ofCustomer] = lost.filter(isOfCustomer);
  if (ofCustomer !== undefined && customer !== null)
    await restoreFirstOrByTill(context, voided, [ofCustomer], ([source]) =>
      changeCustomer(context, customer, processorInvoiceId, source),
    );
  // Another change waits for its payment. Its invoice has the discounts of the subscription, and if that change ends,
  // they are restored.
  if (which === 'ofCustomer' || current.hasPendingUpdate) return;
  const own = lost.filter((discount) => !isOfCustomer(discount));
  await restoreFirstOrByTill(context, voided, own, (sources) =>
    changeSubscription(context, current, processorInvoiceId, wantedOf(voided, current, own, sources)),
  );
}

/**
 * The discounts that the subscription will have after those of the invoice are restored. Used for previews. Null if the
 * invoice has used up none.
 */
export async function discountsAfterVoid(
  context: AdapterContext,
  voided: VoidedInvoice,
  source: Source,
): Promise<DiscountParam[] | null> {
  const { processorSubscriptionId, onceDiscounts } = voided;
  if (onceDiscounts.length === 0 || processorSubscriptionId === null) return null;
  const current = await readDiscounted(context, processorSubscriptionId);
  if (current === null) return null;
  const all = lostDiscounts(voided, current);
  const own = all.filter((discount) => !isOfCustomer(discount));
  // The discount of a customer applies if the subscription has none.
  const lost = own.length > 0 || current.discounts.length > 0 ? own : all;
  if (lost.length === 0) return null;
  return wantedOf(voided, current, lost, await sourcesOf(context, lost, source));
}

/** A discount as a parameter of a subscription. */
export type DiscountParam = Stripe.SubscriptionUpdateParams.Discount;

function isOfCustomer({ processorSubscriptionId }: OnceDiscount): boolean {
  return processorSubscriptionId === null;
}

/** The discounts of the invoice that their owner does not have now. The processor may have given them back. */
function lostDiscounts(
  { processorInvoiceId, onceDiscounts }: VoidedInvoice,
  { discounts, customer }: DiscountedSubscription,
): readonly OnceDiscount[] {
  return onceDiscounts.filter((used) => {
    if (isOfCustomer(used))
      return (
        customer !== null &&
        customer.discount === null &&
        !customer.restoredInvoices.includes(processorInvoiceId)
      );
    const isThere = discounts.some(
      ({ id, couponId, restores }) =>
        id === used.processorDiscountId ||
        couponId === used.coupon.id ||
        restores === used.processorDiscountId,
    );
    return !isThere;
  });
}

/**
 * Leaves out the discounts that a later invoice has used, because the processor had given these back. Only needed long
 * after the void, if a process died: otherwise there is no later invoice yet.
 */
async function withoutUsed(
  { stripe, call }: AdapterContext,
  { createdAt }: VoidedInvoice,
  lost: readonly OnceDiscount[],
  { customer }: DiscountedSubscription,
): Promise<readonly OnceDiscount[]> {
  if (lost.length === 0 || customer === null) return lost;
  const created = { gte: createdAt.getTime() / 1_000 };
  const used = await call.read('invoices.list', {
    send: (options) =>
      stripe.invoices.list({ customer: customer.id, created, limit: laterInvoicesMax }, options),
    take: (response) =>
      WireObject.parse(response, 'list')
        .array('data')
        .map((value) => WireObject.parse(value, 'invoice').expectKind('invoice'))
        .filter((invoice) => invoice.optionalText('status') !== 'void')
        .flatMap((invoice) => invoice.optional('array', 'discounts') ?? []),
  });
  return lost.filter(({ processorDiscountId }) => !used.includes(processorDiscountId));
}

/**
 * Redeems the coupons and codes again. If the processor refuses, because one of them has expired, was used up or was
 * deleted, coupons of Till have the same effect.
 */
async function restoreFirstOrByTill(
  context: AdapterContext,
  { processorInvoiceId }: VoidedInvoice,
  lost: readonly OnceDiscount[],
  change: (sources: readonly DiscountParam[]) => Promise<Attempt<null>>,
): Promise<void> {
  let attempt = await change(await sourcesOf(context, lost, 'first'));
  if (attempt.outcome !== 'done' && lost.length > 0)
    attempt = await change(await sourcesOf(context, lost, 'till'));
  if (attempt.outcome === 'done') return;
  // For example, the amount is in a currency that the coupon has only as an option. The change itself must still
  // complete.
  const { processorCode, message } = attempt;
  context.logger.warn({ processorInvoiceId, processorCode, message }, 'discount not restored');
  await change([]);
}

/**
 * The parameter that redeems each discount again. Redeeming a limited coupon or code again would take a redemption from
 * someone else, so Till restores it by a coupon of its own from the start.
 */
async function sourcesOf(
  context: AdapterContext,
  lost: readonly OnceDiscount[],
  source: Source,
): Promise<readonly DiscountParam[]> {
  const sources: DiscountParam[] = [];
  for (const discount of lost) {
    const { promotionCodeId: code, coupon, isLimited } = discount;
    if (source === 'till' || isLimited) sources.push({ coupon: await createCoupon(context, discount) });
    else sources.push(code === null ? { coupon: coupon.id } : { promotion_code: code });
  }
  return sources;
}

/** The discounts in the order of the invoice, and then those that the subscription got since. */
function wantedOf(
  { discountIds }: VoidedInvoice,
  { discounts }: DiscountedSubscription,
  lost: readonly OnceDiscount[],
  sources: readonly DiscountParam[],
): DiscountParam[] {
  const params = new Map<string, DiscountParam>([
    ...discounts.map(({ id }) => [id, { discount: id }] as const),
    ...sources.flatMap((source, index) => {
      const id = lost[index]?.processorDiscountId;
      return id === undefined ? [] : [[id, source] as const];
    }),
  ]);
  const order = new Set([...discountIds, ...params.keys()]);
  return [...order].flatMap((id) => params.get(id) ?? []);
}

/** Sets the discounts, and records that those of the invoice are restored. Without discounts, it only records that. */
function changeSubscription(
  { stripe, call }: AdapterContext,
  { processorSubscriptionId, restoredInvoices }: DiscountedSubscription,
  invoiceId: string,
  discounts: DiscountParam[],
): Promise<Attempt<null>> {
  const metadata = restoredMetadata(restoredInvoices, invoiceId);
  const hasNew = discounts.some(({ discount }) => discount === undefined);
  const params = { ...(hasNew ? { discounts } : {}), metadata };
  return call.write<Attempt<null>>('subscriptions.update', {
    idempotencyKey: keyOf(`till-restore-${invoiceId}`, params),
    send: (options) => stripe.subscriptions.update(processorSubscriptionId, params, options),
    take: () => done(null),
    refused: missingOrWrongState,
  });
}

/** The pinned version of the API cannot give a customer a discount, so this call names an older one. */
function changeCustomer(
  { stripe, call }: AdapterContext,
  customer: NonNullable<DiscountedSubscription['customer']>,
  invoiceId: string,
  source: DiscountParam = {},
): Promise<Attempt<null>> {
  const metadata = restoredMetadata(customer.restoredInvoices, invoiceId);
  const params = { ...source, metadata };
  return call.write<Attempt<null>>('customers.update', {
    idempotencyKey: keyOf(`till-restore-${invoiceId}-customer`, params),
    send: (options) =>
      stripe.rawRequest('POST', `/v1/customers/${encodeURIComponent(customer.id)}`, params, {
        ...options,
        apiVersion: versionWithCustomerDiscounts,
      }),
    take: () => done(null),
    refused: missingOrWrongState,
  });
}

/**
 * A coupon with the effect of the discount, for one redemption. Its id is derived from the discount, so there is only
 * one.
 */
async function createCoupon(
  { stripe, call }: AdapterContext,
  { processorDiscountId, coupon: { percentOff, amountOff, currency, products, name }, code }: OnceDiscount,
): Promise<string> {
  const id = `till_restores_${processorDiscountId}`;
  const params: Stripe.CouponCreateParams = {
    ...{ id, duration: 'once', max_redemptions: 1 },
    ...(percentOff === null ? {} : { percent_off: percentOff }),
    ...(amountOff === null ? {} : { amount_off: amountOff }),
    ...(currency === null ? {} : { currency }),
    ...(products === null ? {} : { applies_to: { products: [...products] } }),
    ...(name === null ? {} : { name }),
    metadata: {
      [restoresDiscountKey]: processorDiscountId,
      ...(code === null ? {} : { [restoredCodeKey]: code }),
    },
  };
  await call.write<Attempt<null>>('coupons.create', {
    idempotencyKey: keyOf(id, params),
    send: (options) => stripe.coupons.create(params, options),
    take: () => done(null),
    // If the coupon does not exist, the call that redeems it is refused too.
    refused: (refusal) => refused('wrong_state', refusal),
  });
  return id;
}

/** The processor refuses other parameters under the same processor key. */
function keyOf(prefix: string, params: object): string {
  return `${prefix}-${createHash('sha256').update(JSON.stringify(params)).digest('hex').slice(0, 16)}`;
}
