import { type FailureCode, failureTitles } from '../../../src/errors.ts';
import { failureAdvice } from '../../../src/http/failures/failure-advice.ts';
import { failureStatus } from '../../../src/http/failures/problem.ts';
import { type Operation, readOperations } from './operations.ts';
import { code, heading, table } from './table.ts';

/** Codes that more operations can answer belong to no operation in particular. */
const operationsMax = 4;

export function errorsPage(): string {
  const operations = readOperations();
  const codes = (Object.keys(failureTitles) as FailureCode[]).toSorted(
    (a, b) => failureStatus[a] - failureStatus[b] || a.localeCompare(b),
  );
  const rows = codes.map((name) => [
    code(name),
    String(failureStatus[name]),
    `${failureAdvice[name].when}${routesOf(operations, name)}`,
    failureAdvice[name].advice,
  ]);
  return `${heading('Errors', 'src/errors.ts and src/http/failures')}
Every error is a problem as [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) defines it. Programs decide by \`code\`,
which never changes its meaning. \`detail\` is for people: it says what went wrong in this request, and what to do next.
\`requestId\` is also in the \`x-request-id\` header and in the log.

After a 502, 503 or 504, and if no response arrives, the outcome of a write can be unknown. Repeat the request with the
same idempotency key: Till completes it, or returns what it has created, and nothing happens twice.

${table(['code', 'status', 'when', 'what to do'], rows)}
`;
}

function routesOf(operations: readonly Operation[], name: FailureCode): string {
  const routes = operations.filter(({ failures }) => failures.includes(name));
  if (routes.length === 0 || routes.length > operationsMax) return '';
  return ` (${routes.map(({ method, path }) => code(`${method} ${path.replace('/api/v1', '')}`)).join(', ')})`;
}
