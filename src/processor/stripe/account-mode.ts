import type { Processor } from '../port/processor.ts';
import { isLiveKey, publicApiBase } from './check-secret-key.ts';

const dashboard = 'https://dashboard.stripe.com';

/** A test key at a host that is not the processor's own belongs to a sandbox, which has no dashboard. */
export function accountModeOf(secretKey: string, apiBase: URL): Pick<Processor, 'mode' | 'dashboardUrl'> {
  if (isLiveKey(secretKey)) return { mode: 'live', dashboardUrl: dashboard };
  if (apiBase.host === publicApiBase.host) return { mode: 'test', dashboardUrl: `${dashboard}/test` };
  return { mode: 'sandbox', dashboardUrl: null };
}
