export interface ProcessorKeySettings {
  readonly secretKey: string;
  readonly apiBase: URL;
  readonly nodeEnv: string | undefined;
}

/** Where real money lives. */
export const publicApiBase = new URL('https://api.stripe.com');

/** Warnings about a key and an address that do not belong together. None of them stops the service; all are loud. */
export function checkProcessorKeys({ secretKey, apiBase, nodeEnv }: ProcessorKeySettings): string[] {
  const warnings: string[] = [];
  const live = isLiveKey(secretKey);
  if (live && apiBase.host !== publicApiBase.host) {
    warnings.push(
      `A live processor key is being sent to ${apiBase.host}, which is not the processor's public address. ` +
        'If that is the sandbox, use a test key: whoever runs that server can charge real cards with this one.',
    );
  }
  if (live && apiBase.protocol !== 'https:') {
    warnings.push('A live processor key is being sent over a connection that is not encrypted.');
  }
  if (!live && nodeEnv === 'production') {
    warnings.push(
      'NODE_ENV is production, but the processor key is not a live one: no real money will move.',
    );
  }
  return warnings;
}

/** Restricted keys may be forbidden any call. */
export function isRestrictedKey(secretKey: string): boolean {
  return secretKey.startsWith('rk_');
}

/** Secret and restricted keys say their mode in their prefix. */
export function isLiveKey(secretKey: string): boolean {
  return /^(?:sk|rk)_live_/.test(secretKey);
}
