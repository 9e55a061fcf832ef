import { commands } from '#cli/commands.ts';
import { helpOf } from '#cli/help.ts';
import { heading, table } from './table.ts';

export function commandLinePage(): string {
  const rows = commands.map(({ name, summary }) => [
    `[\`till ${name}\`](#till-${name.replaceAll(' ', '-')})`,
    summary,
  ]);
  const sections = commands.map(
    (command) => `## till ${command.name}

\`\`\`text
${helpOf(command).trimEnd()}
\`\`\`
`,
  );
  return `${heading('Command line', 'src/cli/commands')}
In a checkout, \`npx till COMMAND\` runs a command, and so does \`npm run till -- COMMAND\`. Commands read the same
[settings](settings.md) as the service, so run them with its environment.

- With \`--json\` the result is JSON. Results go to standard output, progress and advice to standard error.
- Exit codes: 0 done, 1 failed, 2 wrong command line. A mistake shows the usage of the command.
- An interrupted command can be repeated.

${table(['command', 'what it does'], rows)}

${sections.join('\n')}`;
}
