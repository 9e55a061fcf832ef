import { describeTestCard, testCards } from '../payments/test-cards.ts';
import { html, page } from './page.ts';

/** Tells a person who opens the address of the sandbox what runs there, and how to use it. */
export const homePage = page({
  title: 'An offline Stripe',
  content: html`<p>This server speaks the API of Stripe, for tests and demos. Point the official client of any language
at this address, with any secret key that begins with <code>sk_test_</code>.</p>
<p>Its pages take these card numbers, with any date in the future and any security code:</p>
<table>
<thead><tr><th scope="col">Number</th><th scope="col">What happens</th></tr></thead>
<tbody>${testCards.map(
    (card) =>
      html`<tr><td><code>${card.number.replace(/.{4}(?=.)/g, '$& ')}</code></td><td>${describeTestCard(card)}</td></tr>
`,
  )}</tbody>
</table>
<p>Programs control the clock, the webhooks and the faults of the sandbox at <code>/sandbox</code>.</p>`,
});
