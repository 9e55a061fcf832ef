import assert from 'node:assert/strict';
import { effort } from '../../../test/support/effort.ts';
import { authenticate, fillCard, fillDeclinedCard } from '../../testing/playwright.mjs';
import { newPayment, newSetup } from './forms.ts';
import { type Age, type Shop, shopTest, stripe } from './shop.ts';

/** A form as applications write it, without JSX. `fields` are components of the package. */
function render({ run }: Shop, options: object, fields: string, submit: string): Promise<void> {
  return run(`
    const { React, createRoot, Elements, useStripe, useElements } = kit;
    const e = React.createElement;
    const loaded = kit.loadStripe('pk_test_shop');
    function Form() {
      const stripe = useStripe();
      const elements = useElements();
      const [outcome, setOutcome] = React.useState('');
      const submit = async (event) => {
        event.preventDefault();
        const { error, paymentIntent, setupIntent } = await (${submit})(stripe, elements);
        setOutcome(error ? error.code + ': ' + error.message : (paymentIntent ?? setupIntent).status);
      };
      return e('form', { onSubmit: submit }, ${fields},
        e('button', { disabled: !stripe }, 'Pay'), e('p', { role: 'status' }, outcome));
    }
    const app = e(React.StrictMode, null, e(Elements, { stripe: loaded, options: ${JSON.stringify(options)} }, e(Form)));
    createRoot(document.querySelector('#element')).render(app);`);
}

async function pay({ page }: Shop): Promise<void> {
  await page.getByRole('button', { name: 'Pay' }).click();
}

const outcome = ({ page }: Shop, text: string) => page.getByRole('status').getByText(text).waitFor();

for (const age of effort<readonly Age[]>({ short: ['newest'], long: ['newest', 'oldest'] })) {
  const options = { age, hasReact: true };

  shopTest(
    `in React's strict mode, a payment element is declined, authenticates and pays (${age} packages)`,
    async (shop) => {
      const { page, problems } = shop;
      const { id, secret } = await newPayment();
      await render(
        shop,
        { clientSecret: secret },
        'e(kit.PaymentElement, { onReady: (element) => element.focus() })',
        "(stripe, elements) => stripe.confirmPayment({ elements, redirect: 'if_required' })",
      );
      await fillDeclinedCard(page);
      assert.equal(await page.locator('iframe[title="Secure payment input frame"]').count(), 1);
      problems.expect(/402/);
      await pay(shop);
      await outcome(shop, 'card_declined: Your card was declined.');
      await fillCard(page, { number: '4000 0000 0000 3220' });
      await pay(shop);
      await authenticate(page);
      await outcome(shop, 'succeeded');
      assert.equal((await stripe.paymentIntents.retrieve(id)).status, 'succeeded');
    },
    options,
  );

  shopTest(
    `in React's strict mode, a card element and the three parts of a card pay and save (${age} packages)`,
    async (shop) => {
      const { page } = shop;
      const setup = await newSetup();
      await render(
        shop,
        {},
        'e(kit.CardElement)',
        `(stripe, elements) => stripe.confirmCardSetup('${setup.secret}',
          { payment_method: { card: elements.getElement(kit.CardElement) } })`,
      );
      await fillCard(page);
      await pay(shop);
      await outcome(shop, 'succeeded');

      const payment = await newPayment();
      await page.reload();
      await render(
        shop,
        {},
        'e(kit.CardNumberElement), e(kit.CardExpiryElement), e(kit.CardCvcElement)',
        `(stripe, elements) => stripe.confirmCardPayment('${payment.secret}',
          { payment_method: { card: elements.getElement(kit.CardNumberElement), billing_details: { name: 'Jenny' } } })`,
      );
      await fillCard(page, { number: '3782 822463 10005', cvc: '1234' });
      await pay(shop);
      await outcome(shop, 'succeeded');
      const paid = await stripe.paymentIntents.retrieve(payment.id, { expand: ['payment_method'] });
      assert.ok(typeof paid.payment_method === 'object');
      assert.deepEqual(
        [paid.payment_method?.card?.brand, paid.payment_method?.billing_details.name],
        ['amex', 'Jenny'],
      );
    },
    options,
  );
}
