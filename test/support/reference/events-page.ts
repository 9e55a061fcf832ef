import { eventObjectTypes, eventTypes } from '../../../src/events/event.ts';
import { eventMeanings } from '../../../src/events/event-meanings.ts';
import { code, heading, table } from './table.ts';

/** The path below /api/v1 that reads the object of an event. */
const routes: Readonly<Record<(typeof eventObjectTypes)[number], string>> = {
  customer: 'GET /customers/{id}',
  plan: 'GET /plans/{id}',
  payment: 'GET /payments/{id}',
  refund: 'GET /payments/{id}/refunds',
  subscription: 'GET /subscriptions/{id}',
  invoice: 'GET /invoices/{id}',
  checkout: 'GET /checkouts/{id}',
};

export function eventsPage(): string {
  const sections = eventObjectTypes.map((object) => {
    const types = eventTypes.filter((type) => type.startsWith(`${object}.`));
    return `## ${object[0]?.toUpperCase()}${object.slice(1)}

\`data\` is the ${object} as \`${routes[object]}\` shows it.

${table(
  ['type', 'when'],
  types.map((type) => [code(type), eventMeanings[type]]),
)}
`;
  });
  return `${heading('Event types', 'src/events')}
Every change writes an event, of the type that says most about it. [events.md](../events.md) explains how to read and
follow them, and [webhooks-out.md](../webhooks-out.md) how to receive them. Steps that happen closely together can be
one event, so let \`data.status\` decide what you do, and use the type to select events.

${sections.join('\n')}`;
}
