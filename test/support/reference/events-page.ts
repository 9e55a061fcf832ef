import { eventTypes } from '#features/features.ts';
import { code, heading, table } from './table.ts';

export function eventsPage(): string {
  const sections = eventTypes.map(({ objectType, shownBy, meanings }) => {
    // Events about a meter report what a customer has used of it.
    const group = objectType === 'meter' ? 'usage' : objectType;
    const data = shownBy === undefined ? '' : `\n\`data\` is the ${objectType} as \`${shownBy}\` shows it.\n`;
    return `## ${group[0]?.toUpperCase()}${group.slice(1)}
${data}
${table(
  ['type', 'when'],
  Object.entries(meanings).map(([type, meaning]) => [code(type), meaning]),
)}
`;
  });
  return `${heading('Event types', 'src/features')}
Every change writes an event, of the type that says most about it. [events.md](../events.md) explains how to read and
follow them, and [webhooks-out.md](../webhooks-out.md) how to receive them. Steps that happen closely together can be
one event, so let \`data.status\` decide what you do, and use the type to select events.

${sections.join('\n')}`;
}
