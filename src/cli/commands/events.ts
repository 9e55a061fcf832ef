import { type WebhookEvent, webhookEventStates } from '#core/model/webhook-event.ts';
import { defineCommand, wholeNumber } from '../command.ts';
import { withServices } from '../with-services.ts';

/** About as many as fit on a screen. */
const pageLimit = 50;
const id = { name: 'ID', about: 'the id of the event, such as evt_1Abc' };

export const listEvents = defineCommand({
  name: 'events',
  summary: 'list webhook events, the newest first',
  options: {
    state: { type: 'string', value: 'STATE', choices: webhookEventStates, about: 'only in this state' },
    type: { type: 'string', value: 'TYPE', about: 'only of this type, such as invoice.paid' },
    object: { type: 'string', value: 'ID', about: 'only of the object with this Stripe id' },
    page: {
      type: 'string',
      value: 'N',
      default: '1',
      about: `the page number; a page has ${pageLimit} events`,
    },
  },
  run: async (call) => {
    const { pageMax } = await import('#http/docs/api-schema.ts');
    const { state, type, object: objectId } = call.values;
    const page = wholeNumber('page', call.values.page, 1, pageMax);
    return withServices(call, async ({ webhookEvents }) => {
      const list = await webhookEvents.list({ state, type, objectId }, { page, limit: pageLimit });
      const { data, total, totalCapped } = list;
      const text = [...data.map(eventLine), `${total}${totalCapped ? ' or more' : ''} in total`];
      call.output.result({ data, page, total, totalCapped }, text.join('\n'));
    });
  },
});

export const showEvent = defineCommand({
  name: 'events show',
  summary: 'show a webhook event with its payload',
  positionals: [id],
  run: (call) =>
    withServices(call, async ({ webhookEvents }) => {
      const event = await webhookEvents.read(call.positionals[0] ?? '');
      const payload: unknown = JSON.parse(event.payload);
      const shown = { ...event, payload };
      call.output.result(shown, JSON.stringify(shown, null, 2));
    }),
});

export const replayEvent = defineCommand({
  name: 'events replay',
  summary: 'process a webhook event again',
  positionals: [id],
  run: (call) =>
    withServices(call, async ({ webhookEvents }) => {
      const event = await webhookEvents.replay(call.positionals[0] ?? '');
      call.output.result(event, eventLine(event));
    }),
});

function eventLine(event: WebhookEvent): string {
  const { createdAt, id: eventId, type, objectId, state, attempts, lastError } = event;
  return [
    createdAt.toISOString(),
    state.padEnd(9),
    eventId,
    type,
    objectId ?? '-',
    `${attempts}×`,
    ...(lastError === null ? [] : [lastError]),
  ].join('  ');
}
