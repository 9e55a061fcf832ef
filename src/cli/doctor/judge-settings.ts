import { shortKeyMistakes } from '#http/access/api-key.ts';
import type { Config } from '#runtime/composition/config.ts';
import { type Finding, Findings } from './finding.ts';

interface KeyWarning {
  readonly message: string;
  readonly action: string;
}

/** The mistakes in the settings, and valid settings that deserve a warning. */
export function judgeSettings(
  { config, mistakes }: { readonly config: Config; readonly mistakes: readonly string[] },
  keyWarnings: readonly KeyWarning[],
): readonly Finding[] {
  const findings = new Findings('settings');
  const { production, apiKeys, events, processor } = config;
  for (const mistake of mistakes) findings.problem(`${mistake}.`, fixOf(mistake));
  // In production they are mistakes.
  for (const mistake of production ? [] : shortKeyMistakes(apiKeys, 'API_KEYS'))
    findings.warning(`${mistake}.`, 'Use longer API keys, such as those from "till keys create".');
  for (const { message, action } of keyWarnings) findings.warning(`${capitalised(message)}.`, action);
  if (processor.webhookSecrets.some((secret) => !secret.startsWith('whsec_')))
    findings.warning(
      'A value of PROCESSOR_WEBHOOK_SECRET does not begin with whsec_.',
      'Set it to the signing secret of the webhook endpoint, not to its id or to an API key.',
    );
  if (production && events.secretKeys.length === 0)
    findings.warning(
      'EVENT_SECRET_KEYS is not set: the secrets of event endpoints are stored unencrypted.',
      'Set it to a random key of at least 32 characters, if applications register event endpoints.',
    );
  if (production && events.allowPrivate)
    findings.warning(
      'EVENT_ENDPOINTS_ALLOW_PRIVATE is true: an API key with the scope operate can make Till call private addresses.',
      'Unset it, unless your event endpoints are in a private network.',
    );
  if (findings.all.length === 0) findings.ok('The settings are valid.');
  return findings.all;
}

function fixOf(mistake: string): string {
  return mistake.startsWith('PROCESSOR_WEBHOOK_SECRET is not set')
    ? 'Set it to the secret that "till webhooks setup" prints, or that Stripe shows for the endpoint.'
    : 'Correct this variable: the service does not start with it.';
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
