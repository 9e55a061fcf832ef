/** Puts what each reference names in its place. No schema contains itself. */
export function withoutReferences<T extends object>(document: T): T {
  const resolve = (_key: string, value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || !('$ref' in value)) return value;
    const target = String(value.$ref)
      .split('/')
      .slice(1)
      .reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), document);
    return JSON.parse(JSON.stringify(target), resolve);
  };
  return JSON.parse(JSON.stringify(document), resolve);
}

/** The OpenAPI document as a service serves it, formatted as it is committed. */
export async function readOpenapi(url: string): Promise<string> {
  const response = await fetch(`${url}/api/docs/openapi.json`);
  return `${JSON.stringify(await response.json(), null, 2)}\n`;
}
