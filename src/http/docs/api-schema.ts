import type { Static, TProperties, TSchema } from 'typebox';
import { externalIdLengthMax, externalIdPattern } from '#core/model/customer.ts';
import { sortNames } from '#core/model/list-request.ts';
import {
  type Metadata,
  type MetadataChange,
  metadataChangeKeysMax,
  metadataKeyLengthMax,
  metadataKeysMax,
  metadataValueLengthMax,
  ownKeyPrefix,
} from '#core/model/metadata.ts';
import { returnUrlLengthMax } from '#core/model/return-url.ts';
import { roundAmountRule } from '#core/model/round-amount.ts';
import { Type } from '#core/platform/schemas.ts';
import { inAnyCase } from '../input/validator.ts';
import { component } from './components.ts';

/** The schemas that all resources share. */
export const Id = Type.String({ format: 'uuid', examples: ['0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'] });
export const IdParams = Type.Object({ id: Id });
export const DateTime = Type.String({ format: 'date-time' });
export const dateTime = (description: string) => Type.String({ format: 'date-time', description });
export const nullableTime = (description: string) => nullable(dateTime(description));
/** The id of another object, which may not exist. */
export const nullableId = (description: string) => nullable(Type.String({ format: 'uuid', description }));
const currencyCode = { pattern: '^[A-Za-z]{3}$', minLength: 3, maxLength: 3 };
export const Currency = Type.String({
  ...currencyCode,
  description: 'Three-letter ISO 4217 code, in upper or lower case. Responses use lower case.',
});
/** The API's limit. In most currencies the processor accepts less. */
const amountMax = 999_999_999_999;
/** An amount that a request sends. */
export const amountOf = (description: string, minimum = 1) =>
  Type.Integer({ minimum, maximum: amountMax, description: `${description} ${roundAmountRule}` });
/** The processor's id of a payment method, which a request sends. */
export const methodIdOf = (description: string) =>
  Type.String({ minLength: 1, maxLength: 255, pattern: '^[!-~]+$', description });
export const IdempotencyKey = Type.String({
  title: 'IdempotencyKey',
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\s\\p{C}]+$',
  description:
    'A request with an idempotency key that was used before has no effect of its own: it returns the object of the first request. ' +
    'You can send the idempotency key in the Idempotency-Key header instead.',
});

export const ExternalId = Type.String({
  minLength: 1,
  maxLength: externalIdLengthMax,
  pattern: externalIdPattern,
  description: 'Your own id of the customer. No two customers have the same one.',
});

export const Email = Type.String({ format: 'email', maxLength: 254 });
export const Name = Type.String({ minLength: 1, maxLength: 256 });

/** A URL to which a page of the processor sends customers back. `refuseReturnUrls` checks the rest. */
export const ReturnUrl = Type.String({
  minLength: 1,
  maxLength: returnUrlLengthMax,
  description:
    'An absolute URL that begins with https:// or http://, without a user or a password. The setting ' +
    '`RETURN_URL_ORIGINS` can limit it to some origins.',
});

const metadataKeys = {
  propertyNames: {
    minLength: 1,
    maxLength: metadataKeyLengthMax,
    pattern: `^(?!${ownKeyPrefix})[^\\s\\p{C}\\[\\]]+$`,
  },
};
const metadataValue = { type: 'string', minLength: 1, maxLength: metadataValueLengthMax };
/** Unlike in a request, the keys are not restricted, because others can set any keys at the processor. */
export const MetadataResponse = Type.Unsafe<Metadata>({
  title: 'Metadata',
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'Your own values. Also kept at the processor, where others may add keys.',
});
export const NewMetadata = Type.Unsafe<Metadata>({
  type: 'object',
  ...metadataKeys,
  additionalProperties: metadataValue,
  maxProperties: metadataKeysMax,
  description: `Your own values. Keys are visible characters without [ and ], and do not begin with ${ownKeyPrefix}.`,
});
export const ChangedMetadata = Type.Unsafe<MetadataChange>({
  title: 'ChangedMetadata',
  type: 'object',
  ...metadataKeys,
  additionalProperties: { ...metadataValue, type: ['string', 'null'] },
  maxProperties: metadataChangeKeysMax,
  description: `Sets the keys that you name and keeps the others. null removes a key. At most ${metadataKeysMax} keys remain.`,
});

/** The largest page number of every list; `till events --page` has the same limit. */
export const pageMax = 2_147_483_647;
const limitMax = 100;
const limitDefault = 20;

export const PageQuery = Type.Object(
  {
    page: Type.Integer({ minimum: 1, maximum: pageMax, default: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: limitMax, default: limitDefault }),
  },
  { additionalProperties: false },
);

/** The filter of every list whose objects belong to customers. Any text is accepted. An unknown id matches nothing. */
export const CustomerIdFilter = Type.Optional(
  Type.String({ description: 'Return only the objects of this customer.', [inAnyCase]: true }),
);

/** A currency in a query. */
export const currencyParameter = (description: string) =>
  Type.String({ ...currencyCode, description, [inAnyCase]: true });
export const CurrencyFilter = Type.Optional(
  currencyParameter(
    'Return only objects in this currency: a three-letter ISO 4217 code, in upper or lower case.',
  ),
);

/** Almost twice the length of a cursor with a position, so that later releases can extend it. */
const cursorLengthMax = 180;

const Cursor = Type.Optional(
  Type.String({
    maxLength: cursorLengthMax,
    description:
      'The `nextCursor` of the page before, with the same filters and `sort`, and without `page`. A walk by cursor ' +
      'shows each object that existed when it began exactly once, and every page takes the same time.',
  }),
);
/** The query of a list that has no filters and no page numbers. */
export const CursorQuery = Type.Object(
  { cursor: Cursor, limit: PageQuery.properties.limit },
  { additionalProperties: false },
);

export const NextCursor = nullable(
  Type.String({ description: 'The `cursor` of the next page. Null on the last page.' }),
);

/** The customer of an object, in a response to a request that includes it. */
export const IncludedCustomer = Type.Optional(
  nullable(
    Type.Object(
      { id: Id, externalId: nullable(Type.String()), email: Type.String(), name: nullable(Type.String()) },
      {
        title: 'CustomerSummary',
        description:
          'Only in the response to a `GET` with `include=customer`. Null if there is no customer, or if it was deleted.',
      },
    ),
  ),
);

export const Include = Type.Optional(
  Type.Enum(['customer'], { description: 'Adds `customer` to each object: who it belongs to.' }),
);

/** The parameters of a list: its own filters, and those that every list has. */
export function listQuery<Filters extends TProperties>(filters: Filters, amounts: readonly string[] = []) {
  return Type.Object(
    {
      ...filters,
      createdAfter: Type.Optional(
        Type.String({
          format: 'date-time',
          description: 'Return only objects created at or after this time (RFC 3339).',
        }),
      ),
      createdBefore: Type.Optional(
        Type.String({ format: 'date-time', description: 'Return only objects created before this time.' }),
      ),
      sort: Type.Optional(
        Type.Enum([...sortNames(amounts)], {
          description:
            'The order. Default: `-createdAt`, the newest first.' +
            (amounts.length === 0
              ? ''
              : ' By an amount, an object whose amount changes during the walk may be missed or seen twice.'),
        }),
      ),
      cursor: Cursor,
      page: Type.Optional(
        Type.Integer({ minimum: 1, maximum: pageMax, description: 'Default: 1. Not allowed with `cursor`.' }),
      ),
      limit: PageQuery.properties.limit,
    },
    { additionalProperties: false },
  );
}

/** The values of `listQuery`. */
export interface ListQueryValues {
  readonly cursor?: string;
  readonly page?: number;
  readonly limit: number;
  readonly sort?: string;
  readonly include?: 'customer';
  /** The values of the filters. */
  readonly [name: string]: string | number | undefined;
}

/** One page of a list with cursors and filters. */
export function listOf<Item extends TSchema>(item: Item) {
  return component(`${titleOf(item)}List`, {
    ...pageOf(item).properties,
    total: Type.Integer({
      description:
        'The number of objects on all pages. With a filter other than `customerId` it is counted up to 10,000.',
    }),
    totalCapped: Type.Boolean({ description: 'True if there are more objects than `total`.' }),
    page: Type.Integer({ description: 'The number of this page. In a walk by cursor it counts from 1.' }),
    nextCursor: NextCursor,
  });
}

function titleOf(schema: TSchema): string {
  if ('title' in schema && typeof schema.title === 'string') return schema.title;
  throw new Error('The items of a list need a title.');
}

export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    data: Type.Array(item),
    total: Type.Integer({ description: 'The number of objects on all pages.' }),
    page: Type.Integer(),
    limit: Type.Integer(),
  });
}

/**
 * One schema with two types rather than a union of two schemas, because the serialiser need not find out which one
 * matches.
 */
export function nullable<T extends TSchema & { readonly type: string }>(schema: T) {
  return Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'] });
}

export const ClientSecretSchema = component('ClientSecret', {
  clientSecret: nullable(
    Type.String({
      description: 'The frontend uses it to confirm with the processor. Null if nothing is left to confirm.',
    }),
  ),
});
export const clientSecretExample = 'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH';

/** A response with its example, which the serialiser and the documentation share. */
export function response<T extends TSchema>(description: string, schema: T, example: Static<T>) {
  return describeResponse(description, schema, example);
}

/** The same, for an example whose type was already checked elsewhere. */
export function describeResponse<T extends TSchema>(description: string, schema: T, example: unknown) {
  return {
    description,
    content: { 'application/json': { schema, examples: { example: { value: example } } } },
  };
}

/** A body with its example, for the documentation; the validator uses only the schema. */
export function body<T extends TSchema>(schema: T, example: Static<T>): T {
  return { ...schema, examples: [example] };
}
