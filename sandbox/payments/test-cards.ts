import type { ErrorBody } from '../wire/wire-error.ts';

export interface Decline {
  readonly code: string;
  readonly declineCode: string;
  readonly message: string;
  /** The processor refuses the payment itself, because it looks fraudulent. */
  readonly isBlocked?: true;
}

export interface TestCard {
  readonly number: string;
  /** Names that can be used instead of the number. */
  readonly tokens: readonly string[];
  readonly brand: 'visa' | 'mastercard' | 'amex' | 'discover' | 'diners' | 'jcb';
  /** Credit by default. */
  readonly funding?: 'debit' | 'prepaid';
  /** Declined whenever it is charged. */
  readonly decline?: Decline;
  /** Also declined when it is saved. */
  readonly declinesSetup?: true;
  /** The cardholder must authenticate: at every payment, or until the card has been saved with authentication. */
  readonly authentication?: 'always' | 'until_saved';
  /** Payments succeed, but refunds fail or are delayed. */
  readonly refund?: 'fails_later' | 'pending_first';
  /** The payment succeeds, then the cardholder disputes it. An inquiry is the stage before a dispute. */
  readonly dispute?: 'fraudulent' | 'product_not_received' | 'inquiry';
}

const declined: Decline = decline('card_declined', 'generic_decline', 'Your card was declined.');
const expired = decline('expired_card', 'expired_card', 'Your card has expired.');
const noFunds = decline('card_declined', 'insufficient_funds', 'Your card has insufficient funds.');
const wrongCvc = decline('incorrect_cvc', 'incorrect_cvc', "Your card's security code is incorrect.");
const notProcessed = decline(
  'processing_error',
  'processing_error',
  'An error occurred while processing your card. Try again later.',
);
const tooFrequent = decline(
  'card_declined',
  'card_velocity_exceeded',
  'Your card was declined for making repeated attempts too frequently or exceeding its amount limit.',
);

function decline(code: string, declineCode: string, message: string): Decline {
  return { code, declineCode, message };
}

/** The error for the caller, where no charge is created. */
export function declineError({ code, declineCode: decline_code, message }: Decline) {
  return { type: 'card_error', code, decline_code, message } as const satisfies ErrorBody;
}

/** A card with its names without their beginning, which all names share. */
function card(number: string, names: string, behaviour: Partial<TestCard> = {}): TestCard {
  return { number, tokens: names.split(' ').map((name) => `pm_card_${name}`), brand: 'visa', ...behaviour };
}

/** A card that can neither be charged nor saved. */
function refusing(number: string, names: string, reason: Decline): TestCard {
  return card(number, names, { decline: reason, declinesSetup: true });
}

/** The processor's own test cards. Their last four digits are unique. */
export const testCards: readonly TestCard[] = [
  card('4242424242424242', 'visa us'),
  card('5555555555554444', 'mastercard', { brand: 'mastercard' }),
  card('378282246310005', 'amex', { brand: 'amex' }),
  card('6011111111111117', 'discover', { brand: 'discover' }),
  card('3056930009020004', 'diners', { brand: 'diners' }),
  card('3566002020360505', 'jcb', { brand: 'jcb' }),
  card('4000000000000077', 'bypassPending'),
  card('4000056655665556', 'visa_debit', { funding: 'debit' }),
  card('5200828282828210', 'mastercard_debit', { brand: 'mastercard', funding: 'debit' }),
  card('5105105105105100', 'mastercard_prepaid', { brand: 'mastercard', funding: 'prepaid' }),
  refusing('4000000000000002', 'visa_chargeDeclined chargeDeclined', declined),
  refusing(
    '4000000000009995',
    'visa_chargeDeclinedInsufficientFunds chargeDeclinedInsufficientFunds',
    noFunds,
  ),
  refusing('4000000000009987', 'visa_chargeDeclinedLostCard chargeDeclinedLostCard', {
    ...declined,
    declineCode: 'lost_card',
  }),
  refusing('4000000000009979', 'visa_chargeDeclinedStolenCard chargeDeclinedStolenCard', {
    ...declined,
    declineCode: 'stolen_card',
  }),
  refusing(
    '4000000000006975',
    'visa_chargeDeclinedVelocityLimitExceeded chargeDeclinedVelocityLimitExceeded',
    tooFrequent,
  ),
  // Can be saved, because only payments are checked for fraud.
  card('4100000000000019', 'radarBlock chargeDeclinedFraudulent', {
    decline: { ...declined, declineCode: 'fraudulent', isBlocked: true },
  }),
  refusing('4000000000000069', 'chargeDeclinedExpiredCard visa_chargeDeclinedExpiredCard', expired),
  refusing('4000000000000127', 'chargeDeclinedIncorrectCvc', wrongCvc),
  refusing('4000000000000119', 'chargeDeclinedProcessingError', notProcessed),
  // Can be saved but not charged, for renewals that fail.
  card('4000000000000341', 'chargeCustomerFail', { decline: declined }),
  card('4000002760003184', 'authenticationRequired', { authentication: 'always' }),
  card('4000000000003220', 'threeDSecure2Required threeDSecureRequired', { authentication: 'always' }),
  card('4000002500003155', 'authenticationRequiredOnSetup', { authentication: 'until_saved' }),
  card('4000000000005126', 'refundFail', { refund: 'fails_later' }),
  card('4000000000000259', 'createDispute', { dispute: 'fraudulent' }),
  card('4000000000002685', 'createDisputeProductNotReceived', { dispute: 'product_not_received' }),
  card('4000000000001976', 'createDisputeInquiry', { dispute: 'inquiry' }),
  card('4000000000007726', 'pendingRefund', { refund: 'pending_first' }),
];

export function testCardByToken(token: string): TestCard | undefined {
  return testCards.find(({ tokens }) => tokens.includes(token));
}

export function testCardByNumber(number: string): TestCard | undefined {
  return testCards.find((card) => card.number === number);
}

/** A stored payment method has only the last four digits. */
export function testCardByLast4(last4: string | undefined): TestCard | undefined {
  return testCards.find((card) => last4 !== undefined && card.number.endsWith(last4));
}

/** A description of what the card does. */
export function describeTestCard({ decline, declinesSetup, ...succeeding }: TestCard): string {
  const { authentication, refund, dispute } = succeeding;
  if (decline?.isBlocked) return `Blocked before it reaches the bank: ${decline.declineCode}.`;
  if (decline !== undefined)
    return declinesSetup
      ? `Declined: ${decline.declineCode}.`
      : `Can be saved, but every charge is declined: ${decline.declineCode}.`;
  if (authentication === 'always') return 'Requires authentication for every payment.';
  if (authentication === 'until_saved') return 'Requires authentication until it has been saved.';
  if (refund === 'fails_later') return 'Succeeds. A refund succeeds, then fails a minute later.';
  if (refund === 'pending_first') return 'Succeeds. A refund is pending, then succeeds a minute later.';
  if (dispute === 'fraudulent') return 'Succeeds, then is disputed as fraudulent.';
  if (dispute === 'product_not_received') return 'Succeeds, then is disputed: product not received.';
  return dispute === 'inquiry' ? 'Succeeds, then gets an inquiry.' : 'Succeeds.';
}
