import { Pace } from '../../platform/pace.ts';
import { parsePlainInteger } from '../../platform/plain-integer.ts';
import type { ImportObserver, ImportResult } from '../../sync/import/import.ts';
import type { ImportKind, KindCounts, Skip } from '../../sync/import/import-progress.ts';
import { defineCommand } from '../command.ts';
import type { Output } from '../output.ts';
import { ProgressBar } from '../progress-bar.ts';
import { UsageError } from '../usage-error.ts';
import { withServices } from '../with-services.ts';

/**
 * Below the processor's limit of 25 calls a second for one kind of object (in test mode, for the whole account). The
 * running service uses the rest.
 */
const rateDefault = 20;
/** The processor's limit for all calls of an account in live mode. */
const rateMax = 100;
const metadataPrefix = 'metadata.';

export const importAccount = defineCommand({
  name: 'import',
  summary: "adopt the objects that the processor's account has already",
  options: {
    'dry-run': { type: 'boolean', about: 'write nothing, and show what an import would do' },
    'external-id-from': {
      type: 'string',
      value: 'metadata.KEY',
      about: "take the customers' external ids from this key of their metadata",
    },
    rate: {
      type: 'string',
      value: 'N',
      default: String(rateDefault),
      about: `the most calls to the processor in a second, 1 to ${rateMax}`,
    },
  },
  details: `Adopts prices as plans, customers, subscriptions, invoices, payments, refunds and disputes, and lists every object
that it leaves out, with the reason. It writes nothing at the processor, except the external ids. It can be interrupted:
the next run continues. Once it has finished, another run adopts only new objects. With --json,
every line is an object with a "type": resumed, progress, skipped or finished.`,
  run: async (call) => {
    const { values, output, signal } = call;
    const externalIdFrom = metadataKeyOf(values['external-id-from']);
    const pace = new Pace(rateOf(values.rate));
    const isDryRun = values['dry-run'];
    const bar = new ProgressBar(output.stderr);
    const result = await withServices(
      call,
      async ({ accountImport }, requireAccount) => {
        await requireAccount({ remembers: !isDryRun });
        return accountImport.run({ isDryRun, externalIdFrom, signal }, observe(output, bar));
      },
      { beforeCall: () => pace.turn() },
    ).finally(() => bar.end());
    output.result({ type: 'finished', ...result }, tableOf(result));
  },
});

function metadataKeyOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const key = text.startsWith(metadataPrefix) ? text.slice(metadataPrefix.length) : '';
  if (key === '') throw new UsageError('--external-id-from must be metadata.KEY, such as metadata.user_id.');
  return key;
}

function rateOf(text: string): number {
  const rate = parsePlainInteger(text) ?? 0;
  if (rate < 1 || rate > rateMax) throw new UsageError(`--rate must be a whole number from 1 to ${rateMax}.`);
  return rate;
}

/** Prints progress to standard error, and skipped objects to standard output, as they occur. */
function observe(output: Output, bar: ProgressBar): ImportObserver {
  return {
    onResumed: (startedAt, counts) => {
      if (output.isJson) output.result({ type: 'resumed', startedAt, counts });
      else output.note(`Continuing the import that began at ${startedAt.toISOString()} and was interrupted.`);
    },
    onReplaced: (startedAt) =>
      output.warn(
        `The import that began at ${startedAt.toISOString()} was interrupted, and had another --external-id-from. Starting over.`,
      ),
    onProgress: (counts) => {
      if (output.isJson) output.result({ type: 'progress', ...counts });
      else bar.showLine(counts.kind, lineOf(counts));
    },
    onSkipped: (skip) => {
      bar.end();
      output.row({ type: 'skipped', ...skip }, skipLine(skip));
    },
  };
}

const names: Readonly<Record<ImportKind, string>> = {
  plan: 'plans',
  customer: 'customers',
  external_id: 'external ids',
  subscription: 'subscriptions',
  invoice: 'invoices',
  payment: 'payments',
  refund: 'refunds',
  dispute: 'disputes',
};

const columns = ['found', 'adopted', 'updated', 'unchanged', 'skipped'] as const;
const nameWidth = 15;
const columnWidth = 11;

function lineOf(counts: KindCounts): string {
  const parts = columns.map((column) => `${counts[column]} ${column}`);
  return `${names[counts.kind].padEnd(nameWidth)}${parts.join(', ')}`;
}

function skipLine({ kind, id, reason }: Skip): string {
  return kind === 'external_id'
    ? `Skipped the external id of customer ${id}: ${reason}`
    : `Skipped ${kind} ${id}: ${reason}`;
}

function tableOf({ counts, isDryRun }: ImportResult): string {
  const line = (name: string, cells: readonly (string | number)[]) =>
    name.padEnd(nameWidth) + cells.map((cell) => String(cell).padStart(columnWidth)).join('');
  return [
    isDryRun ? 'This is what an import would do. Nothing was written.' : 'The import is finished.',
    line('', columns),
    ...counts.map((kind) =>
      line(
        names[kind.kind],
        columns.map((column) => kind[column]),
      ),
    ),
  ].join('\n');
}
