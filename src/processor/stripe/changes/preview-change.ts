import type { AsOf } from '../../../model/facts.ts';
import type { ChangePreview, PreviewLine, SubscriptionChangeCalls } from '../../port/subscription-changes.ts';
import { hasMoreLines, mapLine, readLines } from '../objects/invoice-lines.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missing } from '../wire/attempt.ts';
import { WireObject } from '../wire/wire-object.ts';
import { changeParams } from './change-now.ts';

type Preview = SubscriptionChangeCalls['preview'];

/** A preview whose lines are still to be read, unless the invoice shows all of them. */
interface Previewed extends Omit<ChangePreview, 'lines'> {
  readonly id: string;
  readonly shown: readonly PreviewLine[] | null;
}

export async function previewChange(
  context: AdapterContext,
  change: Parameters<Preview>[0],
): ReturnType<Preview> {
  const { stripe, call } = context;
  const attempt = await call.read('invoices.preview', {
    send: (options) =>
      stripe.invoices.createPreview(
        {
          subscription: change.processorSubscriptionId,
          subscription_details: 'resumes' in change ? { resume_at: 'now' } : changeParams(change),
        },
        options,
      ),
    take: (response, asOf) => done<Previewed | null>(mapPreview(response, asOf)),
    refused: (refusal) => (refusal.code === 'invoice_upcoming_none' ? done(null) : missing(refusal)),
  });
  if (attempt.outcome !== 'done') return attempt;
  if (attempt.value === null) return done(null);
  const { id, shown, ...preview } = attempt.value;
  const lines = shown ?? (await readLines(context, id)).map(mapLine);
  return done({ ...preview, lines });
}

function mapPreview(value: unknown, asOf: AsOf): Previewed {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const details = invoice.optional('object', 'parent')?.optional('object', 'subscription_details');
  return {
    id: invoice.id(),
    amountDue: invoice.wholeNumber('amount_due'),
    prorationDate: details?.optional('moment', 'subscription_proration_date') ?? null,
    now: invoice.createdAt(asOf.latest),
    shown: hasMoreLines(invoice) ? null : invoice.list('lines').map(mapLine),
  };
}
