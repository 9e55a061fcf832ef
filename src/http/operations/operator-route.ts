import type { FailureCode } from '#core/errors.ts';

interface OperatorSchema {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly response: object;
}

/** The options of a route for operators and their tools. It needs no API key. */
export function operatorRoute(schema: OperatorSchema) {
  const failures: readonly FailureCode[] = ['malformed_request'];
  return { config: { failures }, schema: { ...schema, tags: ['operations'], security: [] } };
}
