import { Failure } from '../errors.ts';
import { type DatedRow, type Origin, type OwnFacts, type Rule, type Taken, takeValues } from './facts.ts';
import {
  hasMetadata,
  isMetadataChangeIgnored,
  type Metadata,
  type MetadataChange,
  needsMetadata,
  noMetadata,
} from './metadata.ts';

export interface Customer extends DatedRow {
  readonly processorCustomerId: string;
  /** Null after deletion, like name and phone. */
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  /** The application's own id of the customer. Unique among customers that are not deleted. */
  readonly externalId: string | null;
  readonly metadata: Metadata;
  readonly deletedAt: Date | null;
}

export interface CustomerFacts
  extends OwnFacts,
    Pick<Customer, 'processorCustomerId' | 'email' | 'name' | 'phone' | 'externalId'> {
  /** Null if the response does not show it. Then the external id is unknown too. */
  readonly metadata: Metadata | null;
  readonly deleted: boolean;
}

/** Deletion is final: a late change never restores personal data. */
function ruleOf({ deletedAt }: Customer, { deleted }: CustomerFacts): Rule {
  if (deletedAt !== null) return 'never';
  return deleted ? 'always' : 'if newer';
}

/** Decides whether the facts change the row, and returns the row with the facts applied. */
export function takeCustomerFacts(
  customer: Customer,
  facts: CustomerFacts,
  origin: Origin,
  now: Date,
): Taken<Customer> {
  // A Till customer always has an email address, so clearing it elsewhere changes nothing.
  const { email, name, phone, externalId, metadata } = facts;
  const values = {
    email: email ?? customer.email,
    name,
    phone,
    ...(metadata === null ? {} : { externalId, metadata }),
  };
  const rule = ruleOf(customer, facts);
  const { verdict, row } = takeValues(customer, values, { rule, origin, asOf: facts.asOf, now });
  if (facts.deleted) return { verdict, row: eraseCustomer(row, now) };
  return { verdict: needsMetadata(facts, origin, verdict) ? 'refresh' : verdict, row };
}

/** A deleted customer keeps its ids and times, and no personal data. */
export function eraseCustomer(customer: Customer, now: Date): Customer {
  const nothing = { email: null, name: null, phone: null, externalId: null, metadata: noMetadata };
  return { ...customer, ...nothing, deletedAt: now, updatedAt: now };
}

type CustomerData = Pick<Customer, 'email' | 'name' | 'phone' | 'externalId' | 'metadata'>;

/** What the API accepts as an external id. */
export const externalIdPattern = '^[^\\s\\p{C}]+$';
export const externalIdLengthMax = 255;

export function isExternalId(value: string): boolean {
  return new RegExp(externalIdPattern, 'u').test(value) && [...value].length <= externalIdLengthMax;
}

/** A change of a customer. An absent field keeps its value, and null clears it. */
export interface CustomerChange {
  readonly email?: string;
  readonly name?: string | null;
  readonly phone?: string | null;
  readonly externalId?: string | null;
  readonly metadata?: MetadataChange;
}

/** Whether the customer has every value that a request names. Email addresses are compared without regard to case. */
export function hasValues(
  customer: CustomerData,
  { email, name, phone, metadata = {} }: CustomerChange,
): boolean {
  return (
    (email === undefined || email.toLowerCase() === customer.email?.toLowerCase()) &&
    (name === undefined || name === null || name === customer.name) &&
    (phone === undefined || phone === null || phone === customer.phone) &&
    hasMetadata(customer.metadata, metadata)
  );
}

/**
 * Whether the processor's response to an update still shows an old value. The response need not equal the request,
 * because the processor may normalize texts.
 */
export function isChangeIgnored(
  before: CustomerData,
  change: CustomerChange,
  after: Omit<CustomerData, 'metadata'> & Pick<CustomerFacts, 'metadata'>,
): boolean {
  const { metadata = {} } = change;
  if (after.metadata !== null && isMetadataChangeIgnored(before.metadata, metadata, after.metadata))
    return true;
  const fields = ['email', 'name', 'phone', 'externalId'] as const;
  return fields.some((field) => {
    const requested = change[field];
    if (requested === undefined || normalized(requested) === normalized(before[field])) return false;
    // Normalizing can change a text. It cannot clear a text that was set, or keep one that was cleared.
    return after[field] === before[field] || (requested === null) !== (after[field] === null);
  });
}

function normalized(text: string | null): string {
  return (text ?? '').trim().toLowerCase();
}

export function externalIdTaken(customerId: string): Failure {
  return new Failure(
    'external_id_taken',
    'Another customer has this externalId. Use that customer, or send another externalId.',
    { customerId },
  );
}
