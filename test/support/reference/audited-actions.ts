import { readOperations } from './operations.ts';

/** The operations that the audit log can contain, for the choices of the console: every write, and every export. */
export function auditedActions(): string {
  const audited = readOperations().filter(
    ({ method, scope, isExport }) => isExport || (method !== 'GET' && scope !== null && scope !== 'read'),
  );
  const names = audited.map(({ operationId }) => operationId).sort();
  return `// Written by npm run reference.

/** The operations that the audit log can contain. */
export const auditedActions = [
${names.map((name) => `  '${name}',`).join('\n')}
] as const;
`;
}
