import { errorCatalogue } from '#core/error-catalogue.ts';
import { type Operation, readOperations } from './operations.ts';
import { code, heading, table } from './table.ts';

/** Codes that more operations can return belong to no operation in particular. */
const operationsMax = 4;

export function errorsPage(): string {
  const operations = readOperations();
  const rows = Object.entries(errorCatalogue)
    .toSorted(([a, { status }], [b, other]) => status - other.status || a.localeCompare(b))
    .map(([name, { status, when, advice }]) => [
      code(name),
      String(status),
      `${when}${routesOf(operations, name)}`,
      advice,
    ]);
  return `${heading('Errors', 'src/core/error-catalogue.ts')}
Every error is a problem as [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) defines it. Programs decide by \`code\`,
which never changes its meaning. \`detail\` is for people: it says what went wrong in this request, and what to do next.
\`requestId\` is also in the \`x-request-id\` header and in the log.

After a 502, 503 or 504, and if no response arrives, the outcome of a write can be unknown. Repeat the request with the
same idempotency key: Till completes it, or returns what it has created, and nothing happens twice.

${table(['code', 'status', 'when', 'what to do'], rows)}
`;
}

function routesOf(operations: readonly Operation[], name: string): string {
  const routes = operations.filter(({ failures }) => failures.includes(name));
  if (routes.length === 0 || routes.length > operationsMax) return '';
  return ` (${routes.map(({ method, path }) => code(`${method} ${path.replace('/api/v1', '')}`)).join(', ')})`;
}

/** The client's list of codes, as a type. */
export function clientErrorCodes(): string {
  const codes = Object.keys(errorCatalogue).map((name) => `\n  | '${name}'`);
  return `// Written by \`npm run reference\` from src/core/error-catalogue.ts. Don't edit it here.

/** Every code of Till's errors. A code never changes its meaning. A later release of Till can add some. */
export type ErrorCode =${codes.join('')};
`;
}
