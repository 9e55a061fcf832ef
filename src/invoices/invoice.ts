export const invoiceStatuses = ['draft', 'open', 'paid', 'uncollectible', 'void'] as const;

export type InvoiceStatus = (typeof invoiceStatuses)[number];
