import fc from 'fast-check';

/** Who does something: a client through Till's API, or a person on the processor's dashboard or page. */
export type Actor = 'till' | 'processor';
/** Why a subscription is canceled. Null: without a reason. */
export type Reason = string | null;

export const cards = [
  'pm_card_visa',
  'pm_card_visa_chargeDeclined',
  'pm_card_threeDSecure2Required',
  'pm_card_refundFail',
  'pm_card_pendingRefund',
  'pm_card_createDispute',
  'pm_card_createDisputeInquiry',
] as const;

export type Card = (typeof cards)[number];

/** The responses to a dispute: accept it, or send evidence that decides how it ends. */
export const disputeResponses = [
  'accept',
  'winning_evidence',
  'losing_evidence',
  'escalate_inquiry_evidence',
  'other_evidence',
] as const;

export type DisputeResponse = (typeof disputeResponses)[number];

/**
 * One thing that happens. `which` picks among what the history has created so far; with nothing to pick, nothing
 * happens.
 */
export type Command =
  | { readonly what: 'pay'; readonly amount: number; readonly card: Card | null }
  | { readonly what: 'authorise'; readonly amount: number; readonly card: Card }
  | { readonly what: 'charge saved card'; readonly amount: number; readonly card: Card }
  | { readonly what: 'capture'; readonly which: number; readonly whole: boolean; readonly by: Actor }
  | { readonly what: 'repeat payment'; readonly which: number }
  | { readonly what: 'confirm payment'; readonly which: number; readonly card: Card }
  | { readonly what: 'authenticate'; readonly which: number; readonly succeeds: boolean }
  | { readonly what: 'cancel payment'; readonly which: number; readonly by: Actor }
  | { readonly what: 'refund'; readonly which: number; readonly whole: boolean; readonly by: Actor }
  | { readonly what: 'respond to dispute'; readonly which: number; readonly how: DisputeResponse }
  | { readonly what: 'update customer'; readonly name: string; readonly by: Actor }
  | { readonly what: 'delete customer'; readonly by: Actor }
  | { readonly what: 'rename plan'; readonly which: number; readonly name: string }
  | { readonly what: 'archive plan'; readonly which: number; readonly by: Actor }
  | { readonly what: 'revive plan'; readonly which: number }
  | {
      readonly what: 'subscribe';
      readonly interval: 'day' | 'week' | 'month';
      readonly amount: number;
      readonly trialDays: number;
      readonly card: Card | null;
      /** Given when it is created, instead of afterwards. */
      readonly savesCard: boolean;
      readonly quantity: number;
      readonly addOns: readonly number[];
      /** The percentage that a promotion code takes off. */
      readonly percent: number | null;
      readonly atTrialEnd: 'invoice' | 'pause' | 'cancel';
    }
  | { readonly what: 'refund charge'; readonly which: number; readonly whole: boolean; readonly by: Actor }
  | { readonly what: 'repeat subscription'; readonly which: number }
  | { readonly what: 'confirm subscription'; readonly which: number; readonly card: Card }
  | { readonly what: 'spoil card'; readonly which: number }
  | { readonly what: 'cancel subscription'; readonly which: number; readonly by: Actor; readonly why: Reason }
  | {
      readonly what: 'end with period';
      readonly which: number;
      readonly ends: boolean;
      readonly by: Actor;
      readonly why: Reason;
    }
  | {
      /** As the processor's portal does it. */
      readonly what: 'end by date';
      readonly which: number;
      readonly when: 'this period' | 'next period' | 'never';
    }
  | {
      readonly what: 'change plan';
      readonly which: number;
      readonly plan: number;
      readonly proration: 'nextInvoice' | 'invoice' | 'none';
      readonly by: Actor;
    }
  | {
      /** Quantities of the add-ons of the history. 0: it is not there. */
      readonly what: 'change add-ons';
      readonly which: number;
      readonly quantities: readonly number[];
      readonly when: 'now' | 'periodEnd';
      readonly proration: 'nextInvoice' | 'invoice' | 'none';
      readonly by: Actor;
    }
  | { readonly what: 'meter'; readonly which: number; readonly isThere: boolean }
  | { readonly what: 'change quantity'; readonly which: number; readonly quantity: number }
  | {
      readonly what: 'discount';
      readonly which: number;
      readonly percent: number | null;
      readonly duration: 'forever' | 'once';
      /** The discount is that of a promotion code, which can be redeemed once. */
      readonly hasCode: boolean;
    }
  | {
      readonly what: 'schedule';
      readonly which: number;
      readonly plan: number;
      readonly quantity: number;
      readonly by: Actor;
    }
  | { readonly what: 'new card'; readonly which: number; readonly of: 'customer' | 'subscription' }
  | { readonly what: 'release schedule'; readonly which: number }
  | { readonly what: 'detach card'; readonly which: number }
  | {
      readonly what: 'close invoice';
      readonly which: number;
      readonly how: 'void' | 'uncollectible' | 'pay';
    }
  | { readonly what: 'annotate payment'; readonly which: number; readonly note: string }
  | {
      readonly what: 'annotate subscription';
      readonly which: number;
      readonly note: string;
      readonly by: Actor;
    }
  | { readonly what: 'pay subscription'; readonly which: number; readonly card: Card }
  | { readonly what: 'pay elsewhere'; readonly amount: number }
  | {
      readonly what: 'open checkout';
      readonly sells: 'plan' | 'plan of group' | 'payment' | 'authorisation' | 'card';
      readonly amount: number;
      readonly trialDays: number;
      readonly quantity: number;
      readonly addOns: readonly number[];
      /** The percentage of a promotion code that the buyer may enter. */
      readonly percent: number | null;
    }
  | { readonly what: 'repeat checkout'; readonly which: number }
  | {
      readonly what: 'complete checkout';
      readonly which: number;
      readonly card: Card;
      readonly authenticate: boolean;
      readonly entersCode: boolean;
      /** In how many tabs the buyer pays at once. */
      readonly tabs: number;
      /** The buyer comes back before any webhook. */
      readonly returns: boolean;
    }
  | { readonly what: 'read checkout'; readonly which: number }
  | { readonly what: 'expire checkout'; readonly which: number; readonly by: Actor }
  | { readonly what: 'capture checkout'; readonly which: number };

/** What happens to one customer and all that is its own, round after round. */
export type History = readonly (readonly Command[])[];

export interface Fault {
  readonly operation: string;
  readonly kind: 'error' | 'latency' | 'reset_before';
  readonly times: number;
}

/** Histories that share a processor and a Till; after each round the processor's clock moves. */
export interface World {
  readonly histories: readonly History[];
  readonly clockMovesSeconds: readonly number[];
  readonly faults: readonly (readonly Fault[])[];
  /** Decides how the events are delivered. */
  readonly deliverySeed: number;
}

export const roundsCount = 4;
const commandsPerRoundMax = 3;
const faultsPerRoundMax = 6;

const by = fc.constantFrom<Actor>('till', 'processor');
const why = fc.constantFrom<Reason>(null, 'price', 'time');
const which = fc.nat({ max: 3 });
const card = fc.constantFrom(...cards);
const quantity = fc.integer({ min: 1, max: 5 });
export const addOnsCount = 3;
const addOns = fc.array(fc.constantFrom(0, 0, 1, 2, 3), { maxLength: addOnsCount });
// Above every currency's smallest charge.
const amount = fc.integer({ min: 100, max: 99_999 });
const name = fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom(...'abcdefgäß字 ') });
const personName = name.map((text) => `${text.trim()}.`);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant('pay' as const),
      amount,
      card: fc.option(card, { nil: null, freq: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('repeat payment' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('confirm payment' as const), which, card }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('authenticate' as const), which, succeeds: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('cancel payment' as const), which, by }) },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('refund' as const), which, whole: fc.boolean(), by }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('respond to dispute' as const),
      which,
      how: fc.constantFrom(...disputeResponses),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('update customer' as const), name: personName, by }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('delete customer' as const), by }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('rename plan' as const), which, name: personName }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('archive plan' as const), which, by }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('revive plan' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('subscribe' as const),
      // Daily renewals are many events of one kind; weeks and months show as much.
      interval: fc.constantFrom('day', 'week', 'week', 'week', 'month', 'month'),
      amount,
      trialDays: fc.constantFrom(0, 0, 1, 7),
      card: fc.option(card, { nil: null, freq: 3 }),
      savesCard: fc.boolean(),
      quantity,
      addOns,
      percent: fc.option(fc.constantFrom(10, 50, 100), { nil: null, freq: 1 }),
      atTrialEnd: fc.constantFrom('invoice', 'pause', 'cancel'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('repeat subscription' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('refund charge' as const), which, whole: fc.boolean(), by }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('confirm subscription' as const), which, card }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('spoil card' as const), which }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('cancel subscription' as const), which, by, why }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('end with period' as const),
      ...{ which, by, why },
      ends: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('end by date' as const),
      which,
      when: fc.constantFrom('this period', 'next period', 'never'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('new card' as const),
      which,
      of: fc.constantFrom('customer', 'subscription'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('change plan' as const),
      ...{ which, plan: which, by },
      proration: fc.constantFrom('nextInvoice', 'invoice', 'none'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('change add-ons' as const),
      ...{ which, quantities: addOns, by },
      when: fc.constantFrom('now', 'now', 'periodEnd'),
      proration: fc.constantFrom('nextInvoice', 'invoice', 'none'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('meter' as const), which, isThere: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('change quantity' as const), which, quantity }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('discount' as const),
      which,
      percent: fc.option(fc.integer({ min: 1, max: 99 }), { nil: null }),
      duration: fc.constantFrom('forever' as const, 'once' as const),
      hasCode: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('schedule' as const), which, plan: which, quantity, by }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('release schedule' as const), which }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('detach card' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('close invoice' as const),
      which,
      how: fc.constantFrom('void', 'uncollectible', 'pay'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('pay elsewhere' as const), amount }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('pay subscription' as const), which, card }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('authorise' as const), amount, card }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('charge saved card' as const), amount, card }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('capture' as const), which, whole: fc.boolean(), by }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant('open checkout' as const),
      sells: fc.constantFrom('plan', 'plan of group', 'plan of group', 'payment', 'authorisation', 'card'),
      amount,
      trialDays: fc.constantFrom(0, 0, 7),
      quantity,
      addOns,
      percent: fc.option(fc.constantFrom(10, 100), { nil: null, freq: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('repeat checkout' as const), which }) },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('complete checkout' as const),
      which,
      card,
      authenticate: fc.boolean(),
      entersCode: fc.boolean(),
      tabs: fc.constantFrom(1, 1, 2),
      returns: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('read checkout' as const), which }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('expire checkout' as const), which, by }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('capture checkout' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('annotate payment' as const), which, note: personName }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('annotate subscription' as const),
      which,
      note: personName,
      by,
    }),
  },
);

/** In all less than the 30 days that the processor's list of events goes back. */
const clockMove = fc.constantFrom(0, 1, 1, 2, 61, 3_700, 86_400, 4 * 86_400, 7 * 86_400);

const fault: fc.Arbitrary<Fault> = fc.record({
  operation: fc.constantFrom(
    'payment_intents.retrieve',
    'subscriptions.retrieve',
    'invoices.retrieve',
    'customers.retrieve',
    'prices.retrieve',
    'checkout_sessions.retrieve',
    'checkout_sessions.expire',
    'refunds.list',
    'invoice_payments.list',
    'disputes.list',
  ),
  kind: fc.constantFrom('error', 'latency', 'reset_before'),
  // Three failed attempts in a row fail a read, so that some fail and some are only delayed.
  times: fc.integer({ min: 1, max: 7 }),
});

export function worldOf(historiesCount: number): fc.Arbitrary<World> {
  const rounds = { minLength: roundsCount, maxLength: roundsCount };
  const history = fc.array(fc.array(command, { maxLength: commandsPerRoundMax, size: 'max' }), rounds);
  return fc.record({
    histories: fc.array(history, { minLength: historiesCount, maxLength: historiesCount }),
    clockMovesSeconds: fc.array(clockMove, rounds),
    faults: fc.array(fc.array(fault, { maxLength: faultsPerRoundMax }), rounds),
    deliverySeed: fc.integer(),
  });
}
