import { brandOf, cvcMistake, expiryMistake, expiryOf, numberMistake } from '../browser/frame/card-values.js';
import { formOf } from '../control/control-input.ts';
import { paymentMethodData } from '../payments/payment-method.ts';
import { describeTestCard, testCards } from '../payments/test-cards.ts';
import { methodFrom } from '../resources/payment-intents.ts';
import type { Store } from '../state/store.ts';
import type { PaymentMethod } from '../wire/objects.ts';
import { parseFields, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { type Html, html } from './page.ts';

/** The fields with which people choose a saved card or a test card, or enter a new one. A new one may need `more`. */
export function cardChoice(saved: readonly PaymentMethod[], more: Html | null = null): Html {
  const savedCards =
    saved.length === 0
      ? null
      : html`<optgroup label="Saved cards">${saved.map((method) => html`<option value="${method.id}">${cardName(method)}</option>`)}</optgroup>`;
  // The fields have the ids, names and placeholders of the processor's own page, which public tests use.
  return html`<fieldset class="cards">
<legend>Card</legend>
<label>Choose a card
<select name="payment_method">${savedCards}<option value="new">A new card</option><optgroup label="Test cards">${testCardOptions}</optgroup></select>
</label>
<div class="new-card">
<label class="wide">Card number
<input id="cardNumber" name="cardNumber" inputmode="numeric" autocomplete="cc-number" placeholder="1234 1234 1234 1234" list="test-numbers">
</label>
<datalist id="test-numbers">${testNumbers}</datalist>
<label>Expiration date
<input id="cardExpiry" name="cardExpiry" inputmode="numeric" autocomplete="cc-exp" placeholder="MM / YY">
</label>
<label>Security code
<input id="cardCvc" name="cardCvc" inputmode="numeric" autocomplete="cc-csc" placeholder="CVC">
</label>
<label class="wide">Cardholder name
<input id="billingName" name="billingName" autocomplete="cc-name" placeholder="Full name on card">
</label>
${more}
</div>
</fieldset>`;
}

const spaced = (number: string) => number.replaceAll(/(.{4})(?=.)/g, '$1 ');
const testCardOptions = testCards.map(
  (card) =>
    html`<option value="${card.tokens[0] ?? ''}">${spaced(card.number)}: ${describeTestCard(card)}</option>`,
);
const testNumbers = testCards.map(
  (card) => html`<option value="${spaced(card.number)}">${describeTestCard(card)}</option>`,
);

/** The payment method that the form chose. */
export function chosenMethod(
  store: Store,
  fields: URLSearchParams,
  customer: string | null,
): PaymentMethod | null {
  const params = parseFields(methodParams, formOf(chosenCard(fields), 'card'));
  return methodFrom(store, params, customer) ?? null;
}

const methodParams = { payment_method: text(), payment_method_data: paymentMethodData };

/** What the form chose, as parameters of the API. Throws if the new card is incomplete. */
export function chosenCard(fields: URLSearchParams): Readonly<Record<string, unknown>> {
  const chosen = fields.get('payment_method') ?? 'new';
  if (chosen !== 'new') return { payment_method: chosen };
  const entered = (name: string) => fields.get(name)?.trim() ?? '';
  const [number, expiry, cvc] = [entered('cardNumber'), entered('cardExpiry'), entered('cardCvc')];
  const mistake =
    numberMistake(number) ?? expiryMistake(expiry, new Date()) ?? cvcMistake(cvc, brandOf(number));
  if (mistake !== null) throw badParam(mistake.message, undefined, mistake.code);
  const name = entered('billingName');
  return {
    payment_method_data: {
      type: 'card',
      card: { number, ...expiryOf(expiry), cvc },
      ...(name !== '' && { billing_details: { name } }),
    },
  };
}

const brands: Readonly<Record<string, string>> = {
  amex: 'American Express',
  diners: 'Diners Club',
  discover: 'Discover',
  jcb: 'JCB',
  mastercard: 'Mastercard',
  visa: 'Visa',
};

/** A readable name for a card: `Visa ending in 4242, expires 12/2034`. */
export function cardName({ card }: Pick<PaymentMethod, 'card'>): string {
  if (card === undefined) return 'Card';
  return `${brands[card.brand] ?? card.brand} ending in ${card.last4}, expires ${card.exp_month}/${card.exp_year}`;
}
