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
      const isRefused = error instanceof Failure && error.code === 'processor_misconfigured';
      if (isRefused && isRestricted) return null;
      throw error;
    }
  };
}
