import { uuidText } from '#core/platform/id.ts';

/** The field in which the text was found. If it was found in several fields of an object, the first one counts. */
export const matchedFields = [
  'id',
  'processorId',
  'externalId',
  'number',
  'email',
  'name',
  'last4',
  'amount',
] as const;

export type MatchedField = (typeof matchedFields)[number];

/** A person reads no more, and the response stays small. */
export const resultsMax = 20;

/** An object that a search found. */
export interface Found {
  readonly objectType: string;
  readonly objectId: string;
  /** The customer that the object belongs to. For a customer: its own id. */
  readonly customerId: string | null;
  /** The payment of a refund. Null for other objects. */
  readonly paymentId: string | null;
  /** The plan of a subscription, whose name is a better label. Null for other objects. */
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

/** The values that most objects do not have. */
export const nothing = {
  customerId: null,
  paymentId: null,
  planId: null,
  personalLabel: null,
  description: null,
  status: null,
  amount: null,
  currency: null,
};

/** The match that found an object. */
export interface Match extends Found {
  readonly matched: MatchedField;
  /** Whether the text is the whole value, and not only its beginning or another part of it. */
  readonly exact: boolean;
  /** Whether the value begins with the text. */
  readonly begins: boolean;
}

/** Fields whose values identify one object. */
const identifying: readonly MatchedField[] = ['id', 'processorId', 'externalId', 'number'];

/**
 * The documented order: ids and numbers, emails, beginnings, other parts; the newest first within each. Each object
 * appears once.
 */
export function rank(matches: readonly Match[]): readonly Match[] {
  const best = new Map<string, Match>();
  for (const match of matches.toSorted(compareMatches)) {
    const key = `${match.objectType} ${match.objectId}`;
    if (!best.has(key)) best.set(key, match);
  }
  return [...best.values()].slice(0, resultsMax);
}

function compareMatches(a: Match, b: Match): number {
  return (
    groupOf(a) - groupOf(b) ||
    b.createdAt.getTime() - a.createdAt.getTime() ||
    matchedFields.indexOf(a.matched) - matchedFields.indexOf(b.matched)
  );
}

/** Values that many objects share, such as an amount or a name, count as beginnings. */
function groupOf({ matched, exact, begins }: Match): number {
  if (!begins) return 3;
  if (exact && identifying.includes(matched)) return 0;
  return exact && matched === 'email' ? 1 : 2;
}

/** Whether the text can be the last four digits of a card. */
export function isLast4(text: string): boolean {
  return /^\d{4}$/.test(text);
}

/** A shorter prefix probably means something else, and matches all objects that were created within hours. */
const idDigitsMin = 8;
const idDigits = 32;

/**
 * The range of ids that begin with a text, with or without dashes. Undefined if the text is too short, or cannot begin
 * an id.
 */
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
