import { Failure } from '../../errors.ts';
import type { Processor } from '../processor.ts';
import type { AdapterContext } from './adapter-context.ts';
import { WireObject } from './wire-object.ts';

export function createAccountRead(
  { stripe, call }: AdapterContext,
  isRestricted: boolean,
): Processor['readAccount'] {
  return async () => {
    try {
      return await call('account.read', {
        kind: 'read',
        send: (options) => stripe.accounts.retrieveCurrent({}, options),
        take: (answer) => WireObject.parse(answer, 'account').expectKind('account').id(),
      });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const isForbidden = isRestricted && error.code === 'processor_misconfigured';
      // A server that speaks the wire API may not know this call. The real processor always does.
      const isUnsupported = error.code === 'processor_bad_answer';
      if (isForbidden || isUnsupported) return null;
      throw error;
    }
  };
}
