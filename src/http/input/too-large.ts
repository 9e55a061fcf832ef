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

/** Adds the mistakes of a value, with their paths within the value. */
type Check = (value: unknown, found: ErrorObject[]) => void;

/**
 * Compiles a check for values that are so large that checking their content would cost much more than reading them: a
 * list with too many items, an object with too many fields, a text of more than twice the length allowed. Ajv would
 * examine all of it, and describe every mistake. The check returns at most `mistakesMax`.
 */
export function sizeCheck(schema: Sized): (value: unknown) => readonly ErrorObject[] {
  const check = checkOf(schema);
  return (value) => {
    const found: ErrorObject[] = [];
    check?.(value, found);
    return found.slice(0, mistakesMax);
  };
}

/** Undefined if the schema has no bounds. */
function checkOf(schema: Sized): Check | undefined {
  const text = checkOfText(schema);
  const list = checkOfList(schema);
  const fields = checkOfFields(schema);
  if (text === undefined && list === undefined && fields === undefined) return undefined;
  return (value, found) => {
    if (typeof value === 'string') text?.(value, found);
    else if (Array.isArray(value)) list?.(value, found);
    else if (typeof value === 'object' && value !== null)
      fields?.(value as Readonly<Record<string, unknown>>, found);
  };
}

function checkOfText({ maxLength: limit }: Sized) {
  if (limit === undefined) return undefined;
  return (text: string, found: ErrorObject[]) => {
    // A character has at most two units.
    if (text.length > 2 * limit) found.push(excess('maxLength', limit, 'characters'));
  };
}

function checkOfList({ items, maxItems: limit }: Sized) {
  if (items === undefined || limit === undefined) return undefined;
  const check = checkOf(items);
  return (list: readonly unknown[], found: ErrorObject[]) => {
    if (list.length > limit) found.push(excess('maxItems', limit, 'items'));
    else if (check !== undefined)
      for (let index = 0; index < list.length; index += 1) checkPart(check, list[index], index, found);
  };
}

function checkOfFields({ properties, additionalProperties, maxProperties: limit = Infinity }: Sized) {
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined;
  if (others === undefined && properties === undefined && limit === Infinity) return undefined;
  const checkOther = others && checkOf(others);
  const checks = Object.entries(properties ?? {}).flatMap(([name, schema]) => {
    const check = checkOf(schema);
    return check === undefined ? [] : [{ name, check }];
  });
  const knownMax = Object.keys(properties ?? {}).length + mistakesMax;
  return (fields: Readonly<Record<string, unknown>>, found: ErrorObject[]) => {
    const names = Object.keys(fields);
    if (names.length > limit) found.push(excess('maxProperties', limit, 'properties'));
    else if (others !== undefined) {
      if (checkOther !== undefined)
        for (const name of names) checkPart(checkOther, fields[name], name, found);
    } else if (properties !== undefined && names.length > knownMax)
      found.push(...unknownFields(names, properties));
    else for (const { name, check } of checks) checkPart(check, fields[name], name, found);
  };
}

/** Paths are built only for mistakes: nearly every value has none, and a batch has thousands of fields. */
function checkPart(check: Check, value: unknown, name: string | number, found: ErrorObject[]): void {
  const before = found.length;
  if (before >= mistakesMax) return;
  check(value, found);
  for (let index = before; index < found.length; index += 1) {
    const mistake = found[index];
    if (mistake !== undefined) mistake.instancePath = `/${name}${mistake.instancePath}`;
  }
}

function unknownFields(names: readonly string[], properties: object): readonly ErrorObject[] {
  return names
    .filter((name) => !Object.hasOwn(properties, name))
    .slice(0, mistakesMax)
    .map((name) => mistakeOf('additionalProperties', { additionalProperty: name }));
}

function excess(keyword: string, limit: number, what: string): ErrorObject {
  return mistakeOf(keyword, { limit }, `must NOT have more than ${limit} ${what}`);
}

function mistakeOf(keyword: string, params: object, message?: string): ErrorObject {
  return { instancePath: '', schemaPath: '', keyword, params, ...(message === undefined ? {} : { message }) };
}
