/** The OpenAPI document as a service serves it, formatted as it is committed. */
export async function readOpenapi(url: string): Promise<string> {
  const response = await fetch(`${url}/api/docs/openapi.json`);
  return `${JSON.stringify(await response.json(), null, 2)}\n`;
}
