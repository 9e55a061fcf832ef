/** The result of a check, and how to fix it. No text contains a secret. */
export interface Finding {
  readonly check: 'settings' | 'database' | 'cache' | 'processor' | 'webhooks';
  readonly state: 'ok' | 'warning' | 'problem';
  readonly text: string;
  /** Null if there is nothing to fix. */
  readonly fix: string | null;
}

/** Collects the findings of one check. */
export class Findings {
  readonly all: Finding[] = [];
  readonly #check: Finding['check'];

  constructor(check: Finding['check']) {
    this.#check = check;
  }

  ok(text: string): void {
    this.all.push({ check: this.#check, state: 'ok', text, fix: null });
  }

  warning(text: string, fix: string): void {
    this.all.push({ check: this.#check, state: 'warning', text, fix });
  }

  problem(text: string, fix: string): void {
    this.all.push({ check: this.#check, state: 'problem', text, fix });
  }
}

/** For people: a line for each finding, and one for its fix. */
export function findingText({ check, state, text, fix }: Finding): string {
  const line = `${state.padEnd(7)}  ${check.padEnd(9)}  ${text}`;
  return fix === null ? line : `${line}\n${' '.repeat(20)}→ ${fix}`;
}
