import { isTillError } from '@till/client';
import type { ComponentChildren } from 'preact';
import { words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';

/** What an operator can do if a change of a subscription is refused. */
export function adviceOnChange(error: unknown): ComponentChildren {
  if (isTillError(error, 'payment_declined'))
    return `Nothing was changed or charged.${error.declineCode === null ? '' : ` Reason: ${words(error.declineCode)}.`}`;
  if (isTillError(error, 'payment_due'))
    return 'Here: use “Pay now” first if an invoice is unpaid, or choose “Not at all” or “When the period ends”.';
  if (isTillError(error, 'subscription_ending')) return 'Here: use “Keep it” first, or choose “Now”.';
  if (isTillError(error, 'already_subscribed') && error.subscriptionId !== null)
    return <a href={pageOf('subscription', error.subscriptionId)}>Open the other subscription</a>;
  if (isTillError(error, 'subscription_busy', 'concurrent_change'))
    return 'Check the subscription and the preview, and try again.';
  if (isTillError(error, 'subscription_limit_reached'))
    return 'Here: choose “With the next renewal”, or try again later.';
  return undefined;
}
