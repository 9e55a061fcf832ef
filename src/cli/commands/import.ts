import { readFileSync } from 'node:fs';
import { Pace } from '#core/platform/pace.ts';
import type { ImportObserver } from '#operators/import/import.ts';
import { type PlanEntries, PlanEntryError, parsePlanEntries } from '#operators/import/plan-entries.ts';
import { defineCommand, UsageError, wholeNumber } from '../command.ts';
import { lineOf, reportOf, skipLine } from '../import-report.ts';
import type { Output } from '../output.ts';
import { ProgressBar } from '../progress-bar.ts';
import { withServices } from '../with-services.ts';

/**
 * Below the processor's limit of 25 calls a second for one kind of object (in test mode, for the whole account). The
 * running service uses the rest.
 */
const rateDefault = 20;
/** The processor's limit for all calls of an account in live mode. */
const rateMax = 100;
const metadataPrefix = 'metadata.';
/** The exit code if a paying customer would have no access. */
const exitCodeOfException = 3;

export const importAccount = defineCommand({
  name: 'import',
  summary: 'adopt the objects that your Stripe account already has',
  options: {
    'dry-run': { type: 'boolean', about: 'write nothing, and show what an import would do' },
    'external-id-from': {
      type: 'string',
      value: 'metadata.KEY',
      about: "take the customers' external ids from this key of their metadata",
    },
    plans: {
      type: 'string',
      value: 'FILE',
      about: 'set the group, features, name, addOn and repeatable of plans, from a JSON file',
    },
    'plans-template': {
      type: 'boolean',
      about: 'print such a file for the prices of the account, and do nothing else',
    },
    rate: {
      type: 'string',
      value: 'N',
      default: String(rateDefault),
      about: `the most calls to Stripe in a second, 1 to ${rateMax}`,
    },
  },
  details: `Adopts prices as plans, customers, subscriptions, invoices, payments, refunds and disputes, and lists every object
that it leaves out, with the reason. It ends with the customers who pay now, and whether Till calls them entitled: if
one of them is not, the exit code is 3. It writes nothing at Stripe, except the external ids and what --plans
sets. It can be interrupted: the next run continues. Once it has finished, another run adopts only new objects.

FILE maps ids of prices or products to { "group", "features", "addOn", "repeatable", "name" }. Group, features and name
belong to the product. A mistake in it has exit code 2, and then nothing was done. With --json, every line is an object
with a "type": resumed, progress, skipped or finished.`,
  run: async (call) => {
    const { values, output, signal } = call;
    const externalIdFrom = metadataKeyOf(values['external-id-from']);
    const planEntries = values.plans === undefined ? undefined : readPlans(values.plans);
    const pace = new Pace(wholeNumber('rate', values.rate, 1, rateMax));
    const beforeCall = () => pace.turn();
    const isDryRun = values['dry-run'];
    if (values['plans-template']) {
      const template = await withServices(
        call,
        async ({ accountImport }, requireAccount) => {
          await requireAccount({ remembers: false });
          return accountImport.planTemplate();
        },
        { beforeCall },
      );
      output.result(template, JSON.stringify(template, null, 2));
      return;
    }
    const bar = new ProgressBar(output.stderr);
    const result = await withServices(
      call,
      async ({ accountImport }, requireAccount) => {
        await requireAccount({ remembers: false });
        if (planEntries !== undefined) await accountImport.checkEntries(planEntries);
        if (!isDryRun) await requireAccount({ remembers: true });
        return accountImport.run({ isDryRun, externalIdFrom, planEntries, signal }, observe(output, bar));
      },
      { beforeCall },
    )
      .catch((error: unknown) => {
        throw error instanceof PlanEntryError ? new UsageError(`${values.plans}: ${error.message}`) : error;
      })
      .finally(() => bar.end());
    output.result({ type: 'finished', ...result }, reportOf(result));
    const { items, more } = result.access.exceptions;
    if (items.length + more > 0) output.setExitCode(exitCodeOfException);
  },
});

function readPlans(path: string): PlanEntries {
  try {
    return parsePlanEntries(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${path}: ${reason}`);
  }
}

function metadataKeyOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const key = text.startsWith(metadataPrefix) ? text.slice(metadataPrefix.length) : '';
  if (key === '') throw new UsageError('--external-id-from must be metadata.KEY, such as metadata.user_id.');
  return key;
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
      output.result({ type: 'skipped', ...skip }, skipLine(skip));
    },
  };
}
