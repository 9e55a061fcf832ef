import { badParam } from './wire-error.ts';

/** A decoded form value: a string, or a map of names or array positions. A Map, because `__proto__` is a valid name. */
export type FormNode = string | FormMap;
export type FormMap = Map<string, FormNode>;

/** Far more than applications send: 100 items with ten fields each are a thousand. */
const pairsMax = 2_000;
/** The wire API nests parameters four levels deep. Two more levels let an error name the wrong parameter. */
const depthMax = 6;

/** Decodes `a[b][0]=c&d=e`. If a name occurs twice, the last value wins, as it does at the processor. */
export function parseForm(text: string, into: FormMap = new Map()): FormMap {
  if (text === '') return into;
  const pairs = text.split('&');
  if (pairs.length > pairsMax) throw badParam(`A request can have at most ${pairsMax} parameters.`);
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1));
    place(into, pathOf(name), name, value);
  }
  return into;
}

/** The same string for the same parameters in any order. */
export function canonicalForm(node: FormNode): string {
  if (typeof node === 'string') return JSON.stringify(node);
  const names = [...node.keys()].sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalForm(node.get(name) ?? '')}`).join(',')}}`;
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw badParam('Invalid request: the parameters are not valid percent-encoded UTF-8.');
  }
}

function pathOf(name: string): string[] {
  const bracket = name.indexOf('[');
  if (bracket <= 0) return [name];
  const path = [name.slice(0, bracket)];
  let at = bracket;
  while (at < name.length) {
    const end = name.indexOf(']', at);
    if (name[at] !== '[' || end < 0) throw badParam(`Invalid parameter name: ${shorten(name)}`);
    path.push(name.slice(at + 1, end));
    at = end + 1;
  }
  if (path.length > depthMax) throw badParam(`Parameters can be nested at most ${depthMax} levels deep.`);
  return path;
}

function place(root: FormMap, path: readonly string[], name: string, value: string): void {
  let node = root;
  for (const [depth, part] of path.entries()) {
    // `items[]=a&items[]=b` appends: the next position is the name.
    const key = part === '' && depth > 0 ? String(node.size) : part;
    const existing = node.get(key);
    if (depth === path.length - 1) {
      if (existing instanceof Map)
        throw badParam(`Invalid object: ${shorten(name)} is both a value and an object`);
      node.set(key, value);
      return;
    }
    if (typeof existing === 'string')
      throw badParam(`Invalid object: ${shorten(name)} is both a value and an object`);
    const next: FormMap = existing ?? new Map();
    if (existing === undefined) node.set(key, next);
    node = next;
  }
}

/** How many characters of a caller's value an error message repeats. */
const echoLengthMax = 100;

export function shorten(text: string): string {
  return text.length > echoLengthMax ? `${text.slice(0, echoLengthMax)}…` : text;
}
