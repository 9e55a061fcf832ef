export interface WelcomeFacts {
  readonly url: string;
  readonly database: string;
  readonly cache: string;
  readonly processor: string;
  readonly servesApi: boolean;
  readonly hasConsole: boolean;
  /** Undefined if the operator configured keys. */
  readonly generatedKey: { readonly path: string; readonly newKey: string | undefined } | undefined;
}

/** The summary for a person at a terminal. */
export function welcome(facts: WelcomeFacts): string {
  const lines = [
    '',
    `  Till is running at ${facts.url}`,
    '',
    `  database   ${facts.database}`,
    `  cache      ${facts.cache}`,
    `  processor  ${facts.processor}`,
  ];
  if (facts.servesApi && facts.hasConsole) lines.push(`  console    ${facts.url}/console`);
  if (facts.servesApi) lines.push(`  docs       ${facts.url}/api/docs`, ...keyLines(facts));
  lines.push('', '  Try it:', `  ${curlLine(facts)}`, '', '  Press Ctrl-C to stop.', '', '');
  return lines.join('\n');
}

/** A command to paste. It reads the API key from its file, so that the key stays out of the shell's history. */
function curlLine({ url, servesApi, generatedKey }: WelcomeFacts): string {
  if (!servesApi || generatedKey === undefined) return `curl ${url}/health`;
  const path = `'${generatedKey.path.replaceAll("'", "'\\''")}'`;
  return `curl -H "x-api-key: $(cat ${path})" ${url}/api/v1/customers`;
}

function keyLines({ generatedKey }: WelcomeFacts): readonly string[] {
  if (generatedKey === undefined) return [];
  if (generatedKey.newKey === undefined) return [`  API key    in ${generatedKey.path}`];
  return [
    `  API key    ${generatedKey.newKey}`,
    `             (shown only once, stored in ${generatedKey.path})`,
  ];
}
