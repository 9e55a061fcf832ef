import { Failure } from '#core/errors.ts';
import type { Processor } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { headerDateMs } from '../wire/responses.ts';
import { Stripe } from '../wire/stripe-package.ts';
import { WireObject } from '../wire/wire-object.ts';

/** Another server of the wire API may not have this call. The real processor always has it. */
const unsupported = {};

export function createAccountRead(
  { stripe, call }: AdapterContext,
  isRestricted: boolean,
): Processor['readAccount'] {
  return async () => {
    try {
      return await call.read('account.read', {
        send: (options) =>
          stripe.accounts.retrieveCurrent({}, options).catch((error: unknown) => {
            if (error instanceof Stripe.errors.StripeError && error.statusCode === 404) return unsupported;
            throw error;
          }),
        take: (response) =>
          response === unsupported ? null : WireObject.parse(response, 'account').expectKind('account').id(),
      });
    } catch (error) {
      const isForbidden = error instanceof Failure && error.code === 'processor_misconfigured';
      if (isForbidden && isRestricted) return null;
      throw error;
    }
  };
}

/** Every response has the time, even the response to a secret key that may not read its account. */
export function createTimeRead({ stripe, call }: AdapterContext): Processor['readTime'] {
  return () =>
    call.read('account.read', {
      send: (options) =>
        stripe.accounts.retrieveCurrent({}, options).catch((error: unknown) => {
          if (error instanceof Stripe.errors.StripeError && error.headers !== undefined)
            return { lastResponse: { headers: error.headers } };
          throw error;
        }),
      take: (response) => {
        const atMs = headerDateMs(response);
        return atMs === null ? null : new Date(atMs);
      },
    });
}
