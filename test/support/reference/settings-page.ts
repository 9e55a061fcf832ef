import { ConfigError, loadConfig } from '#runtime/composition/config.ts';
import { type Setting, settings } from '#runtime/composition/settings.ts';
import { code, heading, table } from './table.ts';

/** A value that no check allows. */
const invalid = '\0 not allowed';
/** An otherwise complete environment, so that only the value itself is a mistake. */
const complete = { PROCESSOR_SECRET_KEY: 'sk_test_x', PROCESSOR_WEBHOOK_SECRET: 'whsec_x' };

/** The table of the README, one line for each setting. */
export function settingsTable(): string {
  const rows = Object.entries<Setting>(settings).map(([name, setting]) => [
    code(name),
    defaultOf(setting),
    setting.about,
  ]);
  return table(['variable', 'default', 'meaning'], rows);
}

export function settingsPage(): string {
  const required = requiredNames();
  const rows = Object.entries<Setting>(settings).map(([name, setting]) => [
    code(name),
    required.has(name) ? `${defaultOf(setting)}; required in production` : defaultOf(setting),
    allowedOf(name),
    // The links of the declarations begin at the README.
    setting.about.replaceAll('](docs/', '](../'),
  ]);
  return `${heading('Settings', 'src/runtime/composition/settings.ts and src/runtime/composition/config.ts')}
Till reads environment variables once, at start. If a value is invalid, Till does not start, and prints a line for each
mistake that says what is allowed. An empty variable counts as unset.

${table(['variable', 'default', 'allowed', 'meaning'], rows)}

"Required in production" means with \`NODE_ENV=production\`. In place of \`API_KEYS\`, \`API_KEY\` or \`API_KEYS_FILE\` is
enough.

These contain a key or a password: ${secretNames()}.
Till removes them from its environment once it has read them, because child processes inherit it.

The standalone sandbox has [options of its own](../../sandbox/README.md).
`;
}

function defaultOf(setting: Setting): string {
  const value = setting.default === undefined ? '' : code(String(setting.default));
  const text = setting.unset ?? value;
  return setting.productionDefault === undefined
    ? text
    : `${text}; in production ${code(String(setting.productionDefault))}`;
}

/** What is allowed, as the check itself says when it refuses a value. */
function allowedOf(name: string): string {
  const mistake = mistakesOf({ ...complete, [name]: invalid }).find((line) => line.startsWith(name)) ?? '';
  return /allowed: (.*)$/.exec(mistake)?.[1] ?? '';
}

function requiredNames(): ReadonlySet<string> {
  return new Set(
    mistakesOf({ NODE_ENV: 'production' }).flatMap((line) => /^(\w+) is not set/.exec(line)?.[1] ?? []),
  );
}

function secretNames(): string {
  return Object.entries<Setting>(settings)
    .filter(([, { isSecret }]) => isSecret)
    .map(([name]) => code(name))
    .join(', ');
}

function mistakesOf(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig(environment, '/');
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
}
