interface SecretKeySettings {
  readonly secretKey: string;
  readonly apiBase: URL;
  readonly nodeEnv: string | undefined;
}

/** The real API, which moves real money. */
export const publicApiBase = new URL('https://api.stripe.com');

interface SecretKeyWarning {
  readonly message: string;
  /** What the operator should do about it. */
  readonly action: string;
  readonly host?: string;
}

/** Warns about a secret key and an address that do not match. The service still starts. */
export function checkSecretKey(settings: SecretKeySettings): readonly SecretKeyWarning[] {
  const { secretKey, apiBase, nodeEnv } = settings;
  const { host } = apiBase;
  const warnings: SecretKeyWarning[] = [];
  const live = isLiveKey(secretKey);
  if (live && host !== publicApiBase.host) {
    warnings.push({
      message: 'live secret key sent to an unofficial host',
      action:
        'Use a test key with the sandbox. The owner of this host can charge real cards with a live key.',
      host,
    });
  }
  if (live && apiBase.protocol !== 'https:') {
    warnings.push({
      message: 'live secret key sent without encryption',
      action: 'Set PROCESSOR_API_BASE to an https:// address.',
      host,
    });
  }
  if (!live && nodeEnv === 'production') {
    warnings.push({
      message: 'test secret key in production',
      action: 'Set PROCESSOR_SECRET_KEY to a live key. With a test key no real money moves.',
    });
  }
  return warnings;
}

/**
 * Whether there may be a sandbox at this address. A sandbox accepts only test keys, and is never used in production.
 * Requests that only a sandbox understands are sent to no other address.
 */
export function mayBeSandbox({ secretKey, apiBase, nodeEnv }: SecretKeySettings): boolean {
  return !isLiveKey(secretKey) && apiBase.host !== publicApiBase.host && nodeEnv !== 'production';
}

/** A restricted key may lack the permission for any call. */
export function isRestrictedKey(secretKey: string): boolean {
  return secretKey.startsWith('rk_');
}

/** The prefix of secret and restricted keys contains their mode. */
export function isLiveKey(secretKey: string): boolean {
  return /^(?:sk|rk)_live_/.test(secretKey);
}
