/** Replaces a secret inside a longer text. */
const replacement = '[struck out]';

/**
 * Names of fields whose value is a secret: `client_secret`, `confirmation_secret`, an endpoint's or an ephemeral key's
 * `secret`.
 */
export const secretName = /(?:^|_)secret$/;

/**
 * Secrets within a text. The URL of a 3-D Secure page carries the payment intent's client secret as a query parameter,
 * and the processor's error messages quote parts of API keys. The minimum lengths keep a product name such as
 * `top_secret_box`: ids and secrets of the processor are longer than words.
 */
const secretText = new RegExp(
  [
    String.raw`(?<=client_secret=)[^&\s"]+`,
    String.raw`\b[a-z]{2,8}_(?:(?:test|live)_)?[A-Za-z0-9]{12,}_secret_[A-Za-z0-9]{12,}`,
    String.raw`\bwhsec_[A-Za-z0-9+/=]+`,
    String.raw`\b(?:sk|rk|ek)_(?:live|test)_[A-Za-z0-9*]+`,
  ].join('|'),
  'g',
);

/** Every secret contains one of these. Most texts contain none, and are not searched further. */
const secretHint = /secret|whsec_|_(?:live|test)_/;

/** The text with every secret in it redacted. */
export function redactText(text: string): string {
  return secretHint.test(text) ? text.replaceAll(secretText, replacement) : text;
}
