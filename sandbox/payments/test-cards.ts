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

const declined: Decline = {
  code: 'card_declined',
  declineCode: 'generic_decline',
  message: 'Your card was declined.',
};

/** The processor's own test cards. Their last four digits are unique. */
export const testCards: readonly TestCard[] = [
  { number: '4242424242424242', tokens: ['pm_card_visa', 'pm_card_us'], brand: 'visa' },
  { number: '5555555555554444', tokens: ['pm_card_mastercard'], brand: 'mastercard' },
  { number: '378282246310005', tokens: ['pm_card_amex'], brand: 'amex' },
  { number: '6011111111111117', tokens: ['pm_card_discover'], brand: 'discover' },
  { number: '3056930009020004', tokens: ['pm_card_diners'], brand: 'diners' },
  { number: '3566002020360505', tokens: ['pm_card_jcb'], brand: 'jcb' },
  { number: '4000000000000077', tokens: ['pm_card_bypassPending'], brand: 'visa' },
  { number: '4000056655665556', tokens: ['pm_card_visa_debit'], brand: 'visa', funding: 'debit' },
  {
    number: '5200828282828210',
    tokens: ['pm_card_mastercard_debit'],
    brand: 'mastercard',
    funding: 'debit',
  },
  {
    number: '5105105105105100',
    tokens: ['pm_card_mastercard_prepaid'],
    brand: 'mastercard',
    funding: 'prepaid',
  },
  {
    number: '4000000000000002',
    tokens: ['pm_card_visa_chargeDeclined', 'pm_card_chargeDeclined'],
    brand: 'visa',
    decline: declined,
    declinesSetup: true,
  },
  {
    number: '4000000000009995',
    tokens: ['pm_card_visa_chargeDeclinedInsufficientFunds', 'pm_card_chargeDeclinedInsufficientFunds'],
    brand: 'visa',
    decline: {
      code: 'card_declined',
      declineCode: 'insufficient_funds',
      message: 'Your card has insufficient funds.',
    },
    declinesSetup: true,
  },
  {
    number: '4000000000009987',
    tokens: ['pm_card_visa_chargeDeclinedLostCard', 'pm_card_chargeDeclinedLostCard'],
    brand: 'visa',
    decline: { ...declined, declineCode: 'lost_card' },
    declinesSetup: true,
  },
  {
    number: '4000000000009979',
    tokens: ['pm_card_visa_chargeDeclinedStolenCard', 'pm_card_chargeDeclinedStolenCard'],
    brand: 'visa',
    decline: { ...declined, declineCode: 'stolen_card' },
    declinesSetup: true,
  },
  {
    number: '4000000000006975',
    tokens: [
      'pm_card_visa_chargeDeclinedVelocityLimitExceeded',
      'pm_card_chargeDeclinedVelocityLimitExceeded',
    ],
    brand: 'visa',
    decline: {
      code: 'card_declined',
      declineCode: 'card_velocity_exceeded',
      message:
        'Your card was declined for making repeated attempts too frequently or exceeding its amount limit.',
    },
    declinesSetup: true,
  },
  // Can be saved, because only payments are checked for fraud.
  {
    number: '4100000000000019',
    tokens: ['pm_card_radarBlock', 'pm_card_chargeDeclinedFraudulent'],
    brand: 'visa',
    decline: { ...declined, declineCode: 'fraudulent', isBlocked: true },
  },
  {
    number: '4000000000000069',
    tokens: ['pm_card_chargeDeclinedExpiredCard', 'pm_card_visa_chargeDeclinedExpiredCard'],
    brand: 'visa',
    decline: { code: 'expired_card', declineCode: 'expired_card', message: 'Your card has expired.' },
    declinesSetup: true,
  },
  {
    number: '4000000000000127',
    tokens: ['pm_card_chargeDeclinedIncorrectCvc'],
    brand: 'visa',
    decline: {
      code: 'incorrect_cvc',
      declineCode: 'incorrect_cvc',
      message: "Your card's security code is incorrect.",
    },
    declinesSetup: true,
  },
  {
    number: '4000000000000119',
    tokens: ['pm_card_chargeDeclinedProcessingError'],
    brand: 'visa',
    decline: {
      code: 'processing_error',
      declineCode: 'processing_error',
      message: 'An error occurred while processing your card. Try again later.',
    },
    declinesSetup: true,
  },
  // Can be saved but not charged, for renewals that fail.
  { number: '4000000000000341', tokens: ['pm_card_chargeCustomerFail'], brand: 'visa', decline: declined },
  {
    number: '4000002760003184',
    tokens: ['pm_card_authenticationRequired'],
    brand: 'visa',
    authentication: 'always',
  },
  {
    number: '4000000000003220',
    tokens: ['pm_card_threeDSecure2Required', 'pm_card_threeDSecureRequired'],
    brand: 'visa',
    authentication: 'always',
  },
  {
    number: '4000002500003155',
    tokens: ['pm_card_authenticationRequiredOnSetup'],
    brand: 'visa',
    authentication: 'until_saved',
  },
  { number: '4000000000005126', tokens: ['pm_card_refundFail'], brand: 'visa', refund: 'fails_later' },
  { number: '4000000000000259', tokens: ['pm_card_createDispute'], brand: 'visa', dispute: 'fraudulent' },
  {
    number: '4000000000002685',
    tokens: ['pm_card_createDisputeProductNotReceived'],
    brand: 'visa',
    dispute: 'product_not_received',
  },
  { number: '4000000000001976', tokens: ['pm_card_createDisputeInquiry'], brand: 'visa', dispute: 'inquiry' },
  { number: '4000000000007726', tokens: ['pm_card_pendingRefund'], brand: 'visa', refund: 'pending_first' },
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
export function describeTestCard({
  decline,
  declinesSetup,
  authentication,
  refund,
  dispute,
}: TestCard): string {
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
