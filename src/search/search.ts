import { uuidText } from '../platform/id.ts';

/** The kinds of objects that a search finds. */
export const foundTypes = [
  'customer',
  'plan',
  'payment',
  'refund',
  'subscription',
  'invoice',
  'checkout',
  'webhook_event',
  'event',
] as const;

/** What the text of a search was found in, the most certain first. Results come in this order. */
export const matchedFields = ['id', 'processorId', 'externalId', 'email', 'number'] as const;

export type MatchedField = (typeof matchedFields)[number];

/** The contract's. */
export const resultsMax = 20;

/** An object that a search found. */
export interface Found {
  readonly objectType: (typeof foundTypes)[number];
  readonly objectId: string;
  /** The customer that it belongs to; the customer itself. */
  readonly customerId: string | null;
  /** Of a refund. */
  readonly paymentId: string | null;
  /** Of a subscription: the name of this plan is a better label. */
  readonly planId: string | null;
  readonly label: string;
  /** A better label, unless the customer is deleted: it may contain personal data. */
  readonly personalLabel: string | null;
  readonly description: string | null;
  readonly status: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly createdAt: Date;
}

/** How a search found it. */
export interface Match extends Found {
  readonly matched: MatchedField;
  /** Whether the text is the whole value, and not only its beginning. */
  readonly exact: boolean;
}

/** Exact matches first, each object once. */
export function rank(matches: readonly Match[]): readonly Match[] {
  const orderOf = ({ exact, matched }: Match) =>
    matchedFields.indexOf(matched) + (exact ? 0 : matchedFields.length);
  const best = new Map<string, Match>();
  // The sort is stable: matches of one kind keep the order in which they were found.
  for (const match of matches.toSorted((a, b) => orderOf(a) - orderOf(b))) {
    const key = `${match.objectType} ${match.objectId}`;
    if (!best.has(key)) best.set(key, match);
  }
  return [...best.values()].slice(0, resultsMax);
}

/** A shorter prefix probably means something else, and matches all objects that were created within hours. */
const idDigitsMin = 8;
const idDigits = 32;

/** The range of ids that begin with a text, with or without dashes. Undefined if the text is too short, or cannot begin an id. */
export function idRange(
  text: string,
): { readonly from: string; readonly to: string; readonly exact: boolean } | undefined {
  const lower = text.toLowerCase();
  const digits = lower.replaceAll('-', '');
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < idDigitsMin || digits.length > idDigits)
    return undefined;
  const fill = (digit: string) => uuidText(Buffer.from(digits.padEnd(idDigits, digit), 'hex'));
  const from = fill('0');
  if (lower !== digits && !from.startsWith(lower)) return undefined;
  return { from, to: fill('f'), exact: digits.length === idDigits };
}

/** Whether the text can be an id of the processor or an external id. */
export function isVisible(text: string): boolean {
  return !/[\s\p{C}]/u.test(text);
}
