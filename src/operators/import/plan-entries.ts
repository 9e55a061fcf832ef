import {
  featureKeyLengthMax,
  featuresMax,
  featureTextLengthMax,
  groupLengthMax,
  isFeature,
  isGroupName,
  type PlanFeatures,
} from '#core/model/plan-features.ts';

/** An operator's settings for a price or a product. An absent field keeps its value. */
export interface PlanEntry {
  readonly name?: string;
  readonly features?: PlanFeatures;
  /** Null: in no group. */
  readonly group?: string | null;
  readonly addOn?: boolean;
  readonly repeatable?: boolean;
}

/** The entries by the processor's ids of their prices or products. */
export type PlanEntries = ReadonlyMap<string, PlanEntry>;

/** The entries are wrong. Nothing was done. */
export class PlanEntryError extends Error {
  override readonly name = 'PlanEntryError';

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
  }
}

/** The same limit as in the API. */
const nameLengthMax = 256;
const fields = ['name', 'group', 'features', 'addOn', 'repeatable'];

/** Reads the JSON of `--plans`: an object of entries, by id. Throws an error that names every mistake. */
export function parsePlanEntries(text: string): PlanEntries {
  const value = parseJson(text);
  if (!isRecord(value))
    throw new PlanEntryError(['It must be a JSON object with the ids of prices or products.']);
  const mistakes: string[] = [];
  for (const [id, entry] of Object.entries(value))
    mistakes.push(...mistakesOf(entry).map((mistake) => `${id}: ${mistake}`));
  if (mistakes.length > 0) throw new PlanEntryError(mistakes);
  // Every value was checked.
  return new Map(Object.entries(value as Readonly<Record<string, PlanEntry>>));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new PlanEntryError([`It is not JSON: ${error.message}`]);
    throw error;
  }
}

function mistakesOf(entry: unknown): readonly string[] {
  if (!isRecord(entry)) return [`must be an object with ${fields.join(', ')}.`];
  const { name, group, features, addOn, repeatable } = entry;
  const mistakes = Object.keys(entry)
    .filter((field) => !fields.includes(field))
    .map((field) => `${JSON.stringify(field)} is unknown. Known are ${fields.join(', ')}.`);
  if (name !== undefined && !isPlanName(name))
    mistakes.push(`name must be a text of 1 to ${nameLengthMax} characters.`);
  if (group !== undefined && group !== null && !isGroupName(group))
    mistakes.push(
      `group must be null or a text of 1 to ${groupLengthMax} characters, without control characters and without ` +
        'spaces at its ends.',
    );
  if (features !== undefined) mistakes.push(...mistakesOfFeatures(features));
  if (addOn !== undefined && typeof addOn !== 'boolean') mistakes.push('addOn must be true or false.');
  if (repeatable !== undefined && typeof repeatable !== 'boolean')
    mistakes.push('repeatable must be true or false.');
  if (addOn === true && typeof group === 'string')
    mistakes.push('an add-on is in no group: leave out group.');
  return mistakes;
}

/** Whether an entry can have this name. The processor allows longer ones. */
export function isPlanName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && [...value].length <= nameLengthMax;
}

function mistakesOfFeatures(features: unknown): readonly string[] {
  if (!isRecord(features)) return ['features must be an object.'];
  const entries = Object.entries(features);
  const tooMany = entries.length > featuresMax;
  return [
    ...(tooMany ? [`features has ${entries.length} features, and the limit is ${featuresMax}.`] : []),
    ...entries
      .filter(([key, value]) => !isFeature(key, value))
      .map(
        ([key]) =>
          `the feature ${JSON.stringify(key)} is invalid. A feature is true, false, an integer, or a text of at most ` +
          `${featureTextLengthMax} characters. Its name has 1 to ${featureKeyLengthMax} characters, without quotes, ` +
          'backslashes and characters beyond U+FFFF. There are no control characters.',
      ),
  ];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
