import { type Intent, nounOf } from '../payments/intent.ts';
import type { Call } from '../wire/operation.ts';
import { missingParam, WireError } from '../wire/wire-error.ts';
import type { Resource } from './resource.ts';

/** The intent with the id in the path. A browser must send the intent's client secret. A server may. */
export function openedIntent<T extends Intent>(
  intents: Resource<T>,
  call: Call,
  clientSecret: string | undefined,
): T {
  if (call.fromBrowser && clientSecret === undefined) throw missingParam('client_secret');
  const intent = intents.existing(call);
  if (clientSecret !== undefined && intent.client_secret !== clientSecret)
    throw new WireError(404, {
      type: 'invalid_request_error',
      code: 'resource_missing',
      message: `The client_secret does not match this ${nounOf(intent)}.`,
      param: 'client_secret',
    });
  return intent;
}
