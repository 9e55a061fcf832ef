import type { ResyncProgress } from '#operators/resync/resync.ts';
import type { Services } from '#runtime/composition/compose-services.ts';
import { defineCommand, UsageError } from '../command.ts';
import type { Output } from '../output.ts';
import { ProgressBar } from '../progress-bar.ts';
import { withServices } from '../with-services.ts';

export const resync = defineCommand({
  name: 'resync',
  summary: 'find missed events, or compare objects with Stripe and correct them',
  options: {
    all: {
      type: 'boolean',
      about:
        'compare every object, recover missing ones, and correct the totals of lists and of the overview',
    },
    customer: {
      type: 'string',
      value: 'ID',
      about: 'compare one customer and all its objects; recover the customer if it is missing here',
    },
  },
  details: `Without an option, it reads Stripe's list of events, starting where the last run stopped. A running service
does this every five minutes. Objects that could not be compared are listed, and the exit code is 1.`,
  run: (call) => {
    const { all, customer } = call.values;
    if (all && customer !== undefined) throw new UsageError('Choose --all or --customer, not both.');
    const bar = new ProgressBar(call.output.stderr);
    return withServices(call, async (services, requireAccount) => {
      await requireAccount();
      if (all || customer !== undefined) await compare(services, customer, { output: call.output, bar });
      else await readMissedEvents(services, call);
    }).finally(() => bar.end());
  },
});

async function readMissedEvents(
  { recovery }: Services,
  { output, signal }: { readonly output: Output; readonly signal: AbortSignal },
): Promise<void> {
  const isDone = await recovery.run(signal);
  output.result(
    { isDone },
    isDone
      ? "Read Stripe's list of events. Missed events are now in the queue."
      : 'Another process is reading the list of events. Run this command again later.',
  );
}

/** Compares the objects of one customer. Without a customer, compares all objects. */
async function compare(
  { resync: comparison, overviewFollower }: Services,
  customer: string | undefined,
  { output, bar }: { readonly output: Output; readonly bar: ProgressBar },
): Promise<void> {
  const resources = new Map<string, ResyncProgress>();
  const show = (progress: ResyncProgress) => {
    resources.set(progress.resource, progress);
    if (!output.isJson) bar.show(progress);
  };
  const skipped =
    customer === undefined
      ? await comparison.all(show)
      : await comparison.ofCustomer(customer.toLowerCase(), show);
  bar.end();
  const totals = customer === undefined ? await comparison.correctTotals() : [];
  const overviewNumbers = customer === undefined ? await overviewFollower.correct() : 0;
  for (const { resource, id, reason } of skipped) output.note(`Not compared: ${resource} ${id}: ${reason}`);
  if (skipped.length > 0) output.setExitCode(1);
  const text = [
    ...totals.map(
      ({ resource, correction }) =>
        `Corrected the total of ${resource} by ${correction > 0 ? '+' : ''}${correction}.`,
    ),
    ...(overviewNumbers > 0 ? [`Corrected ${overviewNumbers} numbers of the overview.`] : []),
    ...(skipped.length > 0 ? [] : ['Compared all objects that Stripe lists.']),
  ];
  output.result(
    {
      resources: [...resources.values()].map(({ resource, compared, corrected }) => ({
        resource,
        compared,
        corrected,
      })),
      totals,
      overviewNumbers,
      skipped,
    },
    text.length === 0 ? undefined : text.join('\n'),
  );
}
