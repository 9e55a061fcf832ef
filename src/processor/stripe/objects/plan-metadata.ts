import { type Metadata, type MetadataChange, metadataValueLengthMax } from '#core/model/metadata.ts';
import { featuresMax, isFeature, isGroupName, type PlanFeatures } from '#core/model/plan-features.ts';
import { fieldsOf } from '../wire/wire-metadata.ts';
import { isRecord, redactText, type WireObject } from '../wire/wire-object.ts';

/** The metadata keys under which a product carries the plan's group and features: see decision 0012. */
const groupKey = 'till_group';
/** The metadata key under which a price says that its plan is an add-on. */
const addOnKey = 'till_add_on';
const addOnMark = 'true';
/** The metadata key under which a price says whether its plan is repeatable. Every price that Till creates has it. */
const repeatableKey = 'till_repeatable';
const repeatableMarks = { true: 'true', false: 'false' } as const;
/** Two of the longest features fit into one value. */
const featureKeysMax = featuresMax / 2;
const featureKeys = Array.from({ length: featureKeysMax }, (_, index) => `till_features_${index + 1}`);

/** The metadata of the price that a change of a plan changes. */
export interface PriceChange {
  readonly addOn?: boolean | undefined;
  readonly repeatable?: boolean | undefined;
}

/** The metadata of a new product. */
export function newPlanMetadata(
  features: PlanFeatures,
  groupName: string | null,
): Readonly<Record<string, string>> {
  const texts = packFeatures(features).map((text, index) => [featureKeys[index], text]);
  return { ...Object.fromEntries(texts), ...(groupName === null ? {} : { [groupKey]: groupName }) };
}

/** The change of a product's metadata. All metadata keys of features change together, so that no old feature stays. */
export function changedPlanMetadata(
  features: PlanFeatures | undefined,
  groupName: string | null | undefined,
): MetadataChange {
  const texts = features === undefined ? undefined : packFeatures(features);
  return {
    ...(texts && Object.fromEntries(featureKeys.map((key, index) => [key, texts[index] ?? null]))),
    ...(groupName === undefined ? {} : { [groupKey]: groupName }),
  };
}

/** The features of a product. Values that the API would not accept, set by hand in the dashboard, are ignored. */
export function featuresOf(product: WireObject): PlanFeatures {
  const metadata = fieldsOf(product) ?? {};
  const entries = featureKeys
    .flatMap((key) => entriesOf(metadata[key]))
    .flatMap(([key, value]) => (isFeature(key, value) ? [[key, value] as const] : []));
  return Object.fromEntries(entries.slice(0, featuresMax));
}

export function groupNameOf(product: WireObject): string | null {
  const value = fieldsOf(product)?.[groupKey];
  const name = typeof value === 'string' ? redactText(value) : null;
  return isGroupName(name) ? name : null;
}

/** Null if the price does not show its metadata. */
export function addOnOf(price: WireObject): boolean | null {
  const fields = fieldsOf(price);
  return fields && fields[addOnKey] === addOnMark;
}

/** Null if the price does not show its metadata. Till did not create a price without the mark: see decision 0012. */
export function repeatableOf(price: WireObject): boolean | null {
  const fields = fieldsOf(price);
  return fields && fields[repeatableKey] !== repeatableMarks.false;
}

/** The metadata of a new price. */
export function newPriceMetadata({ addOn = false, repeatable = false }: PriceChange): Metadata {
  return { ...(addOn ? { [addOnKey]: addOnMark } : {}), [repeatableKey]: repeatableMark(repeatable) };
}

/** The change of a price's metadata. */
export function changedPriceMetadata({ addOn, repeatable }: PriceChange): MetadataChange {
  return {
    ...(addOn === undefined ? {} : { [addOnKey]: addOn ? addOnMark : null }),
    ...(repeatable === undefined ? {} : { [repeatableKey]: repeatableMark(repeatable) }),
  };
}

/** The entries of this metadata that are marks of Till. */
export function priceMarksOf(metadata: Metadata): Metadata {
  const { [addOnKey]: addOn, [repeatableKey]: repeatable } = metadata;
  return {
    ...(addOn === addOnMark ? { [addOnKey]: addOn } : {}),
    ...(repeatable === repeatableMarks.true || repeatable === repeatableMarks.false
      ? { [repeatableKey]: repeatable }
      : {}),
  };
}

function repeatableMark(repeatable: boolean): string {
  return repeatable ? repeatableMarks.true : repeatableMarks.false;
}

/**
 * JSON objects that together contain all features, each short enough for one metadata value. The order of the features
 * is fixed, because a repeated request must send the same values to the processor.
 */
function packFeatures(features: PlanFeatures): readonly string[] {
  const texts: string[] = [];
  let packed = '';
  for (const [key, value] of Object.entries(features).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const feature = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
    const longer = packed === '' ? feature : `${packed},${feature}`;
    // The braces add two characters.
    const fits = longer.length + 2 <= metadataValueLengthMax;
    if (!fits) texts.push(`{${packed}}`);
    packed = fits ? longer : feature;
  }
  return packed === '' ? texts : [...texts, `{${packed}}`];
}

/** The value may have been edited by hand, or cut. Secrets in it are redacted, as in stored events. */
function entriesOf(text: unknown): readonly [string, unknown][] {
  if (typeof text !== 'string') return [];
  try {
    const features: unknown = JSON.parse(redactText(text));
    return isRecord(features) ? Object.entries(features) : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
