/**
 * The values of a statement that is put together from parts. A part adds its values, and may then be left out of the
 * statement. So only the values that the final text names are sent, and the text and the values always match.
 */
export class Parameters {
  readonly #values: unknown[];

  /** The values of `$1`, `$2` and so on, which parts can name without adding them. */
  constructor(values: readonly unknown[] = []) {
    this.#values = [...values];
  }

  /** Adds a value, and returns the SQL of its parameter, such as `$3`. */
  readonly add = (value: unknown): string => `$${this.#values.push(value)}`;

  /** The statement with the values that its text names, numbered from 1 on. */
  statement(text: string): Statement {
    const named: number[] = [];
    const numbered = text.replace(/\$(\d+)/g, (_, digits: string) => {
      const index = Number(digits) - 1;
      if (!(index in this.#values)) throw new Error(`the statement names $${digits}, which has no value`);
      if (!named.includes(index)) named.push(index);
      return `$${named.indexOf(index) + 1}`;
    });
    return { text: numbered, values: named.map((index) => this.#values[index]) };
  }
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}
