import { createWireClient, type SendOverWire } from './wire-client.ts';

/** The wire client under its former name, for sandbox-wire.test.ts. */
export function exchangeWith(url: string): { readonly exchange: SendOverWire; readonly close: () => void } {
  const { send, close } = createWireClient(url);
  return { exchange: send, close };
}
