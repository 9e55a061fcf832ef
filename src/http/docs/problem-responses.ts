import { errorCatalogue } from '#core/error-catalogue.ts';
import type { FailureCode } from '#core/errors.ts';
import { ProblemSchema, problemContentType, problemExample } from '../failures/problem.ts';
import type { OpenapiDocument } from './components.ts';

/**
 * Adds to each operation a response for each status of its failures. The document contains every example once, and
 * every response that several operations share: inlined, they would be two thirds of it.
 */
export function addProblemResponses<T extends OpenapiDocument>(
  document: T,
  failuresOf: (operationId: string) => readonly FailureCode[],
): T {
  const problems = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, responses }) =>
      [...Map.groupBy(failuresOf(operationId), (code) => errorCatalogue[code].status)].map(
        ([status, codes]) => ({ responses, status, codes }),
      ),
    );
  const shared: Record<string, object> = {};
  for (const [name, same] of Map.groupBy(problems, ({ codes }) => codes.join('.')))
    for (const { responses, status, codes } of same) {
      const response = problemResponse(codes);
      if (same.length > 1) shared[name] = response;
      responses[status] = same.length > 1 ? { $ref: `#/components/responses/${name}` } : response;
    }
  const examples = [...new Set(problems.flatMap(({ codes }) => codes))].map((code) => [
    code,
    { value: problemExample(code) },
  ]);
  return {
    ...document,
    components: {
      ...document.components,
      schemas: { ...document.components.schemas, Problem: ProblemSchema },
      responses: shared,
      examples: Object.fromEntries(examples),
    },
  };
}

function problemResponse(codes: readonly FailureCode[]) {
  const examples = codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]);
  const content = {
    schema: { $ref: '#/components/schemas/Problem' },
    examples: Object.fromEntries(examples),
  };
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    content: { [problemContentType]: content },
  };
}
