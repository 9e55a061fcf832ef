import assert from 'node:assert/strict';
import { codesOf, type Documented } from '../support/openapi-document.ts';

/** More would bury the reason. */
const shownMax = 20;

/** One thing that an operation documents: a status of success, or the code of a refusal. */
export interface Case {
  readonly operation: Documented;
  /** The code of a problem. The status of a success in its place. */
  readonly code: string;
}

/** What a run has seen of what the document promises. */
export class Coverage {
  readonly cases: readonly Case[];
  readonly #seen = new Map<string, number>();
  readonly #statuses = new Map<number, number>();

  constructor(operations: readonly Documented[]) {
    this.cases = operations.flatMap((operation) =>
      casesOf(operation).map((code): Case => ({ operation, code })),
    );
  }

  note(operation: Documented, status: number, text: string): void {
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    const code = status < 400 ? String(status) : String(JSON.parse(text).code);
    const name = nameOf({ operation, code });
    this.#seen.set(name, (this.#seen.get(name) ?? 0) + 1);
  }

  /** Fails unless each case was seen. */
  assertWhole(): void {
    const missing = this.cases.map(nameOf).filter((name) => !this.#seen.has(name));
    assert.deepEqual(missing.slice(0, shownMax), [], `${missing.length} were never seen`);
  }

  describe(): string {
    const share = (cases: readonly Case[]) =>
      `${cases.filter((one) => this.#seen.has(nameOf(one))).length} of ${cases.length}`;
    const successes = this.cases.filter(({ code }) => /^\d+$/.test(code));
    const refusals = this.cases.filter((one) => !successes.includes(one));
    const sent = [...this.#statuses.values()].reduce((sum, count) => sum + count, 0);
    const statuses = [...this.#statuses]
      .toSorted(([a], [b]) => a - b)
      .map(([status, count]) => `${count} × ${status}`);
    return (
      `coverage: ${share(successes)} successes and ${share(refusals)} refusals of ` +
      `${new Set(this.cases.map(({ operation }) => operation.name)).size} operations, by ${sent} requests: ${statuses.join(', ')}`
    );
  }
}

export function nameOf({ operation, code }: Case): string {
  return `${operation.name} ${code}`;
}

/** Server errors are not among them: they need a defect or an outage. */
function casesOf(operation: Documented): readonly string[] {
  return Object.keys(operation.responses).flatMap((status) => {
    if (Number(status) < 400) return status;
    return Number(status) < 500 ? codesOf(operation, status) : [];
  });
}
