import { type Scope, scopeMeanings, scopes } from '#core/model/api-key.ts';
import { type Operation, readOperations } from './operations.ts';
import { code, heading, table } from './table.ts';

export function scopesPage(): string {
  const operations = readOperations();
  const sections = scopes.map(
    (scope) => `## ${code(scope)}

${sentence(scope)}

${routes(operations.filter((operation) => operation.scope === scope))}
`,
  );
  return `${heading('Scopes', 'src/operators/keys and openapi.json')}
An API key has one scope or more. Each route needs one; a request without it gets 403 \`forbidden\`, which names it. Every
scope includes \`read\`, and \`admin\` includes all others. Keys from the environment have every scope.

${sections.join('\n')}
## Without a key

${routes(operations.filter((operation) => operation.scope === null))}

\`POST /webhooks/processor\` is for the processor, and checks its signature. The pages at \`/api/docs\` and \`/console\` are
public; the console asks for a key before it shows anything.
`;
}

function sentence(scope: Scope): string {
  return `Allows ${scopeMeanings[scope]}.`;
}

function routes(operations: readonly Operation[]): string {
  return table(
    ['route', 'what it does'],
    operations.map(({ method, path, summary }) => [code(`${method} ${path}`), summary]),
  );
}
