// @ts-check
import { loadStripe } from '/stripe-js.mjs';

// The card number goes from Stripe's fields to Stripe. Neither the shop nor Till sees it.
const form = /** @type {HTMLFormElement} */ (document.querySelector('#card-form'));
const button = /** @type {HTMLButtonElement} */ (form.querySelector('button'));
const problem = /** @type {HTMLElement} */ (form.querySelector('[role=alert]'));
const { publishableKey = '', clientSecret = '', returnUrl = '' } = form.dataset;

const stripe = await loadStripe(publishableKey);
if (stripe === null) throw new Error('Stripe.js did not load');
const elements = stripe.elements({ clientSecret });
const element = elements.create('payment');
element.on('ready', () => {
  button.disabled = false;
});
element.mount('#payment-element');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  // Resolves only if the payment fails. Otherwise Stripe sends the customer to the return URL.
  const { error } = await stripe.confirmPayment({ elements, confirmParams: { return_url: returnUrl } });
  problem.textContent = error.message ?? 'The payment failed.';
  button.disabled = false;
});
