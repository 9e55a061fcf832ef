import { eventObjectTypes, eventTypes } from '#engine/events/event.ts';
import { eventMeanings } from '#engine/events/event-meanings.ts';
import { code, heading, table } from './table.ts';

/** The path below /api/v1 that reads the object of an event. */
const routes: Readonly<Partial<Record<(typeof eventObjectTypes)[number], string>>> = {
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
    // Events about a meter report what a customer has used of it.
    const group = object === 'meter' ? 'usage' : object;
    const types = eventTypes.filter((type) => type.startsWith(`${group}.`));
    const route = routes[object];
    const data = route === undefined ? '' : `\n\`data\` is the ${object} as \`${route}\` shows it.\n`;
    return `## ${group[0]?.toUpperCase()}${group.slice(1)}
${data}
${table(
  ['type', 'when'],
  types.map((type) => [code(type), eventMeanings[type]]),
)}
`;
  });
  return `${heading('Event types', 'src/engine/events')}
Every change writes an event, of the type that says most about it. [events.md](../events.md) explains how to read and
follow them, and [webhooks-out.md](../webhooks-out.md) how to receive them. Steps that happen closely together can be
one event, so let \`data.status\` decide what you do, and use the type to select events.

${sections.join('\n')}`;
}
