/**
 * Whether a field of this name tells of a person, or is one that people write freely into. The processor puts words
 * before such names: `customer_email`, `receipt_email`, `ip_address`.
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
  // What holds several of the above.
  'shipping',
  'billing_details',
  'customer_details',
  'shipping_details',
  'payment_method_details',
  'destination_details',
  'level3',
  'next_action',
  'previous_attributes',
  // What people write.
  'description',
  'comment',
  'memo',
  'footer',
  'custom_fields',
  // Addresses of pages that show all of it to whoever knows them.
  'receipt_url',
  'invoice_pdf',
];

const personalName = new RegExp(`(?:^|_)(?:${personalWords.join('|')})$`);
