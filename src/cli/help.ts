import { type Command, commonOptions, type Option, type Options } from './command.ts';

/** The first columns of a table are at most this wide, so that the second columns line up. */
const leftWidthMax = 30;
/** Lines wrap here, so that they fit into a common terminal. */
const lineWidth = 110;

/** The help of all commands, or of one group such as `keys`. */
export function helpOfCommands(commands: readonly Command[], group = ''): string {
  const shown = commands.filter(({ name }) => group === '' || name === group || isWithin(name, group));
  return [
    `Usage: till ${group === '' ? '' : `${group} `}COMMAND`,
    '',
    ...table(shown.map((command) => [nameWithPositionals(command), command.summary])),
    '',
    ...table(optionLines(commonOptions)),
    '',
    `till ${group === '' ? '' : `${group} `}COMMAND --help explains a command and its options. Exit codes: 0 done, 1 failed, 2 wrong`,
    'command line. Commands use the settings, the database and the Stripe key of the service.',
    '',
  ].join('\n');
}

export function helpOf(command: Command): string {
  const { summary, details } = command;
  const more = details === undefined ? [] : [details.trim(), ''];
  return [usageOf(command), `${capitalised(summary)}.`, '', ...more].join('\n');
}

/** The synopsis with the options, printed after a mistake. */
export function usageOf(command: Command): string {
  const arguments_ = command.positionals.map(({ name, about }): Line => [name, about]);
  return [
    `Usage: till ${synopsis(command)}`,
    '',
    ...table([...arguments_, ...optionLines({ ...command.options, ...commonOptions })]),
    '',
  ].join('\n');
}

export function isWithin(name: string, group: string): boolean {
  return name.startsWith(`${group} `);
}

type Line = readonly [left: string, right: string];

function optionLines(options: Options): readonly Line[] {
  return Object.entries(options).map(([name, option]) => [flag(name, option), aboutOf(option)]);
}

function aboutOf(option: Option): string {
  if (option.type === 'boolean') return option.about;
  const { about, choices, default: value } = option;
  return [
    about,
    ...(choices === undefined ? [] : [`one of: ${choices.join(', ')}`]),
    ...(value === undefined ? [] : [`default: ${value}`]),
  ].join('; ');
}

function flag(name: string, option: Option): string {
  const short = name === 'help' ? ', -h' : '';
  return option.type === 'boolean' ? `--${name}${short}` : `--${name} ${option.value}`;
}

function nameWithPositionals({ name, positionals }: Command): string {
  return [name, ...positionals.map((positional) => positional.name)].join(' ');
}

function synopsis(command: Command): string {
  const options = Object.entries(command.options)
    .toSorted(([, a], [, b]) => Number(isRequired(b)) - Number(isRequired(a)))
    .map(([name, option]) => (isRequired(option) ? flag(name, option) : `[${flag(name, option)}]`));
  return [nameWithPositionals(command), ...options].join(' ');
}

function isRequired(option: Option): boolean {
  return option.type === 'string' && option.isRequired === true;
}

function table(lines: readonly Line[]): readonly string[] {
  const width = Math.min(leftWidthMax, Math.max(0, ...lines.map(([left]) => left.length)));
  const indent = ' '.repeat(width + 4);
  return lines.flatMap(([left, right]) => {
    const [first = '', ...more] = wrap(right, lineWidth - indent.length);
    const head =
      left.length > width ? [`  ${left}`, `${indent}${first}`] : [`  ${left.padEnd(width)}  ${first}`];
    return [...head, ...more.map((line) => `${indent}${line}`)];
  });
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
