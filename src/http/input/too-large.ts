import type { ErrorObject } from 'ajv';
import { mistakesMax } from '../load/limits.ts';

/** The parts of a schema that bound the size of a value. */
interface Sized {
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, Sized>>;
  readonly additionalProperties?: Sized | boolean;
  readonly items?: Sized;
}

/**
 * What is so large that a check of its content would cost much more than reading it: a list with too many items, an object
 * with too many fields, a text of more than twice its length. The library walks through all of it, and describes every
 * mistake. Returns at most `mistakesMax`.
 */
export function tooLarge(schema: Sized, value: unknown): readonly ErrorObject[] {
  const found: ErrorObject[] = [];
  visit(schema, value, '', found);
  return found;
}

function visit(schema: Sized, value: unknown, path: string, found: ErrorObject[]): void {
  if (found.length >= mistakesMax) return;
  if (typeof value === 'string') visitText(schema, value, path, found);
  else if (Array.isArray(value)) visitList(schema, value, path, found);
  else if (typeof value === 'object' && value !== null)
    visitFields(schema, value as Readonly<Record<string, unknown>>, path, found);
}

function visitText({ maxLength: limit }: Sized, text: string, path: string, found: ErrorObject[]): void {
  if (limit === undefined) return;
  // A character has at most two units.
  if (text.length > 2 * limit) found.push(excess(path, 'maxLength', limit, 'characters'));
}

function visitList(
  { items, maxItems: limit }: Sized,
  list: readonly unknown[],
  path: string,
  found: ErrorObject[],
) {
  if (items === undefined || limit === undefined) return;
  if (list.length > limit) found.push(excess(path, 'maxItems', limit, 'items'));
  else for (const [index, item] of list.entries()) visit(items, item, `${path}/${index}`, found);
}

function visitFields(
  { properties, additionalProperties, maxProperties: limit }: Sized,
  fields: Readonly<Record<string, unknown>>,
  path: string,
  found: ErrorObject[],
): void {
  const names = Object.keys(fields);
  if (limit !== undefined && names.length > limit)
    found.push(excess(path, 'maxProperties', limit, 'properties'));
  else if (typeof additionalProperties === 'object')
    for (const name of names) visit(additionalProperties, fields[name], `${path}/${name}`, found);
  else if (properties !== undefined) {
    const unknown = names.length > Object.keys(properties).length + mistakesMax;
    if (unknown) found.push(...unknownFields(names, properties, path));
    else
      for (const [name, field] of Object.entries(properties))
        visit(field, fields[name], `${path}/${name}`, found);
  }
}

function unknownFields(names: readonly string[], properties: object, path: string): readonly ErrorObject[] {
  return names
    .filter((name) => !Object.hasOwn(properties, name))
    .slice(0, mistakesMax)
    .map((name) => mistake(path, 'additionalProperties', { additionalProperty: name }));
}

function excess(path: string, keyword: string, limit: number, what: string): ErrorObject {
  return mistake(path, keyword, { limit }, `must NOT have more than ${limit} ${what}`);
}

function mistake(instancePath: string, keyword: string, params: object, message?: string): ErrorObject {
  return { instancePath, schemaPath: '', keyword, params, ...(message === undefined ? {} : { message }) };
}
