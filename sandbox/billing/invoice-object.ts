import { unitOf } from '../payments/money.ts';
import { nulls, type Words } from '../wire/nulls.ts';
import type { Customer, Invoice, InvoiceLine, Subscription, TaxRate } from '../wire/objects.ts';
import { type DiscountTerms, discountAmounts, discountableLine, totalDiscounts } from './discount.ts';
import { settledWith, usableBalance } from './invoice-balance.ts';
import { sumOf, taxesOn, totalTaxes } from './tax.ts';

type FindRate = (id: string) => TaxRate | undefined;

interface NewInvoice {
  readonly id: string;
  readonly now: number;
  /** The country of the account. */
  readonly country: string;
  /** Null if the customer is deleted. */
  readonly buyer: Customer | null;
  readonly customer: string;
  readonly currency: string;
  readonly reason: Words<'manual subscription_create subscription_cycle subscription_update upcoming'>;
  readonly parent: Invoice['parent'];
  readonly lines: readonly InvoiceLine[];
  readonly discounts?: readonly DiscountTerms[];
  readonly taxRate: FindRate;
  readonly taxIds: NonNullable<Invoice['customer_tax_ids']>;
  readonly periodStart: number;
  readonly periodEnd: number;
  /** The invoice advances automatically: it is finalized and then collected or sent. */
  readonly autoAdvance: boolean;
  /** When the draft is finalized automatically. */
  readonly finalizesAt: number | null;
  readonly details?: Partial<Invoice>;
}

/** A draft invoice. */
export function invoiceObject(input: NewInvoice): Invoice {
  const { id, buyer, finalizesAt } = input;
  const invoice: Invoice = {
    id,
    object: 'invoice',
    ...unusedInvoiceParts,
    account_country: input.country,
    account_name: 'Sandbox',
    amount_due: 0,
    automatic_tax: noAutomaticTax,
    customer_tax_ids: input.taxIds,
    default_tax_rates: [],
    amount_paid: 0,
    amount_remaining: 0,
    attempt_count: 0,
    attempted: false,
    auto_advance: input.autoAdvance,
    automatically_finalizes_at: finalizesAt,
    billing_reason: input.reason,
    collection_method: 'charge_automatically',
    created: input.now,
    currency: input.currency,
    custom_fields: buyer?.invoice_settings.custom_fields ?? null,
    customer: input.customer,
    customer_address: buyer?.address ?? null,
    customer_email: buyer?.email ?? null,
    customer_name: buyer?.name ?? null,
    customer_phone: buyer?.phone ?? null,
    customer_shipping: buyer?.shipping ?? null,
    customer_tax_exempt: buyer?.tax_exempt ?? 'none',
    ...nulls(
      'default_payment_method description effective_at ending_balance hosted_invoice_url invoice_pdf number',
    ),
    footer: buyer?.invoice_settings.footer ?? null,
    lines: { object: 'list', data: [], has_more: false, url: `/v1/invoices/${id}/lines` },
    livemode: false,
    metadata: {},
    next_payment_attempt: finalizesAt,
    parent: input.parent,
    payment_settings: noPaymentSettings,
    period_end: input.periodEnd,
    period_start: input.periodStart,
    starting_balance: usableBalance(buyer, input.currency),
    status: 'draft',
    test_clock: buyer?.test_clock ?? null,
    status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
    subtotal: 0,
    subtotal_excluding_tax: 0,
    total: 0,
    total_excluding_tax: 0,
    ...input.details,
  };
  return { ...invoice, ...withLines(invoice, input.lines, input.discounts ?? [], input.taxRate) };
}

/** The parent of an invoice that bills a subscription. */
export function parentOf({ id, metadata }: Subscription): NonNullable<Invoice['parent']> {
  const details = { metadata, subscription: id };
  return { quote_details: null, subscription_details: details, type: 'subscription_details' };
}

/** The lines of a draft and the amounts that follow from them. */
export function withLines(
  invoice: Invoice,
  lines: readonly InvoiceLine[],
  discounts: readonly DiscountTerms[],
  taxRate: FindRate,
): Partial<Invoice> {
  const unit = unitOf(invoice.currency);
  const taken = discountAmounts(lines.map(discountableLine), discounts, unit);
  const totals = totalDiscounts(taken, discounts);
  const subtotal = lines.reduce((sum, line) => sum + line.amount, 0);
  const discounted = totals.reduce((sum, { amount }) => sum - amount, subtotal);
  const taxesAfter = (reduction: (index: number) => number) =>
    lines.map(({ amount, taxes: own }, index) => {
      const rates = own.flatMap(({ tax_rate_details: { tax_rate: id } }) => taxRate(id) ?? []);
      const applied = rates.length > 0 ? rates : invoice.default_tax_rates;
      return taxesOn(amount - reduction(index), applied, unit, invoice.customer_tax_exempt ?? 'none');
    });
  const taxes = taxesAfter((index) => (taken[index] ?? []).reduce((sum, { amount }) => sum + amount, 0));
  const total = discounted + sumOf(taxes.flat(), 'exclusive');
  const { due } = settledWith(total, invoice.starting_balance);
  return {
    amount_due: due,
    amount_remaining: due,
    discounts: discounts.map(({ id }) => id),
    lines: {
      ...invoice.lines,
      data: lines.map((line, index) => ({
        ...line,
        discount_amounts: taken[index] ?? [],
        invoice: invoice.id,
        taxes: taxes[index] ?? [],
        pretax_credit_amounts: (taken[index] ?? []).map((one) => ({ ...one, type: 'discount' as const })),
      })),
    },
    subtotal,
    subtotal_excluding_tax: subtotal - sumOf(taxesAfter(() => 0).flat(), 'inclusive'),
    total,
    total_discount_amounts: totals,
    total_excluding_tax: discounted - sumOf(taxes.flat(), 'inclusive'),
    total_taxes: totalTaxes(taxes.flat()),
    total_pretax_credit_amounts: totals.map((one) => ({ ...one, type: 'discount' as const })),
  };
}

export const noAutomaticTax: Invoice['automatic_tax'] = {
  ...nulls('disabled_reason liability provider status'),
  enabled: false,
};

/** The account collects no taxes anywhere, so that automatic taxes are complete and add nothing. */
export const automaticTax: Invoice['automatic_tax'] = {
  disabled_reason: null,
  enabled: true,
  liability: { type: 'self' },
  provider: 'stripe',
  status: 'complete',
};

export const noPaymentSettings: Invoice['payment_settings'] = nulls(
  'default_mandate payment_method_options payment_method_types',
);

/** Fields that the sandbox does not use. Objects are immutable, so all invoices share these values. */
const unusedInvoiceParts = {
  ...nulls(
    'account_tax_ids application customer_account default_source due_date from_invoice',
    'last_finalization_error latest_revision on_behalf_of receipt_number rendering shipping_cost',
    'shipping_details statement_descriptor webhooks_delivered_at',
  ),
  amount_overpaid: 0,
  amount_shipping: 0,
  discounts: [],
  issuer: { type: 'self' },
  post_payment_credit_notes_amount: 0,
  pre_payment_credit_notes_amount: 0,
  total_discount_amounts: [],
  total_pretax_credit_amounts: [],
  total_taxes: [],
};
