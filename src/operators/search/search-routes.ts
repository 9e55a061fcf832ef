import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { type Match, matchedFields, resultsMax } from '#engine/search/search.ts';
import { grants } from '#http/access/api-guard.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { DateTime, Id, nullable, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { patternRule } from '#http/input/validator.ts';
import type { SearchService } from './search-service.ts';

/** The longest external id. Emails and ids of the processor are shorter. */
const textLengthMax = 255;

const Query = Type.Object(
  {
    q: Type.String({
      pattern: `^\\s*(?:[^\\s\\u0000]|[^\\s\\u0000][^\\u0000]{0,${textLengthMax - 2}}[^\\s\\u0000])\\s*$`,
      [patternRule]: `must have 1 to ${textLengthMax} characters, and no U+0000`,
      description:
        `What to search for: 1 to ${textLengthMax} characters. Surrounding spaces are ignored. An id of Till ` +
        '(or its first 8 or more digits), an id of the processor, the beginning of an external id, or, ignoring case, ' +
        'the beginning of the number of an invoice; or words of the name and the email of a customer, or of the name of ' +
        'a plan, in any order, ignoring case and accents. A word of one or two characters is found at the beginning of a ' +
        'word (two Chinese, Japanese or Korean characters anywhere), and a longer one anywhere. Only the first 8 ' +
        'different words count. Four digits are also the last four of a card. `58.00` and ' +
        '`58,00` are also the amount of a payment or what is due of an invoice, in any currency. With the sign or the ' +
        'code of the currency, the amount may be a whole number: `€58`, `58 EUR`, `¥5000`. `$`, `¥` and `kr` mean each ' +
        'currency that is written so.',
      examples: ['ada@example.com'],
    }),
  },
  { additionalProperties: false },
);

const searchResultSchema = (foundTypes: readonly string[]) =>
  component('SearchResult', {
    objectType: Type.Enum([...foundTypes, 'webhook_event', 'event']),
    objectId: Type.String({ description: 'The `id` of the object.' }),
    customerId: nullable({
      ...Id,
      description: 'The customer that it belongs to. For a customer: its own id.',
    }),
    paymentId: nullable({ ...Id, description: 'For a refund: its payment.' }),
    label: Type.String({
      description:
        'What people call it: the name of a customer or of the plan of a subscription, the description of a payment, ' +
        "the number of an invoice, the type of an event. Otherwise an email or the processor's id.",
    }),
    description: nullable(
      Type.String({
        description:
          "More to identify it: the customer's email, the interval of a plan, the id of an event's object. Null " +
          'for objects of a deleted customer.',
      }),
    ),
    status: nullable(
      Type.String({
        description:
          'The status of the object. Of a plan: `active` or `archived`. Of a deleted customer: `deleted`.',
      }),
    ),
    amount: nullable(
      Type.Integer({ description: 'In the smallest unit of the currency. Of an invoice: the amount due.' }),
    ),
    currency: nullable(Type.String()),
    createdAt: DateTime,
    matched: Type.Enum([...matchedFields], {
      description:
        'Where the text was found: `processorId` is any id from the processor, `last4` the last four digits of a card.',
    }),
    exact: Type.Boolean({
      description:
        'False if the text is only a part of the value. Names are compared without accents, emails with them.',
    }),
  });

type SearchResult = Static<ReturnType<typeof searchResultSchema>>;

const example: SearchResult = {
  objectType: 'customer',
  objectId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  paymentId: null,
  label: 'Ada Lovelace',
  description: 'ada@example.com',
  status: null,
  amount: null,
  currency: null,
  createdAt: '2026-11-15T09:30:00.000Z',
  matched: 'email',
  exact: true,
};

/** `foundTypes`: the types of the objects of all resources that a search finds. */
export function registerSearchRoutes(
  app: FastifyInstance,
  search: SearchService,
  foundTypes: readonly string[],
): void {
  const SearchResultsSchema = component('SearchResults', {
    data: Type.Array(searchResultSchema(foundTypes), { maxItems: resultsMax }),
  });
  new ApiRoutes(app, 'search').add('GET /api/v1/search', {
    scope: 'read',
    operationId: 'search',
    mayReadReplica: true,
    summary: 'Find objects by an id, a name, an email, a number, a card or an amount',
    description:
      `Returns up to ${resultsMax} objects: first those whose id or number is the text, then those with this email, then ` +
      'those of which a value begins with it, has these last four digits or is this amount, then those that contain ' +
      'its words; the newest first within each. A text that matches nothing returns none. Webhook events are only found ' +
      'with the scope `operate`.',
    query: Query,
    response: { 200: response('The objects that were found.', SearchResultsSchema, { data: [example] }) },
    run: async ({ query, caller }) => {
      const withWebhookEvents = grants(caller?.scopes ?? [], 'operate');
      const matches = await search.search(query.q.trim(), { withWebhookEvents });
      return { data: matches.map(toResponse) };
    },
  });
}

function toResponse({ planId: _, personalLabel: __, begins: ___, createdAt, ...match }: Match): SearchResult {
  return { ...match, createdAt: createdAt.toISOString() };
}
