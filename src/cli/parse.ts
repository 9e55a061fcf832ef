import { parseArgs } from 'node:util';
import { type Command, commonOptions, type Option, UsageError } from './command.ts';
import { isWithin } from './help.ts';

/** The parsed command line. */
export type Request =
  | { readonly kind: 'version' }
  /** The help of all commands, or of one group. */
  | { readonly kind: 'list'; readonly group: string }
  | { readonly kind: 'help'; readonly command: Command }
  | { readonly kind: 'run'; readonly command: Command; readonly args: readonly string[] };

/** Finds the command, which comes before its options, or throws a UsageError. */
export function findCommand(args: readonly string[], commands: readonly Command[]): Request {
  if (args[0] === 'help') return findCommand([...args.slice(1), '--help'], commands);
  if (args.length === 1 && args[0] === '--version') return { kind: 'version' };
  const end = args.findIndex((arg) => arg.startsWith('-'));
  const words = args.slice(0, end === -1 ? args.length : end);
  const isHelp = args.length === 0 || args.some((arg) => arg === '--help' || arg === '-h');
  const [command] = commands
    .filter(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
    .toSorted((a, b) => b.name.length - a.name.length);
  if (command !== undefined)
    return isHelp
      ? { kind: 'help', command }
      : { kind: 'run', command, args: args.slice(command.name.split(' ').length) };
  const typed = words.join(' ');
  const isGroup = typed === '' || commands.some(({ name }) => isWithin(name, typed));
  if (isGroup && isHelp) return { kind: 'list', group: typed };
  throw isGroup
    ? new UsageError('A command comes first.', typed)
    : new UsageError(`Unknown command "${typed}".`);
}

interface Arguments {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
  readonly isJson: boolean;
}

/** Checks the arguments of a command, or throws a UsageError. */
export function parseArguments(command: Command, args: readonly string[]): Arguments {
  const { values, positionals, tokens } = parseStrictly(command, args);
  const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  const twice = given.find((name, index) => given.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`--${twice} is given twice.`);
  // An empty argument comes from an unset shell variable.
  const missing = command.positionals.find((_, index) => (positionals[index] ?? '') === '');
  if (missing !== undefined) throw new UsageError(`"till ${command.name}" needs ${missing.name}.`);
  const extra = positionals[command.positionals.length];
  if (extra !== undefined) throw new UsageError(`Unexpected argument "${extra}".`);
  for (const [name, option] of Object.entries(command.options)) checkValue(name, option, values[name]);
  const { json, help: _, ...own } = values;
  return { values: own, positionals, isJson: json === true };
}

function parseStrictly(command: Command, args: readonly string[]) {
  const declared = Object.entries<Option>({ ...command.options, ...commonOptions });
  const options = declared.map(
    ([name, option]) => [name, option.type === 'boolean' ? { ...option, default: false } : option] as const,
  );
  try {
    return parseArgs({
      args: [...args],
      options: Object.fromEntries(options),
      allowPositionals: true,
      tokens: true,
    });
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause));
  }
}

function checkValue(name: string, option: Option, value: string | boolean | undefined): void {
  if (option.type === 'boolean' || (value === undefined && option.isRequired !== true)) return;
  if (value === undefined || value === '')
    throw new UsageError(`--${name} needs a value: --${name} ${option.value}.`);
  if (option.choices?.includes(String(value)) === false)
    throw new UsageError(`--${name} must be one of ${option.choices.join(', ')}, not "${value}".`);
}
