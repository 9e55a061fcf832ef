import type { Customer } from '#core/model/customer.ts';
import { exampleOf, type Fields, schemasOf, shown, shownAs, viewOf } from '#core/platform/fields.ts';
import { Type } from '#core/platform/schemas.ts';
import { datedColumns, immutable, mutable } from '#core/platform/table.ts';
import { DateTime, Id, MetadataResponse, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';

export const customerFields = {
  id: shown(immutable('uuid'), Id, '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'),
  processorCustomerId: shown(immutable('text'), Type.String(), 'cus_Nffr5zNcVKZ0aB'),
  // Only a deleted customer has none.
  email: shownAs(mutable('text'), Type.String(), 'ada@example.com', ({ email }: Customer) => email ?? ''),
  name: shown(mutable('text'), nullable(Type.String()), 'Ada Lovelace'),
  phone: shown(mutable('text'), nullable(Type.String()), null),
  externalId: shown(mutable('text'), nullable(Type.String()), 'user-1815'),
  metadata: shown(mutable('jsonb'), MetadataResponse, { tier: 'founder' }),
  createdAt: shown(immutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  updatedAt: shown(mutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  deletedAt: mutable('timestamptz'),
  ...datedColumns,
} satisfies Fields<Customer>;

export const CustomerSchema = component('Customer', schemasOf(customerFields));

export const customerExample = exampleOf(customerFields);

/** A customer as the API shows it. */
export const customerView = viewOf<Customer>()(customerFields);
