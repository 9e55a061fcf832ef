/**
 * Whether a field of this name holds personal data or free text. The processor adds prefixes to such names:
 * `customer_email`, `receipt_email`, `ip_address`.
 */
export function isPersonalName(name: string): boolean {
  return personalName.test(name);
}

const personalWords = [
  'email',
  'name',
  'phone',
  'address',
  'ip',
  'user_agent',
  'tax_ids',
  // Objects with several of the fields above.
  'shipping',
  'billing_details',
  'customer_details',
  'shipping_details',
  'payment_method_details',
  'destination_details',
  'level3',
  'next_action',
  'previous_attributes',
  // Free text.
  'description',
  'comment',
  'memo',
  'footer',
  'custom_fields',
  // URLs of pages that show personal data without a login. The API shows the URLs of invoices: see `redact-payload.ts`.
  'receipt_url',
  'invoice_pdf',
];

const personalName = new RegExp(`(?:^|_)(?:${personalWords.join('|')})$`);
