import { parseArgs } from 'node:util';

/** With three, the median ignores one bad round. */
const roundsDefault = 3;

const countNames = ['rounds', 'payments', 'usage-events'] as const;
type CountName = (typeof countNames)[number];

export const usage = `npm run bench [-- options]

  --quick            about nine minutes: 250,000 rows instead of five million, and shorter runs
  --only NAME,NAME   only these rows of the table, and those measured with them
  --rounds N         the number of rounds, ${roundsDefault} by default
  --payments N       so many payments in the large lists, for example 20000000
  --usage-events N   so many stored usage events in usage_growth, for example 100000000
  --profile          profile the CPU of the service, and print the functions with the most time
  --help             show this help

A run of everything, with the usual numbers and without profiles, writes bench/results.json and the table in
bench/README.md, unless something else uses the machine.
`;

export interface BenchArguments {
  readonly quick: boolean;
  readonly only: readonly string[] | undefined;
  readonly rounds: number;
  /** Undefined: as many as there are rows in the other lists. */
  readonly payments: number | undefined;
  /** Undefined: as many as usual. */
  readonly usageEvents: number | undefined;
  readonly profile: boolean;
  /** Only a complete run with the default number of rounds is published. Profiling slows the service down. */
  readonly isComplete: boolean;
  readonly help: boolean;
}

/** The parsed arguments, or a message that says what is wrong with them. */
export function readArguments(args: readonly string[], known: readonly string[]): BenchArguments | string {
  let values: ReturnType<typeof parse>['values'];
  try {
    values = parse(args).values;
  } catch (error) {
    // Node's message names the argument.
    return error instanceof Error ? error.message : String(error);
  }
  const { quick, help, profile } = values;
  const only = values.only?.split(',');
  const unknown = only?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0) return `There is no ${unknown.join(', ')}; there are ${known.join(', ')}.`;
  const wrong = countNames.find((name) => values[name] !== undefined && !isCount(Number(values[name])));
  if (wrong !== undefined) return `--${wrong} takes a whole number from 1.`;
  const countOf = (name: CountName) => (values[name] === undefined ? undefined : Number(values[name]));
  const [payments, usageEvents] = [countOf('payments'), countOf('usage-events')];
  const rounds = countOf('rounds') ?? roundsDefault;
  const isComplete = only === undefined && countNames.every((name) => values[name] === undefined) && !profile;
  return { quick, help, profile, only, rounds, payments, usageEvents, isComplete };
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      only: { type: 'string' },
      rounds: { type: 'string' },
      payments: { type: 'string' },
      'usage-events': { type: 'string' },
    },
  });
}
