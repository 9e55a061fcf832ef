import type { Plan, PlanChange } from '@till/client';
import {
  metadataKeyLengthMax,
  metadataKeysMax,
  metadataValueLengthMax,
  ownKeyPrefix,
} from '../../../src/core/model/metadata.ts';
import { featuresMax, isFeature } from '../../../src/core/model/plan-features.ts';

type Metadata = Plan['metadata'];
type MetadataChange = NonNullable<PlanChange['metadata']>;
type PlanFeatures = Plan['features'];

/** As the API accepts it. */
const keyPattern = new RegExp(`^(?!${ownKeyPrefix})[^\\s\\p{C}[\\]]+$`, 'u');

export const featureTypes = ['text', 'number', 'yes or no'] as const;
export type FeatureType = (typeof featureTypes)[number];

/** A name and a value as they are typed. */
export interface Entry {
  readonly name: string;
  readonly value: string;
  /** Only of features. */
  readonly type: FeatureType;
}

export const emptyEntry: Entry = { name: '', value: '', type: 'text' };

export function featureEntries(features: PlanFeatures): readonly Entry[] {
  return Object.entries(features).map(([name, value]) => {
    if (typeof value === 'boolean') return { name, value: value ? 'yes' : 'no', type: 'yes or no' };
    return { name, value: String(value), type: typeof value === 'number' ? 'number' : 'text' };
  });
}

export function metadataEntries(metadata: Metadata): readonly Entry[] {
  return Object.entries(metadata).map(([name, value]) => ({ name, value, type: 'text' }));
}

/** The features that the entries describe, or why they are invalid. An entry without name and value is ignored. */
export function parseFeatures(entries: readonly Entry[]): PlanFeatures | string {
  const filled = entries.filter(isFilled);
  if (filled.length > featuresMax) return `A plan has at most ${featuresMax} features.`;
  const features: Record<string, boolean | number | string> = {};
  for (const { name, value, type } of filled) {
    const parsed = featureValue(value, type);
    if (parsed === undefined) return `The number of the feature “${name}” must be whole.`;
    if (!isFeature(name, parsed)) return `The feature “${name}” has a name or a value that cannot be used.`;
    if (Object.hasOwn(features, name)) return `The feature “${name}” exists twice.`;
    features[name] = parsed;
  }
  return features;
}

/** The metadata that the entries describe, or why they are invalid. */
export function parseMetadata(entries: readonly Entry[]): Metadata | string {
  const filled = entries.filter(isFilled);
  if (filled.length > metadataKeysMax) return `There are at most ${metadataKeysMax} keys.`;
  const metadata: Record<string, string> = {};
  for (const { name, value } of filled) {
    if (name === '' || name.length > metadataKeyLengthMax)
      return `A metadata key has 1 to ${metadataKeyLengthMax} characters.`;
    if (!keyPattern.test(name))
      return `The key “${name}” cannot be used: no spaces, no [ and ], and not ${ownKeyPrefix} at its beginning.`;
    if (value === '' || value.length > metadataValueLengthMax)
      return `The value of “${name}” must have 1 to ${metadataValueLengthMax} characters.`;
    if (Object.hasOwn(metadata, name)) return `The metadata key “${name}” exists twice.`;
    metadata[name] = value;
  }
  return metadata;
}

/** The change that turns `before` into `after`. Null removes a metadata key. */
export function metadataChange(before: Metadata, after: Metadata): MetadataChange {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const set = Object.entries(after).filter(([key, value]) => before[key] !== value);
  return Object.fromEntries([...removed.map((key) => [key, null]), ...set]);
}

function isFilled({ name, value }: Entry): boolean {
  return name !== '' || value !== '';
}

function featureValue(value: string, type: FeatureType): boolean | number | string | undefined {
  if (type === 'yes or no') return value === 'yes';
  if (type === 'text') return value;
  const number = Number(value);
  return value.trim() !== '' && Number.isSafeInteger(number) ? number : undefined;
}
