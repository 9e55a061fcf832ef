import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type Stripe from 'stripe';
import { startSandbox } from '../sandbox.ts';
import { openPage } from './page-support.ts';
import { callControl, clientOf } from './support.ts';

const sandbox = await startSandbox({ port: 0 });
after(() => sandbox.close());
const stripe = clientOf(sandbox.port);

async function createInvoice(
  customer: string,
  currency = 'usd',
  more: Stripe.InvoiceCreateParams = {},
): Promise<Stripe.Invoice> {
  await stripe.invoiceItems.create({ customer, amount: 1_200, currency, description: 'Work <i>done</i>' });
  await stripe.invoiceItems.create({ customer, amount: 300, currency, description: 'Support' });
  const invoice = await stripe.invoices.create({
    ...{ customer, currency, pending_invoice_items_behavior: 'include', ...more },
  });
  return stripe.invoices.finalizeInvoice(invoice.id);
}

const createCustomer = async (params: Stripe.CustomerCreateParams = {}) =>
  (await stripe.customers.create(params)).id;
const openInvoice = ({ hosted_invoice_url: url }: Stripe.Invoice) => openPage(String(url));
const eventTypes = async (object: string): Promise<string[]> =>
  (await stripe.events.list({ limit: 100 })).data
    .filter(({ data }) => 'id' in data.object && data.object.id === object)
    .map(({ type }) => type);

test('the page of an open invoice shows its lines and amounts, and nothing that it was given as markup', async () => {
  const customer = await createCustomer({ name: '<b>Jenny</b> "Q"', email: 'jenny@example.com' });
  const invoice = await createInvoice(customer, 'jpy', { description: '</dd><script>' });
  const page = await openInvoice(invoice);
  assert.equal(page.status, 200);
  assert.equal(
    page.headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  for (const part of [
    `Invoice ${invoice.number}`,
    'Open, due now.',
    '<b>Jenny</b> "Q", jenny@example.com',
    'Work <i>done</i> 1 ¥1,200',
    'Support 1 ¥300',
    'Amount due ¥1,500',
    'Pay ¥1,500',
    '4242 4242 4242 4242: Succeeds.',
    '</dd><script>',
  ])
    assert.ok(page.text.includes(part), `${part} in ${page.text}`);
  assert.doesNotMatch(page.text, /Saved cards/);
  const [, stylesheet = ''] = /<link rel="stylesheet" href="([^"]+)">/.exec(page.markup) ?? [];
  const styles = await fetch(new URL(stylesheet, sandbox.url));
  assert.deepEqual([styles.status, styles.headers.get('content-type')], [200, 'text/css; charset=utf-8']);
});

test('the PDF of an invoice has its lines and amounts', async () => {
  const invoice = await createInvoice(await createCustomer(), 'eur');
  const response = await fetch(String(invoice.invoice_pdf));
  assert.equal(response.headers.get('content-type'), 'application/pdf');
  const text = await response.text();
  assert.match(text, /^%PDF-1\.4\n/);
  for (const part of [`Invoice ${invoice.number}`, '1 x Support', '\\20012.00)', '\\20015.00)'])
    assert.ok(text.includes(part), part);
});

test('an invoice is paid on its page with a saved card, and the same events follow as from the API', async () => {
  const customer = await createCustomer({
    payment_method: 'pm_card_mastercard',
    invoice_settings: { default_payment_method: 'pm_card_mastercard' },
  });
  const invoice = await createInvoice(customer);
  const page = await openInvoice(invoice);
  assert.match(page.text, /Mastercard ending in 4444, expires 12\/2034/);
  const [, saved = ''] = /<optgroup label="Saved cards"><option value="([^"]+)"/.exec(page.markup) ?? [];
  const { page: after } = await page.send({ payment_method: saved });
  assert.match(after.text, /\$15\.00 Paid on /);
  assert.doesNotMatch(after.markup, /<form/);
  const paid = await stripe.invoices.retrieve(invoice.id);
  assert.deepEqual([paid.status, paid.amount_paid], ['paid', 1_500]);

  const other = await createInvoice(customer);
  await stripe.invoices.pay(other.id);
  assert.deepEqual(await eventTypes(invoice.id), await eventTypes(other.id));
  // The form that was opened before has no effect any more.
  await page.send({ payment_method: saved });
  assert.equal((await eventTypes(invoice.id)).filter((type) => type === 'invoice.paid').length, 1);
});

test('a declined card says so, even when the page is loaded again, and another card pays', async () => {
  const invoice = await createInvoice(await createCustomer());
  const first = await openInvoice(invoice);
  const { location, page } = await first.send({
    payment_method: 'pm_card_visa_chargeDeclinedInsufficientFunds',
  });
  assert.equal(location, new URL(String(invoice.hosted_invoice_url)).pathname);
  assert.match(page.text, /The payment failed\. Your card has insufficient funds\./);
  assert.ok((await eventTypes(invoice.id)).includes('invoice.payment_failed'));
  assert.match((await openInvoice(invoice)).text, /insufficient funds/);
  const refused = await page.sendRefused({ payment_method: 'pm_none' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /No such PaymentMethod: 'pm_none'/);
  assert.match((await page.send({ payment_method: 'pm_card_visa' })).page.text, /Paid on/);
});

test('an invoice is paid with a card that the customer types in', async () => {
  const invoice = await createInvoice(await createCustomer());
  const page = await openInvoice(invoice);
  const card = {
    payment_method: 'new',
    cardNumber: '5555 5555 5555 4444',
    cardExpiry: '12/34',
    cardCvc: '12',
  };
  assert.match((await page.sendRefused(card)).text, /Your card's security code is incomplete\./);
  assert.match((await page.send({ ...card, cardCvc: '123' })).page.text, /Paid on/);
});

test('a card that requires authentication leads to the bank and back to the invoice', async () => {
  const invoice = await createInvoice(await createCustomer());
  const pay = async () =>
    (await openInvoice(invoice)).send({ payment_method: 'pm_card_authenticationRequired' });
  const bank = await pay();
  assert.match(
    bank.page.text,
    /Confirm with your bank Sandbox asks for a payment of \$15\.00 Merchant Sandbox/,
  );
  assert.match((await openInvoice(invoice)).text, /The last payment waits for your bank\. Confirm it/);
  const failed = await bank.page.send({ result: 'failed' });
  assert.match(failed.page.text, /Authentication failed The payment is now requires payment method/);
  assert.ok(failed.page.continuesAt?.startsWith(`${invoice.hosted_invoice_url}?`));
  assert.match(
    (await openPage(String(failed.page.continuesAt))).text,
    /The payment failed\. The authentication failed/,
  );
  const again = await (await pay()).page.send({ result: 'succeeded' });
  assert.match((await openPage(String(again.page.continuesAt))).text, /Paid on/);
  assert.equal((await stripe.invoices.retrieve(invoice.id)).status, 'paid');
});

test('void and uncollectible invoices say what they are, and only the latter can be paid', async () => {
  const customer = await createCustomer();
  const voided = await createInvoice(customer);
  const form = await openInvoice(voided);
  await stripe.invoices.voidInvoice(voided.id);
  const page = await openInvoice(voided);
  assert.match(page.text, /Void on .* No payment is due\./);
  assert.doesNotMatch(page.markup, /<form/);
  assert.match((await form.send({ payment_method: 'pm_card_visa' })).page.text, /Void on/);
  assert.equal((await stripe.invoices.retrieve(voided.id)).status, 'void');

  const lost = await createInvoice(customer);
  await stripe.invoices.markUncollectible(lost.id);
  const opened = await openInvoice(lost);
  assert.match(opened.text, /Uncollectible: /);
  assert.match((await opened.send({ payment_method: 'pm_card_visa' })).page.text, /Paid on/);
});

test('an invoice with a due date says when it is due, and a missing one or a draft has no page', async () => {
  const customer = await createCustomer({ email: 'jenny@example.com' });
  const sent = await createInvoice(customer, 'usd', {
    collection_method: 'send_invoice',
    days_until_due: 30,
  });
  assert.match((await openInvoice(sent)).text, /Open, due on \d+ [A-Z][a-z]+ \d{4}\./);
  await callControl(sandbox.url, 'POST', 'clock', { advanceSeconds: 31 * 86_400 });
  assert.match((await openInvoice(sent)).text, /Open, overdue since /);
  const draft = await stripe.invoices.create({ customer });
  for (const id of ['in_none', draft.id]) {
    const missing = await openPage(`${sandbox.url}/sandbox/invoices/${id}`);
    assert.equal(missing.status, 404);
  }
});

test('the bank asks for the payment, returns to the merchant with the result, and needs the secret', async () => {
  const intent = await stripe.paymentIntents.create({
    ...{ amount: 500, currency: 'kwd', confirm: true, payment_method: 'pm_card_authenticationRequired' },
    return_url: 'https://shop.example/done?order=1',
  });
  const url = String(intent.next_action?.redirect_to_url?.url);
  assert.ok(url.startsWith(sandbox.url));
  assert.equal((await openPage(url.replace(/secret=.*/, 'secret=guess'))).status, 404);
  const page = await openPage(url);
  assert.match(page.text, /KWD\s0\.500/);
  assert.match(page.text, /Complete authentication Fail authentication/);
  const { page: done, location } = await page.send({ result: 'succeeded' });
  assert.ok(location.startsWith('/sandbox/authenticate/'));
  const back = new URL(String(done.continuesAt));
  assert.deepEqual(
    [
      back.origin,
      ...['order', 'payment_intent', 'redirect_status'].map((name) => back.searchParams.get(name)),
    ],
    ['https://shop.example', '1', intent.id, 'succeeded'],
  );
  assert.equal((await stripe.paymentIntents.retrieve(intent.id)).status, 'succeeded');
  // Sending the old form again changes nothing.
  await page.send({ result: 'failed' });
  assert.equal((await stripe.paymentIntents.retrieve(intent.id)).status, 'succeeded');
});

test('without an address to return to, the page of the bank ends there; a card can also be saved', async () => {
  const setup = await stripe.setupIntents.create({
    ...{ customer: await createCustomer(), confirm: true, use_stripe_sdk: true },
    payment_method: 'pm_card_authenticationRequired',
  });
  const page = await openPage(String(setup.next_action?.use_stripe_sdk?.['stripe_js']));
  assert.match(page.text, /asks to save your card/);
  const { page: done } = await page.send({ result: 'succeeded' });
  assert.deepEqual([done.continuesAt, /You can close this page/.test(done.text)], [null, true]);
  assert.equal((await stripe.setupIntents.retrieve(setup.id)).status, 'succeeded');
});

test('a link leads only to web addresses', async () => {
  const intent = await stripe.paymentIntents.create({
    ...{ amount: 500, currency: 'usd', confirm: true, use_stripe_sdk: true },
    payment_method: 'pm_card_authenticationRequired',
  });
  const page = await openPage(String(intent.next_action?.use_stripe_sdk?.['stripe_js']));
  await page.send({ result: 'succeeded' });
  const query = new URLSearchParams({
    secret: String(intent.client_secret),
    return_url: 'javascript:alert(1)',
  });
  const done = await openPage(`${sandbox.url}/sandbox/authenticate/${intent.id}?${query}`);
  assert.equal(done.continuesAt, null);
  assert.doesNotMatch(done.markup, /javascript:/);
});
