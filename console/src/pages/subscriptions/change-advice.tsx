import type { ComponentChildren } from 'preact';
import type { ApiError } from '../../api/api-error.ts';
import { words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';

/** What an operator can do if a change of a subscription is refused. */
export function adviceOnChange({ code, declineCode, subscriptionId }: ApiError): ComponentChildren {
  switch (code) {
    case 'payment_declined':
      return `Nothing was changed or charged.${declineCode === null ? '' : ` Reason: ${words(declineCode)}.`}`;
    case 'payment_due':
      return 'Here: use “Pay now” first if an invoice is unpaid, or choose “Not at all” or “When the period ends”.';
    case 'subscription_ending':
      return 'Here: use “Keep it” first, or choose “Now”.';
    case 'already_subscribed':
      return subscriptionId === null ? undefined : (
        <a href={pageOf('subscription', subscriptionId)}>Open the other subscription</a>
      );
    case 'subscription_busy':
    case 'concurrent_change':
      return 'Check the subscription and the preview, and try again.';
    default:
      return undefined;
  }
}
