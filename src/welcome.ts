export interface WelcomeFacts {
  readonly url: string;
  readonly database: string;
  readonly cache: string;
  readonly processor: string;
  readonly servesApi: boolean;
  /** Undefined when keys were given by the operator. */
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
  if (facts.servesApi) lines.push(`  docs       ${facts.url}/api/docs`, ...keyLines(facts));
  lines.push('', '  Try it:', `  curl ${facts.url}/health`, '', '  Ctrl-C stops it.', '', '');
  return lines.join('\n');
}

function keyLines({ generatedKey }: WelcomeFacts): readonly string[] {
  if (generatedKey === undefined) return [];
  if (generatedKey.newKey === undefined) return [`  API key    in ${generatedKey.path}`];
  return [
    `  API key    ${generatedKey.newKey}`,
    `             (shown this once, kept in ${generatedKey.path})`,
  ];
}
