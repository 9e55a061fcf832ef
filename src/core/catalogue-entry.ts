import type { ProblemFields } from './problem-fields.ts';

/** An expected failure, as the documentation describes it. */
export interface CatalogueEntry {
  /** The HTTP status. */
  readonly status: number;
  /** The kind of problem, in words. */
  readonly title: string;
  /** The condition, as a sentence. */
  readonly when: string;
  /** What the caller should do. */
  readonly advice: string;
  /** The detail of one such problem, for the OpenAPI document. */
  readonly example: string;
  readonly exampleFields?: ProblemFields;
}
