// Plain JavaScript, because it runs before anything is installed.
import { existsSync } from 'node:fs';

// Without a compiler of its own, npm would take that of the checkout or find none.
if (!existsSync(new URL('node_modules/typescript/package.json', import.meta.url))) {
  process.stderr.write(
    'The client cannot be built: its tools are not installed. Run "npm ci --ignore-scripts" in its folder.\n',
  );
  process.exit(1);
}
