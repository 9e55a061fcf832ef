import type { AccessReport, Listed } from '#operators/import/audit.ts';
import { type CensusProduct, listedMax } from '#operators/import/census.ts';
import type { ImportResult } from '#operators/import/import.ts';
import type { KindCounts, Skip } from '#operators/import/import-progress.ts';

const columns = ['found', 'adopted', 'updated', 'unchanged', 'skipped'] as const;
const nameWidth = 15;
const columnWidth = 11;

/** The progress of one list. */
export function lineOf(counts: KindCounts): string {
  const parts = columns.map((column) => `${counts[column]} ${column}`);
  return `${pluralOf(counts.kind).padEnd(nameWidth)}${parts.join(', ')}`;
}

function pluralOf(kind: string): string {
  return `${kind.replaceAll('_', ' ')}s`;
}

export function skipLine({ kind, id, reason }: Skip): string {
  return kind === 'external_id'
    ? `Skipped the external id of customer ${id}: ${reason}`
    : `Skipped ${kind} ${id}: ${reason}`;
}

/** The result of an import as text. It ends with the most important part: who pays, and whether they have access. */
export function reportOf({ counts, isDryRun, settings, access }: ImportResult): string {
  const line = (name: string, cells: readonly (string | number)[]) =>
    name.padEnd(nameWidth) + cells.map((cell) => String(cell).padStart(columnWidth)).join('');
  const { products, prices } = settings;
  const written = isDryRun ? 'would be written' : 'were written';
  return [
    isDryRun ? 'This is what an import would do. Nothing was written.' : 'The import is finished.',
    line('', columns),
    ...counts.map((kind) =>
      line(
        pluralOf(kind.kind),
        columns.map((column) => kind[column]),
      ),
    ),
    ...(products + prices > 0
      ? [`Settings of ${numberOf(products, 'product')} and ${numberOf(prices, 'price')} ${written}.`]
      : []),
    '',
    ...adviceOf(access),
    ...accessOf(access, isDryRun),
  ].join('\n');
}

/** Groups and features: settings that an operator may want to make with --plans. */
function adviceOf({ unusedFeatures, featurelessCount, alternatives }: AccessReport): readonly string[] {
  const { pricesOfOneProduct, disjointProducts } = alternatives;
  return [
    ...listed({ items: pricesOfOneProduct, more: 0 }, 'products', (product) => {
      const prices = numberOf(product.priceCount, 'price');
      return `Product ${nameOf(product)} has ${prices} and no group, so a customer can subscribe to several of them.`;
    }),
    ...(disjointProducts.length > 0
      ? [
          `No customer has two of these products, and they have no group: ${disjointProducts.map(nameOf).join(', ')}.`,
        ]
      : []),
    ...(pricesOfOneProduct.length + disjointProducts.length > 0
      ? ['If they are alternatives, set a group with --plans.']
      : []),
    ...(unusedFeatures.length > 0 ? [`Features that no customer has: ${unusedFeatures.join(', ')}.`] : []),
    ...(featurelessCount > 0
      ? [
          `Entitled customers without any feature: ${featurelessCount}. Set the features of plans with --plans.`,
        ]
      : []),
  ];
}

function accessOf(access: AccessReport, isDryRun: boolean): readonly string[] {
  const { payingCount, entitledCount, exceptions, severalSubscriptions, withoutExternalId, pastDueCount } =
    access;
  const exceptionCount = exceptions.items.length + exceptions.more;
  const pay = payingCount === 1 ? 'pays' : 'pay';
  return [
    ...listed(
      severalSubscriptions,
      'customers with several live subscriptions',
      ({ liveCount, ...customer }) => `Customer ${idOf(customer)} has ${liveCount} live subscriptions.`,
    ),
    ...listed(
      withoutExternalId,
      'customers who pay and did not get their external ids',
      ({ reason, ...customer }) =>
        `Customer ${idOf(customer)} pays and did not get its external id: ${reason}`,
    ),
    ...listed(
      exceptions,
      'customers who pay and are not entitled',
      ({ reason, ...customer }) => `Customer ${idOf(customer)} pays and is not entitled: ${reason}`,
    ),
    ...(pastDueCount > 0
      ? [
          `Customers who are past due: ${pastDueCount}. Their access ends ENTITLEMENT_GRACE_DAYS after what they paid.`,
        ]
      : []),
    `${numberOf(payingCount, 'customer')} ${pay} now: a subscription is active or in its trial. ` +
      `Till ${isDryRun ? 'would call' : 'calls'} ${entitledCount} of them entitled.`,
    ...(exceptionCount > 0 ? [`Not entitled, for the reasons above: ${exceptionCount}.`] : []),
  ];
}

function nameOf({ processorProductId, name }: CensusProduct): string {
  return `${processorProductId} (${name})`;
}

function idOf({
  processorCustomerId,
  email,
}: {
  processorCustomerId: string | null;
  email: string | null;
}): string {
  return `${processorCustomerId ?? '(unknown)'} ${email ?? '(no e-mail address)'}`;
}

/** Every list has a limit, so that the report of a large account stays readable. */
function listed<T>({ items, more }: Listed<T>, noun: string, textOf: (item: T) => string): readonly string[] {
  const shown = items.slice(0, listedMax).map(textOf);
  const left = more + items.length - shown.length;
  return left > 0 ? [...shown, `${left} more ${noun}.`] : shown;
}

function numberOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
