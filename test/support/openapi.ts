/** Puts what each reference names in its place: the same object wherever it is named. No schema contains itself. */
export function withoutReferences<T extends object>(document: T): T {
  const resolved = new Map<string, unknown>();
  const resolve = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(resolve);
    if (!('$ref' in value)) {
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, resolve(inner)]));
    }
    const name = String(value.$ref);
    if (!resolved.has(name)) {
      const steps = name.split('/').slice(1);
      resolved.set(
        name,
        resolve(steps.reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), document)),
      );
    }
    return resolved.get(name);
  };
  // The document has the shape that it had.
  return resolve(document) as T;
}

/** The OpenAPI document as a service serves it, formatted as it is committed. */
export async function readOpenapi(url: string): Promise<string> {
  const response = await fetch(`${url}/api/docs/openapi.json`);
  return `${format(await response.json(), 0)}\n`;
}

const lineLength = 120;

/** JSON with one value per line, except for lists and objects that fit on a line: indentation was half of the file. */
function format(value: unknown, depth: number, name = ''): string {
  const line = name + onOneLine(value);
  if (typeof value !== 'object' || value === null || depth + line.length <= lineLength) return line;
  const inner = depth + 1;
  const parts = Array.isArray(value)
    ? value.map((item) => format(item, inner))
    : Object.entries(value).map(([key, item]) => format(item, inner, `${JSON.stringify(key)}: `));
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const lines = parts.map((part) => `${' '.repeat(inner)}${part}`).join(',\n');
  return `${name}${open}\n${lines}\n${' '.repeat(depth)}${close}`;
}

/** On one line, with the spaces that make it readable. */
function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${onOneLine(item)}`);
  return `{${entries.join(', ')}}`;
}
