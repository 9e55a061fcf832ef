import { webhookPath } from '#processor/endpoint/endpoint-state.ts';
import { defineCommand } from '../command.ts';
import { examine } from '../doctor/examine.ts';
import { findingText } from '../doctor/finding.ts';
import { checkWebhookUrl } from '../webhook-url.ts';

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'check settings, database, cache, Stripe and webhooks, and say how to fix what is wrong',
  options: {
    url: {
      type: 'string',
      value: 'URL',
      about: `the address of the webhook endpoint; without it, every endpoint with the path ${webhookPath}`,
    },
  },
  details: `It changes nothing, and prints no secret. Each check has a time limit. If one fails, the others continue.
Exit codes: 0 no problem (warnings are allowed), 1 a problem, 2 wrong command line.`,
  run: async (call) => {
    const { url } = call.values;
    const findings = await examine(call, url === undefined ? undefined : checkWebhookUrl(url));
    const count = (wanted: string) => findings.filter(({ state }) => state === wanted).length;
    const [problems, warnings] = [count('problem'), count('warning')];
    const summary = `${problems === 0 ? 'No problems' : `Problems: ${problems}`}. Warnings: ${warnings}.`;
    call.output.result(
      { findings, problems, warnings },
      [...findings.map(findingText), '', summary].join('\n'),
    );
    if (problems > 0) call.output.setExitCode(1);
  },
});
