import { parseArgs } from 'node:util';
import { type Command, commonOptions, type Option, type Options, UsageError } from './command.ts';
import { isWithin } from './help.ts';

/** What the command line asks for. */
export type Request =
  | { readonly kind: 'version' }
  /** The help of all commands, or of one group. */
  | { readonly kind: 'list'; readonly group: string }
  | { readonly kind: 'help'; readonly command: Command }
  | ({ readonly kind: 'run'; readonly command: Command } & Arguments);

interface Arguments {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
  readonly isJson: boolean;
}

/** A mistake, with the command or the group whose usage explains it. */
export class CommandLineError extends UsageError {
  readonly subject: Command | string;

  constructor(message: string, subject: Command | string) {
    super(message);
    this.subject = subject;
  }
}

/** With more changes than this per three characters, it is another word, not a typing error. */
const changesPerThreeCharsMax = 1;

const commonFlags = ['--json', '--help', '-h'];

/** Finds the command and checks its arguments, or throws a CommandLineError. */
export function parseCommandLine(args: readonly string[], commands: readonly Command[]): Request {
  if (args.length === 1 && args[0] === '--version') return { kind: 'version' };
  const [first, ...others] = args;
  if (first === 'help') return parseCommandLine([...others, '--help'], commands);
  const words = leadingWords(args);
  const isHelp = args.some((arg) => arg === '--help' || arg === '-h');
  const command = commands
    .filter(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
  if (command === undefined) return withoutCommand(args, words, { commands, isHelp });
  if (isHelp) return { kind: 'help', command };
  const rest = withoutWords(args, command.name.split(' ').length);
  refuseUnknownVerb(command, rest, commands);
  return { kind: 'run', command, ...parseArguments(command, rest) };
}

/** The words at the beginning, before the first option that a command declares. */
function leadingWords(args: readonly string[]): readonly string[] {
  const end = args.findIndex((arg) => arg.startsWith('-') && !commonFlags.includes(arg));
  return args.slice(0, end === -1 ? args.length : end).filter((arg) => !arg.startsWith('-'));
}

function withoutWords(args: readonly string[], count: number): readonly string[] {
  let left = count;
  return args.filter((arg) => {
    if (left === 0 || arg.startsWith('-')) return true;
    left -= 1;
    return false;
  });
}

function withoutCommand(
  args: readonly string[],
  words: readonly string[],
  { commands, isHelp }: { readonly commands: readonly Command[]; readonly isHelp: boolean },
): Request {
  const typed = words.join(' ');
  const isGroup = commands.some(({ name }) => isWithin(name, typed));
  if (typed === '' || isGroup) {
    if (isHelp || args.length === 0) return { kind: 'list', group: typed };
    const unknown = args.find((arg) => arg.startsWith('-') && !commonFlags.includes(arg));
    if (unknown !== undefined && typed === '')
      throw new CommandLineError(`Unknown option ${unknown}. A command comes first.`, '');
    throw new CommandLineError(`"till${typed === '' ? '' : ` ${typed}`}" needs a command.`, typed);
  }
  throw unknownCommand(typed, commands);
}

function unknownCommand(typed: string, commands: readonly Command[]): CommandLineError {
  const suggestion = nearest(
    typed,
    commands.map(({ name }) => name),
  );
  const advice =
    suggestion === undefined ? 'Use one of the commands below.' : `Did you mean "till ${suggestion}"?`;
  const [group = ''] = typed.split(' ');
  const subject = commands.some(({ name }) => isWithin(name, group)) ? group : '';
  return new CommandLineError(`Unknown command "${typed}". ${advice}`, subject);
}

/** `events shwo` is a mistyped command, not an argument of `events`. */
function refuseUnknownVerb(command: Command, rest: readonly string[], commands: readonly Command[]): void {
  const [verb] = rest;
  if (verb === undefined || verb.startsWith('-') || command.positionals.length > 0) return;
  const verbs = commands.filter(({ name }) => isWithin(name, command.name));
  if (verbs.length > 0) throw unknownCommand(`${command.name} ${verb}`, verbs);
}

function parseArguments(command: Command, args: readonly string[]): Arguments {
  const declared: Options = { ...command.options, ...commonOptions };
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(Object.entries(declared).map(([name, { type }]) => [name, { type }])),
  });
  const given = new Map<string, string | true>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const option = declared[name];
    if (option === undefined || rawName !== `--${name}`) throw unknownOption(rawName, command, declared);
    if (given.has(name)) throw new CommandLineError(`--${name} is given twice.`, command);
    given.set(name, readOption(command, name, option, { value, isInline: inlineValue === true }));
  }
  checkPositionals(command, positionals);
  return { values: completeValues(command, given), positionals, isJson: given.has('json') };
}

function unknownOption(rawName: string, command: Command, declared: Options): CommandLineError {
  const suggestion = nearest(
    rawName,
    Object.keys(declared).map((name) => `--${name}`),
  );
  const advice = suggestion === undefined ? '' : ` Did you mean ${suggestion}?`;
  return new CommandLineError(`Unknown option ${rawName}.${advice}`, command);
}

function readOption(
  command: Command,
  name: string,
  option: Option,
  { value, isInline }: { readonly value: string | undefined; readonly isInline: boolean },
): string | true {
  if (option.type === 'boolean') {
    if (value !== undefined) throw new CommandLineError(`--${name} takes no value.`, command);
    return true;
  }
  // In `--state --json` the value is missing. A value that begins with a dash is written as `--state=-x`.
  if (value === undefined || value === '' || (!isInline && value.startsWith('-')))
    throw new CommandLineError(`--${name} needs a value: --${name} ${option.value}.`, command);
  const { choices } = option;
  if (choices?.includes(value) === false)
    throw new CommandLineError(`--${name} must be one of ${choices.join(', ')}, not "${value}".`, command);
  return value;
}

function checkPositionals(command: Command, given: readonly string[]): void {
  // An empty argument comes from an unset shell variable.
  const missing = command.positionals.find((_, index) => (given[index] ?? '') === '');
  if (missing !== undefined)
    throw new CommandLineError(`"till ${command.name}" needs ${missing.name}.`, command);
  const extra = given[command.positionals.length];
  if (extra !== undefined) throw new CommandLineError(`Unexpected argument "${extra}".`, command);
}

function completeValues(command: Command, given: ReadonlyMap<string, string | true>): Arguments['values'] {
  return Object.fromEntries(
    Object.entries(command.options).map(([name, option]) => {
      if (option.type === 'boolean') return [name, given.has(name)];
      const value = given.get(name) ?? option.default;
      if (value === undefined && option.isRequired === true)
        throw new CommandLineError(`--${name} is missing: --${name} ${option.value}.`, command);
      return [name, value];
    }),
  );
}

/** The candidate that `word` probably means. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, changes: changesBetween(word, candidate) }))
    .sort((a, b) => a.changes - b.changes);
  const [best] = ranked;
  const changesMax = Math.max(1, Math.ceil(word.length / 3) * changesPerThreeCharsMax);
  if (best !== undefined && best.changes <= changesMax) return best.candidate;
  return word.length >= 3 ? candidates.find((candidate) => candidate.startsWith(word)) : undefined;
}

/** The Levenshtein distance: how many characters must be added, removed or replaced. */
function changesBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [rowIndex, left] of [...from].entries()) {
    const next = [rowIndex + 1];
    for (const [index, right] of [...to].entries()) {
      const replaced = (row[index] ?? 0) + (left === right ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
