import type { DestinationStream } from 'pino';
import type { LogFormat } from './logger.ts';

type Fields = Readonly<Record<string, unknown>>;

const escapes = { dim: 2, red: 31, green: 32, yellow: 33, cyan: 36, magenta: 35 };
type Colour = keyof typeof escapes;

const levelColours: Readonly<Record<string, Colour>> = {
  trace: 'dim',
  debug: 'cyan',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'magenta',
};
const levelWidth = 5;
/** Values that need no quotes. */
const plainValue = /^[\w.:/@%+,~-]+$/;
/** Characters that a terminal could execute as a command. Some texts come from requests. */
const controlCharacters = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

interface LogChoice {
  /** Undefined: `pretty` on a terminal outside production. */
  readonly logFormat: LogFormat | undefined;
  readonly production: boolean;
}

/** Lines for people or JSON for programs: as the settings say, or else by whether the destination is a terminal. */
export function formatLog(
  destination: DestinationStream,
  { logFormat, production }: LogChoice,
  terminal: { readonly isTTY?: boolean; readonly environment: Readonly<Record<string, string | undefined>> },
): DestinationStream {
  const isTerminal = terminal.isTTY === true;
  const format = logFormat ?? (isTerminal && !production ? 'pretty' : 'json');
  if (format === 'json') return destination;
  const { NO_COLOR: noColour = '', TERM } = terminal.environment;
  // See https://no-color.org.
  return new PrettyLog(destination, isTerminal && noColour === '' && TERM !== 'dumb');
}

/**
 * Turns the JSON lines of the logger into lines for people: time, level, message, fields, and errors with their stack.
 */
class PrettyLog implements DestinationStream {
  readonly #destination: DestinationStream;
  readonly #paint: (colour: Colour, text: string) => string;

  constructor(destination: DestinationStream, withColours: boolean) {
    this.#destination = destination;
    this.#paint = withColours
      ? (colour, text) => `\u001b[${escapes[colour]}m${text}\u001b[0m`
      : (_colour, text) => text;
  }

  write(line: string): void {
    this.#destination.write(this.#format(JSON.parse(line) as Fields));
  }

  #format({ time, level, service: _, msg, err, ...fields }: Fields): string {
    const name = String(level);
    const head = [
      this.#paint('dim', String(time).slice('2026-11-16T'.length, -1)),
      this.#paint(levelColours[name] ?? 'dim', name.toUpperCase().padEnd(levelWidth)),
      printable(String(msg ?? ''), '\\n'),
      ...Object.entries(fields).map(([key, value]) => this.#paint('dim', `${key}=${valueText(value)}`)),
    ].join(' ');
    return `${head}\n${errorLines(err, '')}`;
  }
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && plainValue.test(value)) return value;
  return printable(JSON.stringify(value), '\\n');
}

/** The stack, which begins with the message, and then each cause. */
function errorLines(error: unknown, prefix: string): string {
  if (typeof error !== 'object' || error === null) return '';
  const { type, message, code, stack, cause } = error as Fields;
  const text = typeof stack === 'string' ? stack : `${type ?? 'Error'}: ${message}`;
  const first = `${prefix}${printable(text, '\n      ')}`;
  const withCode = typeof code === 'string' ? first.replace(/(?=\n|$)/, ` (${code})`) : first;
  return `    ${withCode}\n${errorLines(cause, 'caused by ')}`;
}

function printable(text: string, lineBreak: string): string {
  return text
    .replace(
      controlCharacters,
      (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
    )
    .replaceAll(/\n\s*/g, lineBreak);
}
