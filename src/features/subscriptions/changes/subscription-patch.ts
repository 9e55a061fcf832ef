import { type Failure, invalidRequest } from '#core/errors.ts';
import type { MetadataChange } from '#core/model/metadata.ts';
import type { PlanQuantity } from '#core/model/subscription-items.ts';
import { parseAddOns } from '../add-ons.ts';

/**
 * When the difference in price is billed. `nextInvoice`: with the next renewal. `invoice`: now. `none`: never. The new
 * price applies from the next invoice on.
 */
export const prorations = ['nextInvoice', 'invoice', 'none'] as const;

type Proration = (typeof prorations)[number];

/** A limit of Till's API, enough for every team that pays by card. */
export const quantityMax = 1_000_000;

/** The requested plans and quantities. An absent one does not change. */
export interface WantedTerms {
  readonly planId?: string;
  readonly quantity?: number;
  /** All add-ons after the change, in the order of `planId`. */
  readonly addOns?: readonly PlanQuantity[];
}

export interface ChangeNow extends WantedTerms {
  readonly kind: 'now';
  readonly proration: Proration;
  /** ISO 8601, in whole seconds. The change is prorated as if it happened at this time. */
  readonly prorationDate?: string;
}

export interface ChangeAtPeriodEnd extends WantedTerms {
  readonly kind: 'periodEnd';
}

export type TermsChange = ChangeNow | ChangeAtPeriodEnd;

/** `cancelAtPeriodEnd` or `paymentMethodId`, with metadata if that changes too. */
export interface SettingsChange {
  readonly kind: 'settings';
  readonly cancelAtPeriodEnd?: boolean;
  /** Only with `cancelAtPeriodEnd: true`. */
  readonly cancellationReason?: string;
  /** The processor's id. */
  readonly paymentMethodId?: string;
  readonly metadata?: MetadataChange;
}

export interface MetadataPatch {
  readonly kind: 'metadata';
  readonly metadata: MetadataChange;
}

/** What one request changes about a subscription. */
export type SubscriptionPatch = TermsChange | SettingsChange | MetadataPatch;

/** The fields of a change in a body. */
interface TermsInput {
  readonly planId?: string;
  readonly quantity?: number;
  readonly addOns?: readonly { readonly planId: string; readonly quantity?: number }[];
  readonly when?: 'now' | 'periodEnd';
  readonly proration?: Proration;
  readonly prorationDate?: string | null;
}

interface PatchInput extends TermsInput {
  readonly cancelAtPeriodEnd?: boolean;
  readonly cancellationReason?: string;
  readonly paymentMethodId?: string;
  readonly metadata?: MetadataChange;
}

const ofTerms = ['planId', 'quantity', 'addOns', 'when', 'proration', 'prorationDate'] as const;

/** Decides which kind of change a body requests. Fails if it mixes two kinds, or requests none. */
export function parsePatch(input: PatchInput): SubscriptionPatch {
  const { cancelAtPeriodEnd, cancellationReason, paymentMethodId, metadata } = input;
  if (cancellationReason !== undefined && cancelAtPeriodEnd !== true)
    throw invalid('cancellationReason', 'can only be sent together with cancelAtPeriodEnd: true');
  const others = Object.entries({ cancelAtPeriodEnd, paymentMethodId, metadata }).filter(
    ([, value]) => value !== undefined,
  );
  const [other] = others;
  const hasTerms = ofTerms.some((name) => input[name] !== undefined);
  if (hasTerms) {
    if (other !== undefined)
      throw invalid(other[0], 'cannot be sent together with a change of plan or quantity');
    return parseTerms(input);
  }
  if (cancelAtPeriodEnd !== undefined && paymentMethodId !== undefined)
    throw invalid('paymentMethodId', 'cannot be sent together with cancelAtPeriodEnd');
  if (cancelAtPeriodEnd !== undefined || paymentMethodId !== undefined)
    return {
      kind: 'settings',
      ...(cancelAtPeriodEnd === undefined ? {} : { cancelAtPeriodEnd }),
      ...(cancellationReason === undefined ? {} : { cancellationReason }),
      ...(paymentMethodId === undefined ? {} : { paymentMethodId }),
      ...(metadata === undefined ? {} : { metadata }),
    };
  if (metadata === undefined) throw invalid(null, 'must have a field to change');
  return { kind: 'metadata', metadata };
}

/** The change of plan or quantity in a body. */
export function parseTerms(input: TermsInput): TermsChange {
  const { planId, quantity, addOns, when = 'now', proration = 'nextInvoice', prorationDate } = input;
  if (planId === undefined && quantity === undefined && addOns === undefined)
    throw invalid(null, 'must have planId, quantity or addOns');
  const wanted = {
    ...(planId === undefined ? {} : { planId: planId.toLowerCase() }),
    ...(quantity === undefined ? {} : { quantity }),
    ...(addOns === undefined ? {} : { addOns: parseAddOns(addOns, planId) }),
  };
  const date = prorationDate ?? undefined;
  if (when === 'periodEnd') {
    if (date !== undefined)
      throw invalid('prorationDate', 'cannot be sent with when: periodEnd, which prorates nothing');
    return { kind: 'periodEnd', ...wanted };
  }
  return {
    kind: 'now',
    ...wanted,
    proration,
    ...(date === undefined ? {} : { prorationDate: wholeSecond(date) }),
  };
}

/** The processor's times have whole seconds. */
function wholeSecond(text: string): string {
  return new Date(Math.floor(Date.parse(text) / 1_000) * 1_000).toISOString();
}

function invalid(field: string | null, message: string): Failure {
  const path = field === null ? 'body' : `body.${field}`;
  return invalidRequest(path, message);
}
