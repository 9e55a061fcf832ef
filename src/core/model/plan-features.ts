/** The features that subscribers get: a switch, a quantity or a text for each feature. */
export type PlanFeatures = Readonly<Record<string, boolean | number | string>>;

export const noFeatures: PlanFeatures = {};

/** The processor keeps the features in the plan's metadata. With these limits they always fit: see decision 0012. */
export const featuresMax = 50;
export const featureKeyLengthMax = 40;
export const featureTextLengthMax = 100;
/** Enough for a name or an id of the application. */
export const groupLengthMax = 64;

/**
 * No control characters. Quotes and backslashes would double the length of a feature name in JSON. So would characters
 * beyond U+FFFF, if the processor counts UTF-16 units.
 */
export const featureKeyPattern = '^[^\\p{C}"\\\\\\u{10000}-\\u{10FFFF}]+$';
export const featureTextPattern = '^[^\\p{C}]*$';
/** No control characters, and no space at either end, where the processor may remove it. */
export const groupPattern = '^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$';

const featureKey = new RegExp(featureKeyPattern, 'u');
const featureText = new RegExp(featureTextPattern, 'u');
const group = new RegExp(groupPattern, 'u');

/** Whether the API would accept the feature. Features can be edited by hand in the processor's dashboard. */
export function isFeature(key: string, value: unknown): value is boolean | number | string {
  if (!fits(key, featureKey, featureKeyLengthMax)) return false;
  if (typeof value === 'string') return fits(value, featureText, featureTextLengthMax);
  return typeof value === 'boolean' || Number.isSafeInteger(value);
}

export function isGroupName(value: unknown): value is string {
  return typeof value === 'string' && fits(value, group, groupLengthMax);
}

/** Lengths are in code points, as in JSON schemas. */
function fits(text: string, pattern: RegExp, lengthMax: number): boolean {
  return text.length <= 2 * lengthMax && [...text].length <= lengthMax && pattern.test(text);
}
