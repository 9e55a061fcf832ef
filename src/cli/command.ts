import { parsePlainInteger } from '#core/platform/plain-integer.ts';
import type { Config, inspectConfig } from '#runtime/composition/config.ts';
import type { Output } from './output.ts';

/** An invalid command line. Its message is printed with the usage of the command, or with the commands of the group. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly group: string;

  constructor(message: string, group = '') {
    super(message);
    this.group = group;
  }
}

/** An argument without a name, such as the ID of `events show ID`. */
interface Positional {
  /** In capitals, as in the usage. */
  readonly name: string;
  readonly about: string;
}

interface StringOption {
  readonly type: 'string';
  /** The name of the value in the usage, such as TIME. */
  readonly value: string;
  readonly about: string;
  readonly choices?: readonly string[];
  readonly default?: string;
  readonly isRequired?: true;
}

interface BooleanOption {
  readonly type: 'boolean';
  readonly about: string;
}

export type Option = StringOption | BooleanOption;
export type Options = Readonly<Record<string, Option>>;

type Choice<O extends StringOption> = O extends { choices: readonly (infer C)[] } ? C : string;
type ValueOf<O extends Option> = O extends StringOption
  ? O extends { isRequired: true } | { default: string }
    ? Choice<O>
    : Choice<O> | undefined
  : boolean;
type Values<O extends Options> = { readonly [Name in keyof O]: ValueOf<O[Name]> };

/** One run of a command. */
export interface CommandCall<O extends Options = Options> {
  readonly values: Values<O>;
  readonly positionals: readonly string[];
  /**
   * Reads the settings, or throws a ConfigError with every mistake. `unneeded` has values for variables that this
   * command does not need.
   */
  readonly config: (unneeded?: Readonly<Record<string, string>>) => Config;
  /** The settings with every mistake, for a command that also works with invalid settings. */
  readonly inspectConfig: () => ReturnType<typeof inspectConfig>;
  readonly environment: Record<string, string | undefined>;
  readonly output: Output;
  /**
   * Aborted by SIGINT and SIGTERM, which no longer end the process once a command has read this. A second signal ends
   * it at once.
   */
  readonly signal: AbortSignal;
}

interface Declaration<O extends Options> {
  /** The words after `till`, such as `keys create`. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly positionals?: readonly Positional[];
  readonly options?: O;
  /** More lines for `till COMMAND --help`. */
  readonly details?: string;
  /** Resolves when the command has ended. A Failure or an Error becomes one line on standard error, and exit code 1. */
  run(call: CommandCall<O>): Promise<void>;
}

export interface Command extends Declaration<Options> {
  readonly options: Options;
  readonly positionals: readonly Positional[];
}

/** Gives `run` the types of the declared options. */
export function defineCommand<const O extends Options = Record<never, never>>(
  declaration: Declaration<O>,
): Command {
  const { name, summary, details } = declaration;
  return {
    name,
    summary,
    positionals: declaration.positionals ?? [],
    options: declaration.options ?? {},
    ...(details === undefined ? {} : { details }),
    // The parser has checked the values against these options.
    run: (call) => declaration.run(call as CommandCall<O>),
  };
}

/** The value of an option, or a UsageError. */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = parsePlainInteger(text);
  if (value !== undefined && value >= min && value <= max) return value;
  throw new UsageError(`--${option} must be a whole number from ${min} to ${max}.`);
}

/** Options of every command. */
export const commonOptions = {
  json: { type: 'boolean', about: 'print the result as JSON' },
  help: { type: 'boolean', about: 'show this help' },
} as const satisfies Options;
