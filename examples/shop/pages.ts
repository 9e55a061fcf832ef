// What visitors see. `html` escapes every value.
import { fileURLToPath } from 'node:url';
import type { Plan, Subscription, SubscriptionChangePreview } from '@till/client';
import { html } from 'hono/html';

type Html = ReturnType<typeof html>;

const {
  STRIPE_JS = 'http://127.0.0.1:3001/stripe.js', // the sandbox's; else https://js.stripe.com/endive/stripe.js
  STRIPE_PUBLISHABLE_KEY = 'pk_test_shop',
} = process.env;
/** The official package as it is: one module, which needs no bundler. */
export const stripePackage = fileURLToPath(
  new URL('../dist/index.mjs', import.meta.resolve('@stripe/stripe-js')),
);
const [none, own, stripe] = ["'none'", "'self'", new URL(STRIPE_JS).origin];
/** What a page may load. */
export const contentSecurityPolicy = {
  defaultSrc: [none],
  imgSrc: ['data:'],
  styleSrc: [own],
  scriptSrc: [own, stripe],
  connectSrc: [stripe],
  frameSrc: [stripe],
  frameAncestors: [none],
  baseUri: [none],
};

const money = (amount: number, currency = 'eur') =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).format(amount / 100);
const day = (time: string | null) =>
  time === null
    ? ''
    : new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(time));

function page(title: string, content: Html, head?: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Fieldnotes</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/public/shop.css">
${head}
</head>
<body>
<header><nav aria-label="Main"><a class="brand" href="/">Fieldnotes</a>
<a href="/notebook">Notebook</a><a href="/reports">Reports</a><a href="/handbook">Handbook</a>
<a class="last" href="/account">Account</a></nav></header>
<main>
<h1>${title}</h1>
${content}
</main>
<footer>Fieldnotes is an example. It takes no real money: pay with the card 4242 4242 4242 4242, any future date
and any CVC.</footer>
</body>
</html>`;
}

const featureTexts: Readonly<Record<string, string>> = {
  notebook: 'A shared notebook',
  reports: 'Weekly reports',
};

function planCard(plan: Plan, action: Html): Html {
  const { name, amount, currency, features } = plan;
  const points = Object.entries(features).map(([feature, value]) => {
    const seats = Number(value) === 1 ? '1 seat' : `${value} seats`;
    return html`<li>${feature === 'seats' ? seats : featureTexts[feature]}</li>`;
  });
  return html`<article class="card"><h2>${name}</h2>
<p class="price"><strong>${money(amount, currency)}</strong> a month</p><ul>${points}</ul>${action}</article>`;
}

function buyButton(plan: Plan, isSignedIn: boolean, current: Subscription | undefined): Html {
  if (!isSignedIn) return html`<a class="button" href="/sign-in?plan=${plan.id}">Start with ${plan.name}</a>`;
  if (current === undefined)
    return html`<form method="post" action="/checkout"><input type="hidden" name="plan" value="${plan.id}">
<button>Subscribe to ${plan.name}</button></form>`;
  if (current.planId === plan.id) return html`<p class="current">Your plan</p>`;
  return html`<a class="button quiet" href="/change?plan=${plan.id}">Change to ${plan.name}</a>`;
}

function message(title: string, text: string, link: Html): Html {
  return page(title, html`<div class="card narrow"><p>${text}</p>${link}</div>`);
}

function subscriptionPart(plans: readonly Plan[], subscription: Subscription | undefined): Html {
  if (subscription === undefined)
    return html`<p>You have no plan.</p><a class="button" href="/">See the plans</a>`;
  const { planId, addOns, cancelAtPeriodEnd, currentPeriodEnd, status } = subscription;
  const extra = addOns.reduce((sum, { quantity }) => sum + quantity, 0);
  const until = cancelAtPeriodEnd ? 'Ends on' : 'Renews on';
  return html`<dl><dt>Plan</dt><dd>${plans.find(({ id }) => id === planId)?.name}${status === 'active' ? '' : `, ${status}`}</dd>
<dt>${until}</dt><dd>${day(currentPeriodEnd)}</dd></dl>
<form class="row" action="/change"><label>Extra seats<input type="number" name="seats" min="0" max="50" value="${extra}" required></label>
<button class="quiet">See the price</button></form>`;
}

export const pages = {
  prices: (plans: readonly Plan[], isSignedIn: boolean, current?: Subscription): Html =>
    page(
      'Notes that your whole team finds again',
      html`<p class="lead">One notebook for everything that you see, hear and decide. Cancel at any time.</p>
<div class="plans">${plans.map((plan) => planCard(plan, buyButton(plan, isSignedIn, current)))}</div>
${isSignedIn ? null : html`<p>You have an account? <a href="/sign-in">Sign in</a>.</p>`}`,
    ),
  /** The form goes to the address of this page, which has the plan that the visitor starts with. */
  signIn: (problem?: string): Html =>
    page(
      'Sign in, or create an account',
      html`<form class="card narrow" method="post">
${problem === undefined ? null : html`<p class="problem" role="alert">${problem}</p>`}
<label>E-mail address<input type="email" name="email" autocomplete="email" maxlength="200" required></label>
<label>Password<input type="password" name="password" autocomplete="current-password" minlength="8" required></label>
<p>An address without an account gets one, with this password.</p><button>Continue</button></form>`,
    ),
  notebook: page('Notebook', html`<div class="card"><p>The heron is back at the north pond.</p></div>`),
  reports: page('Reports', html`<div class="card"><p>This week: 12 notes, 3 decisions, 1 heron.</p></div>`),
  handbook: page('The handbook', html`<div class="card"><p>Chapter 1: write it down at once.</p></div>`),
  locked: message(
    'Not part of your plan',
    'This page belongs to a plan that you do not have.',
    html`<a class="button" href="/">See the plans</a>`,
  ),
  account: (
    email: string,
    messages: readonly { readonly text?: unknown }[],
    plans: readonly Plan[],
    subscription: Subscription | undefined,
  ): Html =>
    page(
      'Account',
      html`<section class="card"><p>Signed in as ${email}</p>${subscriptionPart(plans, subscription)}
<div class="row"><form method="post" action="/portal"><button class="quiet">Cards, invoices and cancellation</button></form>
<form method="post" action="/sign-out"><button class="quiet">Sign out</button></form></div></section>
${messages.length === 0 ? null : html`<section class="card"><h2>Messages</h2><ul>${messages.map(({ text }) => html`<li>${text}</li>`)}</ul></section>`}`,
    ),
  /** The form goes to the address of this page, which has the change. */
  change: ({ amountDue, currency, lines }: SubscriptionChangePreview): Html =>
    page(
      'Confirm the change',
      html`<form class="card narrow" method="post">
<table>${lines.map(({ description, amount }) => html`<tr><td>${description}</td><td class="amount">${money(amount, currency)}</td></tr>`)}
<tr class="total"><th scope="row">Due now</th><td class="amount">${money(amountDue, currency)}</td></tr></table>
<button>Change and pay ${money(amountDue, currency)}</button> <a href="/account">Keep it as it is</a></form>`,
    ),
  /** Stripe sends the customer to the return URL after the payment. */
  cardForm: (clientSecret: string | null, returnUrl: string, what = 'Confirm your payment'): Html =>
    page(
      what,
      html`<form class="card narrow" id="card-form" data-publishable-key="${STRIPE_PUBLISHABLE_KEY}"
data-client-secret="${clientSecret}" data-return-url="${returnUrl}"><div id="payment-element"></div>
<p class="problem" role="alert"></p><button disabled>Pay</button></form>`,
      html`<script src="${STRIPE_JS}"></script><script type="module" src="/public/card-form.js"></script>`,
    ),
  problem: (text: string): Html =>
    message('That did not work', text, html`<a class="button" href="/account">Go to your account</a>`),
};
