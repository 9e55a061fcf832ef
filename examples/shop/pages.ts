import type { Plan, Subscription, SubscriptionChangePreview } from '../../client/src/index.ts';

/** A page, or a part of one. */
export interface Html {
  readonly html: string;
  readonly status?: number;
}

type Value = string | number | Html | readonly Html[] | null | undefined;

/** Values are escaped, unless they are HTML of this function. */
function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { html: parts.map((part, index) => part + textOf(values[index])).join('') };
}

function textOf(value: Value): string {
  if (Array.isArray(value)) return value.map(textOf).join('');
  if (typeof value === 'object' && value !== null && 'html' in value) return value.html;
  return String(value ?? '').replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

const money = (amount: number, currency = 'eur') =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).format(amount / 100);
const day = (time: string | null) =>
  time === null
    ? ''
    : new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(time));

interface Frame {
  readonly title: string;
  readonly status?: number;
  readonly head?: Html;
}

function page({ title, status = 200, head }: Frame, content: Html): Html {
  const { html: text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Fieldnotes</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/shop.css">
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
  return { html: text, status };
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
  if (!isSignedIn) return html`<a class="button" href="/sign-up">Start with ${plan.name}</a>`;
  if (current === undefined)
    return html`<form method="post" action="/checkout"><input type="hidden" name="plan" value="${plan.id}">
<button>Subscribe to ${plan.name}</button></form>`;
  if (current.planId === plan.id) return html`<p class="current">Your plan</p>`;
  return html`<a class="button quiet" href="/change?plan=${plan.id}">Change to ${plan.name}</a>`;
}

function accountForm(
  action: string,
  button: string,
  problem: string | undefined,
  passwordKind: string,
): Html {
  return html`<form class="card narrow" method="post" action="${action}">
${problem === undefined ? null : html`<p class="problem" role="alert">${problem}</p>`}
<label>E-mail address<input type="email" name="email" autocomplete="email" maxlength="200" required></label>
<label>Password<input type="password" name="password" autocomplete="${passwordKind}" minlength="8" required></label>
<button>${button}</button></form>`;
}

function message(title: string, text: string, link: Html, status = 200): Html {
  return page({ title, status }, html`<div class="card narrow"><p>${text}</p>${link}</div>`);
}

interface Account {
  readonly email: string;
  readonly messages: readonly { readonly text: string }[];
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

interface CardForm {
  readonly stripeJs: string;
  readonly publishableKey: string;
  readonly clientSecret: string | null;
  /** Where Stripe sends the customer after the payment. */
  readonly returnUrl: string;
  readonly what?: string | undefined;
}

export const pages = {
  prices: (plans: readonly Plan[], isSignedIn: boolean, current?: Subscription): Html =>
    page(
      { title: 'Notes that your whole team finds again' },
      html`<p class="lead">One notebook for everything that you see, hear and decide. Cancel at any time.</p>
<div class="plans">${plans.map((plan) => planCard(plan, buyButton(plan, isSignedIn, current)))}</div>
${isSignedIn ? null : html`<p>You have an account? <a href="/sign-in">Sign in</a>.</p>`}`,
    ),
  signUp: (problem?: string): Html =>
    page(
      { title: 'Create your account', status: problem === undefined ? 200 : 422 },
      html`${accountForm('/sign-up', 'Create account', problem, 'new-password')}
<p>You have an account? <a href="/sign-in">Sign in</a>.</p>`,
    ),
  signIn: (problem?: string): Html =>
    page(
      { title: 'Sign in', status: problem === undefined ? 200 : 422 },
      html`${accountForm('/sign-in', 'Sign in', problem, 'current-password')}
<p>You are new here? <a href="/sign-up">Create an account</a>.</p>`,
    ),
  notebook: page(
    { title: 'Notebook' },
    html`<div class="card"><p>The heron is back at the north pond.</p></div>`,
  ),
  reports: page(
    { title: 'Reports' },
    html`<div class="card"><p>This week: 12 notes, 3 decisions, 1 heron.</p></div>`,
  ),
  handbook: page(
    { title: 'The handbook' },
    html`<div class="card"><p>Chapter 1: write it down at once.</p></div>`,
  ),
  locked: message(
    'Not part of your plan',
    'This page belongs to a plan that you do not have.',
    html`<a class="button" href="/">See the plans</a>`,
    402,
  ),
  account: (
    { email, messages }: Account,
    plans: readonly Plan[],
    subscription: Subscription | undefined,
  ): Html =>
    page(
      { title: 'Account' },
      html`<section class="card"><p>Signed in as ${email}</p>${subscriptionPart(plans, subscription)}
<div class="row"><form method="post" action="/portal"><button class="quiet">Cards, invoices and cancellation</button></form>
<form method="post" action="/sign-out"><button class="quiet">Sign out</button></form></div></section>
${messages.length === 0 ? null : html`<section class="card"><h2>Messages</h2><ul>${messages.map(({ text }) => html`<li>${text}</li>`)}</ul></section>`}`,
    ),
  change: (wanted: URLSearchParams, { amountDue, currency, lines }: SubscriptionChangePreview): Html =>
    page(
      { title: 'Confirm the change' },
      html`<form class="card narrow" method="post" action="/change">
<table>${lines.map(({ description, amount }) => html`<tr><td>${description}</td><td class="amount">${money(amount, currency)}</td></tr>`)}
<tr class="total"><th scope="row">Due now</th><td class="amount">${money(amountDue, currency)}</td></tr></table>
${[...wanted].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button>Change and pay ${money(amountDue, currency)}</button> <a href="/account">Keep it as it is</a></form>`,
    ),
  cardForm: ({ stripeJs, publishableKey, clientSecret, returnUrl, what }: CardForm): Html =>
    page(
      {
        title: what ?? 'Confirm your payment',
        head: html`<script src="${stripeJs}"></script><script type="module" src="/card-form.js"></script>`,
      },
      html`<form class="card narrow" id="card-form" data-publishable-key="${publishableKey}"
data-client-secret="${clientSecret}" data-return-url="${returnUrl}"><div id="payment-element"></div>
<p class="problem" role="alert"></p><button disabled>Pay</button></form>`,
    ),
  problem: (status: number, text: string): Html =>
    message(
      'That did not work',
      text,
      html`<a class="button" href="/account">Go to your account</a>`,
      status,
    ),
};
