import type { Store } from '../state/store.ts';

/** The country and the default currency of the account. A world can set its own. */
export function accountOf({ settings }: Store): { readonly country: string; readonly currency: string } {
  return { country: settings.country ?? 'US', currency: settings.currency ?? 'usd' };
}
