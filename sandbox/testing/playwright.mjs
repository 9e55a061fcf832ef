/**
 * Steps of a purchase for tests with Playwright, against the sandbox or against the processor's test mode. The types
 * are in playwright.d.mts.
 */

/** The numbers of the test cards that are declined, by their decline code. */
const declinedCards = {
  generic_decline: '4000000000000002',
  insufficient_funds: '4000000000009995',
  lost_card: '4000000000009987',
  stolen_card: '4000000000009979',
  card_velocity_exceeded: '4000000000006975',
  fraudulent: '4100000000000019',
  expired_card: '4000000000000069',
  incorrect_cvc: '4000000000000127',
  processing_error: '4000000000000119',
};

const frames = {
  payment: 'iframe[title="Secure payment input frame"]',
  card: 'iframe[title="Secure card payment input frame"]',
  number: 'iframe[title="Secure card number input frame"]',
  expiry: 'iframe[title="Secure expiration date input frame"]',
  cvc: 'iframe[title="Secure CVC input frame"]',
};

export async function useSandboxLibrary(page, sandboxUrl) {
  await page.route('https://js.stripe.com/**', async (route) => {
    const { pathname } = new URL(route.request().url());
    const response = await route.fetch({ url: new URL(pathname, sandboxUrl).href });
    await route.fulfill({ response });
  });
}

export async function fillCard(page, card = {}) {
  const {
    number = '4242424242424242',
    expiry = '12 / 34',
    cvc = '123',
    postalCode = '12345',
    country,
  } = card;
  const anyFrame = [frames.payment, frames.card, frames.number].join(', ');
  await page.locator(anyFrame).first().waitFor();
  if (await page.locator(frames.number).count()) {
    await page.frameLocator(frames.number).locator('[name=cardnumber]').fill(number);
    await page.frameLocator(frames.expiry).locator('[name=exp-date]').fill(expiry);
    await page.frameLocator(frames.cvc).locator('[name=cvc]').fill(cvc);
    return;
  }
  const isPayment = (await page.locator(frames.payment).count()) > 0;
  const fields = page.frameLocator(isPayment ? frames.payment : frames.card).first();
  await fields.locator(isPayment ? '[name=number]' : '[name=cardnumber]').fill(number);
  await fields.locator(isPayment ? '[name=expiry]' : '[name=exp-date]').fill(expiry);
  await fields.locator('[name=cvc]').fill(cvc);
  if (country !== undefined) await fields.locator('[name=country]').selectOption(country);
  const postal = fields.locator(isPayment ? '[name=postalCode]' : '[name=postal]');
  if (await postal.isVisible()) await postal.fill(postalCode);
}

export async function fillDeclinedCard(page, declineCode = 'generic_decline') {
  await fillCard(page, { number: declinedCards[declineCode] });
}

const submitButton = '[data-testid="hosted-payment-submit-button"]';
const embeddedPage = 'iframe[name="embedded-checkout"]';

export async function payCheckout(page, buyer = {}) {
  const {
    number = '4242424242424242',
    expiry = '12 / 34',
    cvc = '123',
    email = 'jenny@example.com',
    name = 'Jenny Rosen',
    postalCode = '12345',
    country,
  } = buyer;
  await page.locator(`${embeddedPage}, ${submitButton}`).first().waitFor();
  const isEmbedded = (await page.locator(embeddedPage).count()) > 0;
  const form = isEmbedded ? page.frameLocator(embeddedPage) : page;
  await form.locator(submitButton).waitFor();
  const ifAsked = async (selector, enter) => {
    const field = form.locator(selector);
    if (await field.isVisible()) await enter(field);
  };
  await ifAsked('#email', (field) => field.fill(email));
  // The sandbox's page offers saved cards in a list.
  await ifAsked('select[name="payment_method"]', (field) => field.selectOption('new'));
  await ifAsked('#cardNumber', (field) => field.fill(number));
  await ifAsked('#cardExpiry', (field) => field.fill(expiry));
  await ifAsked('#cardCvc', (field) => field.fill(cvc));
  await ifAsked('#billingName', (field) => field.fill(name));
  if (country !== undefined) await ifAsked('#billingCountry', (field) => field.selectOption(country));
  await ifAsked('#billingPostalCode', (field) => field.fill(postalCode));
  await ifAsked('#shippingName', (field) => field.fill(name));
  await ifAsked('#shippingCountry', (field) => field.selectOption(country ?? { index: 1 }));
  await ifAsked('#shippingAddressLine1', (field) => field.fill('27 Fredrick Ave'));
  await ifAsked('#shippingLocality', (field) => field.fill('San Francisco'));
  await ifAsked('#shippingPostalCode', (field) => field.fill(postalCode));
  await form.locator(submitButton).click();
}

export async function declineCheckout(page, declineCode = 'generic_decline') {
  await payCheckout(page, { number: declinedCards[declineCode] });
}

export async function authenticate(page, result = 'complete') {
  const button = result === 'complete' ? '#test-source-authorize-3ds' : '#test-source-fail-3ds';
  const modal = 'iframe[src*="three-ds-2-challenge"]';
  await page.locator(`${modal}, ${button}, ${embeddedPage}`).first().waitFor();
  // The bank is in a frame of the page, or it is the page.
  const bank = (await page.locator(modal).count())
    ? page.frameLocator(modal).frameLocator('iframe[name="stripe-challenge-frame"]')
    : (await page.locator(embeddedPage).count())
      ? page.frameLocator(embeddedPage)
      : page;
  await bank.locator(button).click();
}
