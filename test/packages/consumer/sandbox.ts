/**
 * What the types of the installed package allow, and what they refuse: a line below `@ts-expect-error` must not
 * compile. Compiled by test/packages/sandbox.test.ts, and never run.
 */
import { type Sandbox, startSandbox } from '@till/sandbox';
import { payCheckout } from '@till/sandbox/playwright';

const sandbox: Sandbox = await startSandbox();
const { port } = await startSandbox({ webhook: { url: 'http://127.0.0.1:1', secret: 'whsec_x' } });
sandbox.url satisfies string;
port satisfies number;
// @ts-expect-error: a port is a number
await startSandbox({ port: '3001' });
// @ts-expect-error: there is no such option
await startSandbox({ files: true });
// @ts-expect-error: a page is required
await payCheckout();
await sandbox.close();
