import { readFileSync } from 'node:fs';
import { withoutReferences } from '../openapi.ts';

/** An operation of the API, as openapi.json describes it. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly operationId: string;
  /** Whether it can send its list as a file. */
  readonly isExport: boolean;
  /** Null if it needs no API key. */
  readonly scope: string | null;
  /** The codes of its errors. */
  readonly failures: readonly string[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
}

interface DocumentedOperation {
  readonly summary: string;
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
}

interface Content {
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** A test compares the file with the running service, so it says what the service does. */
export function readOperations(): readonly Operation[] {
  const text = readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8');
  const document: Document = JSON.parse(text);
  return Object.entries(withoutReferences(document).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary, operationId, security, responses }]) => ({
      method: method.toUpperCase(),
      path,
      summary,
      operationId,
      isExport: responses['200']?.content?.['text/csv'] !== undefined,
      scope: security[0]?.['apiKey']?.[0] ?? null,
      failures: Object.values(responses).flatMap(({ content = {} }) =>
        Object.keys(content['application/problem+json']?.examples ?? {}),
      ),
    })),
  );
}
