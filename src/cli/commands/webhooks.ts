import { systemClock } from '#core/platform/clock.ts';
import { stateOf, webhookPath } from '#processor/endpoint/endpoint-state.ts';
import { type Setup, setUpEndpoint } from '#processor/endpoint/set-up-endpoint.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { WebhookEndpoint } from '#processor/port/webhook-endpoint-calls.ts';
import { defineCommand } from '../command.ts';
import type { Output } from '../output.ts';
import { checkWebhookUrl } from '../webhook-url.ts';
import { joinProcessor, withShutdown } from '../with-services.ts';

export const setUpWebhooks = defineCommand({
  name: 'webhooks setup',
  summary: 'create or correct the endpoint at Stripe that sends its events to Till',
  options: {
    url: {
      type: 'string',
      value: 'URL',
      isRequired: true,
      about: `where Stripe reaches Till, such as https://billing.example.com${webhookPath}`,
    },
    replace: {
      type: 'boolean',
      about:
        'create a new endpoint and delete the current one, for another API version or after the secret was lost',
    },
    'dry-run': { type: 'boolean', about: 'say what would happen, and change nothing' },
  },
  details: `The endpoint gets every event type that Till applies, and the API version that Till is written for. Stripe shows
the signing secret only when it creates the endpoint. The command then prints it once, for PROCESSOR_WEBHOOK_SECRET.
You can repeat the command at any time: it never leaves a second endpoint. It needs only PROCESSOR_SECRET_KEY.
Till recovers the events between a --replace and the start with the new secret, as after any outage.`,
  run: async (call) => {
    const { replace: isReplace, 'dry-run': isDryRun } = call.values;
    const url = checkWebhookUrl(call.values.url);
    await withShutdown(call, async (start) => {
      const { processor } = await joinProcessor(start);
      const setup = await setUpEndpoint({ processor, clock: systemClock }, { url, isReplace, isDryRun });
      report(setup, { processor, isDryRun, output: call.output });
      if (!isDryRun) await deleteSuperseded(setup.superseded, processor, call.output);
    });
  },
});

interface Reporting {
  readonly processor: Processor;
  readonly isDryRun: boolean;
  readonly output: Output;
}

function report(setup: Setup, { processor, isDryRun, output }: Reporting): void {
  const { endpoint, action, secret, superseded, foreign } = setup;
  const text = isDryRun ? plannedTexts[action] : doneTexts[action];
  if (secret !== undefined) {
    output.note(`${text} Set PROCESSOR_WEBHOOK_SECRET to its signing secret. It cannot be shown again.`);
  }
  output.result(
    {
      action,
      isDryRun,
      wanted: { events: [...processor.eventTypes], apiVersion: processor.webhookEndpoints.apiVersion },
      endpoint: endpoint === undefined ? null : shown(endpoint),
      secret: secret ?? null,
      superseded: superseded.map(({ id }) => id),
      foreign: foreign.map(({ id }) => id),
    },
    secret ?? text,
  );
  const advice = adviceOn(setup, processor);
  for (const line of advice) output.warn(line);
  if (advice.length > 0) output.setExitCode(1);
}

const doneTexts: Readonly<Record<Setup['action'], string>> = {
  created: 'Created the endpoint.',
  replaced: 'Created a new endpoint in place of the current one.',
  corrected: 'Corrected the endpoint: it is enabled and has the right events.',
  unchanged: 'The endpoint is enabled and has the right events.',
};
const plannedTexts: Readonly<Record<Setup['action'], string>> = {
  created: 'Would create the endpoint, and print its secret.',
  replaced: 'Would create a new endpoint, print its secret, and delete the current one.',
  corrected: 'Would enable the endpoint or correct its events.',
  unchanged: 'The endpoint is enabled and has the right events. Nothing would change.',
};

/** What the operator must still do. */
function adviceOn({ endpoint, action, secret, foreign }: Setup, processor: Processor): readonly string[] {
  const newest = processor.webhookEndpoints.apiVersion;
  const version = endpoint && stateOf(endpoint, processor).version;
  const isNew = action === 'created' || action === 'replaced';
  return [
    ...(version === 'unpinned'
      ? [
          `The endpoint has no API version of its own, and it cannot be set later. Repeat this command with --replace to get ${newest}.`,
        ]
      : []),
    ...(version === 'unknown'
      ? [
          `The API version of the endpoint is ${endpoint?.apiVersion}, which this release does not know, and it cannot be changed. Repeat this command with --replace to get ${newest}.`,
        ]
      : []),
    ...(isNew && endpoint !== undefined && secret === undefined
      ? [
          'Another run of this command created the endpoint at the same time, and shows its secret. If the secret is lost, use --replace.',
        ]
      : []),
    ...foreign.map(
      ({ id }) => `The endpoint ${id} has the same address. Till gets each event twice. Delete it at Stripe.`,
    ),
  ];
}

async function deleteSuperseded(
  superseded: readonly WebhookEndpoint[],
  { webhookEndpoints }: Processor,
  output: Output,
): Promise<void> {
  for (const { id } of superseded) {
    await webhookEndpoints.delete(id);
    output.note(`Deleted the endpoint ${id}, which had the same address.`);
  }
}

function shown({ id, url, isEnabled, apiVersion, events, createdAt }: WebhookEndpoint) {
  return { id, url, isEnabled, apiVersion, events, createdAt };
}
