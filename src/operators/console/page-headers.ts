import { pagePolicy } from '#http/security-headers.ts';

/** The headers of every page of the console. */
export const pageHeaders = {
  'content-security-policy': pagePolicy,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
};
