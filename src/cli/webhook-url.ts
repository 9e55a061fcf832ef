import { isSameUrl, webhookPath } from '#processor/endpoint/endpoint-state.ts';
import { UsageError } from './command.ts';

/** Checks `--url`, and returns it unchanged, because the processor stores it unchanged. Throws a UsageError. */
export function checkWebhookUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`--url must be an address such as https://billing.example.com${webhookPath}.`);
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    throw new UsageError('--url must contain no user name, no password and no fragment.');
  if (isSameUrl(text, url.origin))
    throw new UsageError(`--url must contain the path: ${url.origin}${webhookPath}.`);
  // Till does not serve such a path, so this would create a second endpoint that never works.
  if (url.pathname.endsWith('/')) throw new UsageError('--url must not end with a slash.');
  return text;
}
