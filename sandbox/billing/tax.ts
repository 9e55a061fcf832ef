import type { Customer, InvoiceLine, TaxRate } from '../wire/objects.ts';

type LineTax = InvoiceLine['taxes'][number];

/**
 * What the tax rates add to an amount, or which part of it they are. Each tax is rounded to a multiple of the unit.
 * Rates that are included in the amount share one net amount, on which the others are added.
 */
export function taxesOn(
  amount: number,
  rates: readonly TaxRate[],
  unit = 1,
  exempt: Customer['tax_exempt'] = 'none',
): LineTax[] {
  const included = rates.reduce((sum, { inclusive, percentage }) => sum + (inclusive ? percentage : 0), 0);
  const net = amount / (1 + included / 100);
  return rates.map(({ id, inclusive, percentage }) => ({
    amount: exempt === 'none' ? unit * Math.round((net * percentage) / 100 / unit) : 0,
    tax_behavior: inclusive ? 'inclusive' : 'exclusive',
    tax_rate_details: { tax_rate: id },
    taxability_reason:
      exempt === 'none' ? 'not_available' : exempt === 'reverse' ? 'reverse_charge' : 'customer_exempt',
    taxable_amount: unit * Math.round(net / unit),
    type: 'tax_rate_details',
  }));
}

export function sumOf(taxes: readonly LineTax[], behavior: 'exclusive' | 'inclusive'): number {
  return taxes.reduce((sum, tax) => sum + (tax.tax_behavior === behavior ? tax.amount : 0), 0);
}

/** The taxes of all lines, one for each tax rate. */
export function totalTaxes(taxes: readonly LineTax[]): LineTax[] {
  const totals = new Map<string, LineTax>();
  for (const tax of taxes) {
    const before = totals.get(tax.tax_rate_details.tax_rate);
    totals.set(tax.tax_rate_details.tax_rate, {
      ...tax,
      amount: tax.amount + (before?.amount ?? 0),
      taxable_amount: (tax.taxable_amount ?? 0) + (before?.taxable_amount ?? 0),
    });
  }
  return [...totals.values()];
}
