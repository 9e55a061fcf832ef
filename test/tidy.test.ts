import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findPages } from './support/markdown.ts';

/** The style of the code, kept by a test: a rule without a check is a wish. */
const root = fileURLToPath(new URL('..', import.meta.url));
const fileLinesMax = 400;
const functionLinesMax = 70;
const lineLengthMax = 120;

const files = globSync(
  '{src,sandbox,bench,test,console,client,site,examples,packages}/**/*.{ts,tsx,mts,mjs}',
  {
    cwd: root,
    exclude: ['**/node_modules/**', 'console/dist/**', 'site/dist/**', 'client/src/schema.ts'],
  },
).map((path) => ({
  path: path.split(sep).join('/'),
  text: readFileSync(join(root, path), 'utf8'),
}));
const isTest = (path: string) => /^(sandbox\/)?test\/|\.test\.ts$/.test(path);
const source = files.filter(({ path }) => !isTest(path));

interface Import {
  readonly from: string;
  readonly to: string;
  /** Erased before anything runs. */
  readonly isType: boolean;
}

const imports: readonly Import[] = source.flatMap(({ path, text }) =>
  [
    ...text.matchAll(
      /^(?:import|export)( type)?[^;]*?from '((?:[.#]|@till\/)[^']+)'|import\('([.#][^']+)'\)|^import '([.#][^']+)'/gms,
    ),
  ].map(([, type, named, dynamic, bare]) => ({
    from: path,
    to: pathOf(path, named ?? dynamic ?? bare ?? ''),
    isType: type !== undefined,
  })),
);

/** The file that an import names: `#core/errors.ts` is in src, `@till/client` a workspace, and others are relative. */
function pathOf(from: string, name: string): string {
  if (name.startsWith('#sandbox/')) return name.slice(1);
  if (name.startsWith('#')) return `src/${name.slice(1)}`;
  if (name.startsWith('@till/')) {
    const folder = name.slice('@till/'.length);
    return join(folder, manifestOf(folder).exports['.']);
  }
  return relative(root, join(root, dirname(from), name))
    .split(sep)
    .join('/');
}

function manifestOf(folder: string) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

/** The packages that are loaded when a file runs. */
const packageImports = source.flatMap(({ path, text }) =>
  [
    ...text.matchAll(
      /^(?:import|export)(?! type)[^;]*?from '((?:@[\w-]+\/)?[\w.-]+)[^':]*'|import\('((?:@[\w-]+\/)?[\w.-]+)[^':]*'\)/gms,
    ),
  ]
    .map(([, named, dynamic]) => ({ path, name: named ?? dynamic ?? '' }))
    .filter(({ name }) => !/^[.#]/.test(name)),
);

/** From the ground up. A wing imports only those before it. */
const wings = ['core', 'processor', 'http', 'engine', 'features', 'operators', 'runtime', 'cli'];
/** The floors of the house: nothing in `processor` and `http` imports the other. */
const floorOf = (wing: string) => (wing === 'http' ? wings.indexOf('processor') : wings.indexOf(wing));
const roleOf = (path: string) => /-(routes|service|store)\.ts$/.exec(path)?.[1];
const isModel = (path: string) => path.startsWith('src/core/model/');
const wingOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1] ?? '';
/** A folder of a wing, or a file that stands alone. Empty outside of src. */
const moduleOf = (path: string) => {
  const [src, wing = '', room = '', ...rest] = path.split('/');
  if (src !== 'src') return '';
  return rest.length === 0 || ['http', 'processor', 'cli'].includes(wing) ? wing : `${wing}/${room}`;
};
/** What mirrors share is a part of every store. */
const hasOwnStores = (module: string) =>
  /^(engine|features|operators)\//.test(module) && module !== 'engine/mirrors';

function breaches(rule: (edge: Import) => boolean): readonly string[] {
  return imports.filter(rule).map(({ from, to }) => `${from} imports ${to}`);
}

test('the walk over the files finds the project', () => {
  assert.ok(source.length > 30 && imports.length > 50, `${source.length} files, ${imports.length} imports`);
});

test('only the composition root knows the adapter', () => {
  const isAdapter = (path: string) => path.startsWith('src/processor/stripe/');
  const adapterUsers = ['src/runtime/composition/compose-parts.ts', 'src/runtime/composition/start.ts'];
  assert.deepEqual(
    breaches(({ from, to }) => isAdapter(to) && !isAdapter(from) && !adapterUsers.includes(from)),
    [],
  );
});

test('the service never imports the sandbox, save the lines that start it, and the sandbox nothing of the service', () => {
  assert.deepEqual(
    breaches(
      ({ from, to }) =>
        from.startsWith('src/') &&
        to.startsWith('sandbox/') &&
        !from.startsWith('src/runtime/composition/compose') &&
        from !== 'src/cli/commands/sandbox.ts',
    ),
    [],
  );
  assert.deepEqual(
    breaches(({ from, to }) => from.startsWith('sandbox/') && to.startsWith('src/')),
    [],
  );
});

test('the console uses the entry of the client, and of the service only constants and the checks of inputs', () => {
  const ofConsole = imports.filter(({ from }) => from.startsWith('console/'));
  const allowed =
    /^(console|client\/src\/index\.ts$|src\/(?!.*-(routes|service|store|mirror|view|schema)\.ts$))/;
  assert.deepEqual(
    ofConsole.filter(({ to }) => !allowed.test(to)),
    [],
  );
  const types = source
    .filter(({ path }) => path.startsWith('console/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^import (?:type )?\{[^}]*\} from '(?:\.\.\/)+(src\/[^']+)'/gm)]
        .filter(([statement]) => /\btype\b/.test(statement))
        .map(([, to]) => `${path} imports a type of ${to}`),
    );
  // The OpenAPI document leaves the controls of the sandbox out, so the client has no types of them.
  assert.deepEqual(types, [
    'console/src/pages/sandbox/sandbox-api.ts imports a type of src/operators/sandbox-control/sandbox-responses.ts',
  ]);
});

test('the client stands alone: it imports nothing of the service, no package, and the service nothing of it', () => {
  const isClient = (path: string) => path.startsWith('client/');
  assert.deepEqual(
    breaches(({ from, to }) => isClient(from) !== isClient(to) && !/^(console|examples)\//.test(from)),
    [],
  );
  const packages = source
    .filter(({ path }) => path.startsWith('client/src/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/from '([^.'][^']*)'/g)].map(([, name]) => `${path} ${name}`),
    );
  assert.deepEqual(packages, []);
});

/** What the service and each workspace import of others. The service is the workspace of the root. */
const uses: Readonly<Record<string, readonly string[]>> = {
  client: [],
  sandbox: [],
  src: ['sandbox'],
  console: ['client', 'src'],
  site: ['src'],
};

test('the workspaces import each other in one direction', () => {
  const folderOf = (path: string) => path.split('/')[0] ?? '';
  const { workspaces } = manifestOf('.');
  assert.deepEqual(['src', ...workspaces].toSorted(), Object.keys(uses).toSorted());
  const edges = imports.map((edge) => ({ ...edge, from: folderOf(edge.from), to: folderOf(edge.to) }));
  const found = edges.filter(({ from, to }) => from in uses && from !== to);
  assert.deepEqual(
    [...new Set(found.map(({ from, to }) => `${from} → ${to}`))].toSorted(),
    Object.entries(uses)
      .flatMap(([from, others]) => others.map((to) => `${from} → ${to}`))
      .toSorted(),
  );
});

test('each workspace names the packages that it imports, and no others', () => {
  // They are programs: the generator of the types of the client, and the compiler that the generator needs.
  const programs = ['openapi-typescript', 'typescript'];
  for (const folder of Object.keys(uses).filter((name) => name !== 'src')) {
    const { dependencies, devDependencies } = manifestOf(folder);
    const imported = files
      .filter(({ path }) => path.startsWith(`${folder}/`))
      .flatMap(({ text }) => [
        ...text.matchAll(/^(?:import|export)[^;]*?from '((?:@[\w-]+\/)?[\w-]+)(?:\/[^']*)?'/gms),
      ])
      .map(([, name = '']) => name);
    const named = Object.keys({ ...dependencies, ...devDependencies });
    assert.deepEqual(
      named.filter((name) => !programs.includes(name)).toSorted(),
      [...new Set(imported)].toSorted(),
      folder,
    );
  }
});

test('the platform knows nothing of what runs on it', () => {
  const outside = (to: string) =>
    to.startsWith('src/') && !to.startsWith('src/core/platform/') && to !== 'src/core/errors.ts';
  assert.deepEqual(
    breaches(({ from, to }) => from.startsWith('src/core/platform/') && outside(to)),
    [],
  );
});

test("a module calls another module's service, never its store; routes never reach a store", () => {
  assert.deepEqual(
    breaches(
      ({ from, to }) =>
        roleOf(to) === 'store' &&
        // The benchmarks put parts of the service together in other ways, as the tests do.
        !from.startsWith('bench/') &&
        hasOwnStores(moduleOf(to)) &&
        moduleOf(from) !== moduleOf(to) &&
        !/^src\/(runtime\/composition\/compose|cli\/doctor\/)/.test(from),
    ),
    [],
  );
  assert.deepEqual(
    breaches(({ from, to }) => roleOf(from) === 'routes' && roleOf(to) === 'store'),
    [],
  );
  assert.deepEqual(
    breaches(
      ({ from, to }) => roleOf(from) === 'store' && (roleOf(to) === 'service' || roleOf(to) === 'routes'),
    ),
    [],
  );
  assert.deepEqual(
    breaches(({ from, to }) => roleOf(from) === 'service' && roleOf(to) === 'routes'),
    [],
  );
});

test('no module reaches the stores of others through the file that puts them together', () => {
  const isOfOther = ({ from, to }: Import) =>
    roleOf(to) === 'store' && hasOwnStores(moduleOf(to)) && moduleOf(from) !== moduleOf(to);
  const composing = new Set(imports.filter(isOfOther).map(({ from }) => from));
  const mayCompose = (path: string) => ['runtime/composition', 'cli', 'main.ts', ''].includes(moduleOf(path));
  assert.deepEqual(
    breaches(({ from, to }) => composing.has(to) && !mayCompose(from)),
    [],
  );
});

test('the model imports only itself and the error catalogue', () => {
  assert.deepEqual(
    breaches(({ from, to }) => isModel(from) && !isModel(to) && to !== 'src/core/errors.ts'),
    [],
  );
});

test('the wings of src stand on each other, and the engine knows no feature', () => {
  assert.deepEqual(
    [...new Set(source.map(({ path }) => wingOf(path)))].filter(Boolean).toSorted(),
    wings.toSorted(),
  );
  assert.deepEqual(
    breaches(({ from, to }) => {
      const [own, other] = [wingOf(from), wingOf(to)];
      return own !== '' && other !== '' && own !== other && floorOf(other) >= floorOf(own);
    }),
    [],
  );
});

test('an import of another wing names the wing, one within a wing is relative', () => {
  assert.deepEqual(
    source.flatMap(({ path, text }) =>
      [...text.matchAll(/(?:from|import\() ?'([.#][^']+\.ts)'/g)]
        .map(([, name = '']) => name)
        .filter((name) => wingOf(path) !== '' && wingOf(pathOf(path, name)) !== '')
        .filter((name) => name.startsWith('#') === (wingOf(pathOf(path, name)) === wingOf(path)))
        .map((name) => `${path} imports ${name}`),
    ),
    [],
  );
});

test('the folders of src import each other in one direction', () => {
  assertNoCycle(
    imports
      .map((edge) => ({ ...edge, from: moduleOf(edge.from), to: moduleOf(edge.to) }))
      .filter(({ from, to }) => from !== '' && to !== '' && from !== to),
  );
});

test('no file imports itself through others, type imports included', () => {
  assert.ok(imports.some(({ isType }) => isType));
  assertNoCycle(imports);
});

test('the adapter imports the port, the model and the platform, and nothing above them', () => {
  const isAdapter = (path: string) => path.startsWith('src/processor/stripe/');
  const isBelow = (path: string) =>
    isAdapter(path) ||
    isModel(path) ||
    path === 'src/core/errors.ts' ||
    path.startsWith('src/core/platform/') ||
    path.startsWith('src/processor/port/') ||
    path.startsWith('src/processor/pacing/');
  assert.deepEqual(
    breaches(({ from, to }) => isAdapter(from) && !isBelow(to)),
    [],
  );
});

test('an export of src is imported by another file', () => {
  const imported = files.flatMap(({ path, text }) =>
    [...text.matchAll(/\{([^{}]*)\}\s*(?:=\s*await import\(\s*|from )'([.#][^']+)'/g)].flatMap(
      ([, names = '', from = '']) =>
        [...names.matchAll(/(?:^|,)\s*(?:type )?(\w+)/g)].map(([, name]) => `${pathOf(path, from)} ${name}`),
    ),
  );
  const exported = source
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ path, text }) =>
      [
        ...text.matchAll(/^export (?:async |abstract )?(?:function\*?|class|const|interface|type) (\w+)/gm),
      ].map(([, name]) => `${path} ${name}`),
    );
  assert.ok(exported.length > 1_000);
  // The composition root is loaded as a whole, by `start-till.ts`.
  const loaded = ['src/runtime/composition/compose.ts compose'];
  assert.deepEqual([...new Set(exported).difference(new Set(imported))], loaded);
});

test('where only the packages of production are installed, nothing that runs is missing', () => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const installed = new Set(Object.keys({ ...dependencies, ...optionalDependencies }));
  assert.deepEqual(
    packageImports.filter(
      ({ path, name }) => /^(src|sandbox\/(?!browser|testing))/.test(path) && !installed.has(name),
    ),
    [],
  );
});

test("the processor's package is loaded in one place: the errors of two copies are different classes", () => {
  const places = packageImports.filter(({ path, name }) => path.startsWith('src/') && name === 'stripe');
  assert.deepEqual(places, [{ path: 'src/processor/stripe/wire/stripe-package.ts', name: 'stripe' }]);
});

test("a table's SQL lives in its own store", () => {
  const mentions = source
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/(?:from|join|into|update|table|exists) till\.([a-z_]+)\b(?!\()/g)].map(
        ([, table]) => `${path} ${table}`,
      ),
    );
  const found = new Set(mentions);
  assert.ok(found.size >= Object.keys(storesByTable).length, 'the search finds the stores');
  const allowed = new Set(
    Object.entries(storesByTable).flatMap(([table, paths]) => paths.map((path) => `src/${path} ${table}`)),
  );
  assert.deepEqual(
    [...found].filter((mention) => !allowed.has(mention)),
    [],
  );
  assert.deepEqual(
    [...allowed].filter((mention) => !found.has(mention)),
    [],
    'no permission is left that nothing needs',
  );
});

test('every statement that writes a mirrored row reports it, so that it has an event', () => {
  const writes = source
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ path, text }) => text.split('\n  }\n').map((part) => ({ path, part })))
    .filter(({ part }) => mirrorWrite.test(part) && !part.includes('tx.written.add'))
    .map(
      ({ path, part }) =>
        `${path} ${/(?:async )?(\w+)\([^()]*\)?[^()]*\{?$/m.exec(part.trimStart())?.[1] ?? ''}`,
    );
  assert.deepEqual(writes.toSorted(), unreportedWrites);
});

test('a migration that adds a column to a mirrored table completes its rows, or says why not', () => {
  const names = globSync('migrations/*.sql', { cwd: root }).toSorted();
  const ofFirstRelease = names.findIndex((name) => name.endsWith('/0018_sandbox_resets.sql'));
  const read = (name: string) => readFileSync(join(root, name), 'utf8');
  assert.ok(ofFirstRelease > 0);
  assert.match('alter table till.payments add column tip bigint', addsMirroredColumn);
  for (const name of names.slice(ofFirstRelease + 1)) {
    const [number] = /\d{4}/.exec(name) ?? [];
    const requested = [...read(name).matchAll(/till\.request_backfill\('\w+', (\d+)\)/g)];
    for (const [call, schema] of requested) assert.equal(Number(schema), Number(number), `${name}: ${call}`);
    if (addsMirroredColumn.test(read(name)))
      assert.ok(
        requested.length > 0 || read(name).includes('-- No backfill: '),
        `${name}: call till.request_backfill, or say why not ("-- No backfill: …")`,
      );
  }
});

test('comments and prose stay within 120 characters a line', () => {
  const migrations = globSync('migrations/*.sql', { cwd: root });
  const comments = [...files.map(({ path }) => path), ...migrations].flatMap((path) =>
    longLines(path, (line) => /^\s*(\/\/|\/?\*|--)/.test(line)),
  );
  const pages = findPages(root).filter((path) => !path.startsWith('docs/reference/'));
  const prose = pages.flatMap((path) => {
    let isCode = false;
    return longLines(path, (line) => {
      if (line.startsWith('```')) isCode = !isCode;
      return !isCode && !/^(\||!\[| {4})/.test(line);
    });
  });
  assert.deepEqual([...comments, ...prose], []);
});

test('files and functions stay small', () => {
  const long = source.filter(({ text }) => text.split('\n').length > fileLinesMax).map(({ path }) => path);
  assert.deepEqual(long, []);
  assert.deepEqual(source.flatMap(longFunctions), []);
});

test('no `any`, no default export, no suppressed check, no skipped test', () => {
  const forbidden = [
    /:\s*any\b|\bas any\b|<any>/,
    /export default/,
    /@ts-(ignore|expect-error|nocheck)|biome-ignore/,
    /\b(test|it|describe)\.(skip|only|todo)\(/,
  ];
  // What must not compile with the types of a package can only be shown in this way.
  const mayExpectErrors = ['test/client/consumer/types.ts', 'test/packages/consumer/sandbox.ts'];
  const found = files
    .filter(({ path }) => path !== 'test/tidy.test.ts' && !mayExpectErrors.includes(path))
    .flatMap(({ path, text }) =>
      forbidden.filter((rule) => rule.test(text)).map((rule) => `${path}: ${rule}`),
    );
  assert.deepEqual(found, []);
});

test('every test takes its random numbers from a seed that test/support/seeds.ts decides', () => {
  const seeds = 'test/support/seeds.ts';
  const tests = files.filter(({ path }) => isTest(path) && path !== seeds && path !== 'test/tidy.test.ts');
  const draws = /\bMath\.random\(|\brandomInt\(|\bcreateRandom\(Date\b/;
  const checks = /\bfc\s*\.\s*(assert|check|sample)\(/;
  const wrong = tests.filter(
    ({ text }) => draws.test(text) || (checks.test(text) && !text.includes('/support/seeds.ts')),
  );
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

/** The adapter, and the texts of the settings and of the command line, which people read. */
const namesStripe = /^src\/(processor\/stripe\/|cli\/|runtime\/composition\/settings\.ts$)/;

test('outside the adapter and the texts for people the word is "processor"', () => {
  const found = source
    .filter(({ path }) => path.startsWith('src/') && !namesStripe.test(path))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .filter((line) => /stripe/i.test(line) && !allowedNames.some((name) => line.includes(name)))
        .map((line) => `${path}: ${line.trim()}`),
    );
  assert.deepEqual(found, []);
});

function assertNoCycle(edges: readonly Import[]): void {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    assert.ok(!trail.includes(path), `a cycle: ${[...trail, path].join(' → ')}`);
    if (done.has(path)) return;
    for (const to of next.get(path) ?? []) visit(to, [...trail, path]);
    done.add(path);
  };
  for (const path of next.keys()) visit(path, []);
}

/**
 * The first file of each table owns it. Others only read it, in a statement that must see both tables in one snapshot:
 * the sum of a payment's refunds, the payment of a refund, the subscription of an invoice, the invoices of a
 * subscription, the invoice and the subscription of a payment, all that a customer is entitled to, the customer of an
 * external id, whether the customer of an event is deleted, whether an open checkout holds a group, the currency of a
 * subscription, whether a live subscription or an open checkout has a plan, whether recovery has passed, what all rows
 * add to the overview, and what needs attention.
 */
const storesByTable: Readonly<Record<string, readonly string[]>> = {
  customers: [
    'features/customers/customer-store.ts',
    'features/customers/customer-words.ts',
    'features/customers/external-id-store.ts',
    'engine/mirrors/erased-store.ts',
    'features/subscriptions/subscription-store.ts',
    'features/subscriptions/entitlements/entitlement-store.ts',
    'engine/webhooks/webhook-event-store.ts',
    'engine/webhooks/erasure-store.ts',
    'operators/attention/attention-store.ts',
    'features/checkouts/checkout-store.ts',
  ],
  external_ids: [
    'features/customers/external-id-store.ts',
    'features/customers/customer-store.ts',
    'features/subscriptions/entitlements/entitlement-store.ts',
  ],
  plans: [
    'features/plans/plan-store.ts',
    'features/subscriptions/entitlements/entitlement-store.ts',
    'features/subscriptions/subscription-store.ts',
    'features/usage/usage-period-store.ts',
    'operators/attention/attention-store.ts',
    'features/checkouts/checkout-store.ts',
  ],
  payments: [
    'features/payments/payment-store.ts',
    'features/payments/refund-fields.ts',
    'features/payments/refund-store.ts',
    'operators/attention/attention-store.ts',
  ],
  refunds: ['features/payments/refund-store.ts', 'features/payments/payment-store.ts'],
  subscriptions: [
    'features/subscriptions/subscription-store.ts',
    'features/subscriptions/entitlements/entitlement-store.ts',
    'features/invoices/invoice-store.ts',
    'features/invoices/invoice-fields.ts',
    'features/payments/payment-fields.ts',
    'features/payments/payment-store.ts',
    'features/plans/plan-store.ts',
    'operators/attention/attention-store.ts',
  ],
  subscription_add_ons: ['features/subscriptions/subscription-store.ts', 'features/plans/plan-store.ts'],
  checkouts: ['features/checkouts/checkout-store.ts', 'features/plans/plan-store.ts'],
  meters: ['features/usage/meter-store.ts', 'features/subscriptions/entitlements/entitlement-store.ts'],
  // Counting; reading for people; computing the counters again; erasure.
  usage_events: [
    'features/usage/usage-store.ts',
    'features/usage/usage-read-store.ts',
    'features/usage/usage-check-store.ts',
    'features/usage/usage-erasure-store.ts',
  ],
  usage_events_other: ['features/usage/usage-days-store.ts'],
  usage_counters: [
    'features/usage/usage-store.ts',
    'features/usage/usage-check-store.ts',
    'features/subscriptions/entitlements/entitlement-store.ts',
  ],
  subscription_history: ['features/usage/usage-period-store.ts'],
  audit_log: ['operators/audit/audit-store.ts'],
  console_sessions: ['operators/console/sessions/session-store.ts'],
  console_sign_ins: ['operators/console/sessions/session-store.ts'],
  overview_cells: ['operators/overview/overview-store.ts'],
  overview_subscribers: ['operators/overview/overview-store.ts'],
  overview_moves: ['operators/overview/move-store.ts'],
  overview_progress: ['operators/overview/overview-store.ts'],
  group_reservations: [
    'features/subscriptions/subscription-store.ts',
    'features/checkouts/checkout-store.ts',
  ],
  subscription_turns: ['features/subscriptions/turns/turn-store.ts'],
  subscription_queue: ['features/subscriptions/turns/turn-store.ts'],
  invoices: [
    'features/invoices/invoice-store.ts',
    'features/subscriptions/subscription-fields.ts',
    'features/payments/payment-fields.ts',
    'features/payments/payment-store.ts',
    'operators/attention/attention-store.ts',
  ],
  // Readers; erasure; the queue of deliveries; their list; demo data.
  events: [
    'engine/events/feed/event-store.ts',
    'engine/events/feed/event-erasure-store.ts',
    'engine/events/deliveries/delivery-store.ts',
    'engine/events/deliveries/delivery-list-store.ts',
    'engine/events/deliveries/resend-store.ts',
    'engine/events/feed/event-backdating-store.ts',
  ],
  event_seed: ['engine/events/feed/event-store.ts'],
  grace_periods: ['engine/events/outbox/outbox-store.ts'],
  list_counts: ['engine/mirrors/list-statement.ts', 'engine/mirrors/list-totals.ts'],
  idempotency_claims: [
    'engine/idempotency/claim-store.ts',
    'operators/attention/attention-store.ts',
    'features/customers/external-id-store.ts',
  ],
  api_keys: ['operators/keys/key-store.ts'],
  processor_account: ['processor/account/account-store.ts'],
  jobs: ['engine/sync/job-store.ts'],
  recovery: ['engine/sync/recovery-store.ts', 'features/subscriptions/subscription-store.ts'],
  sandbox_resets: ['operators/sandbox-control/sandbox-reset-store.ts'],
  sandbox_pauses: ['operators/sandbox-control/sandbox-reset-store.ts'],
  resyncs: ['operators/resync/resync-run-store.ts'],
  backfills: ['engine/sync/backfill-store.ts'],
  imports: ['operators/import/import-store.ts'],
  installation: ['engine/idempotency/installation-store.ts'],
  import_skips: ['operators/import/import-store.ts'],
  import_external_ids: ['operators/import/import-store.ts'],
  migrations: ['core/platform/migrate.ts'],
  // One table and the statements of three concerns: the queue, the operators' list and erasure.
  webhook_events: [
    'engine/webhooks/webhook-event-store.ts',
    'engine/webhooks/webhook-event-list-store.ts',
    'engine/webhooks/erasure-store.ts',
    'operators/attention/attention-store.ts',
  ],
  event_endpoints: [
    'engine/events/endpoints/endpoint-store.ts',
    'engine/events/deliveries/delivery-list-store.ts',
    'operators/attention/attention-store.ts',
  ],
  // The queue; what is kept for the list; events that are sent again.
  event_retries: [
    'engine/events/deliveries/delivery-store.ts',
    'engine/events/deliveries/delivery-list-store.ts',
    'engine/events/deliveries/resend-store.ts',
  ],
  event_deliveries: [
    'engine/events/deliveries/delivery-store.ts',
    'engine/events/deliveries/delivery-list-store.ts',
    'engine/events/deliveries/resend-store.ts',
  ],
  event_resends: [
    'engine/events/deliveries/resend-store.ts',
    'engine/events/deliveries/delivery-list-store.ts',
  ],
};

const mirrorWrite =
  /(?:insert into|update|delete from) till\.(?:customers|plans|payments|refunds|subscriptions|invoices|checkouts)\b/;

const addsMirroredColumn =
  /alter table till\.(?:customers|plans|payments|refunds|subscriptions|invoices)\s+add column/;

/** They write only what the API does not show. */
const unreportedWrites = [
  'src/features/checkouts/checkout-store.ts markChecked',
  'src/features/customers/customer-store.ts makeSearchDue',
  'src/features/customers/customer-store.ts markErased',
  'src/features/payments/payment-store.ts markChecked',
  'src/features/payments/refund-store.ts removeReservation',
  'src/features/plans/plan-store.ts releaseAddOn',
  'src/features/plans/plan-store.ts reserveAddOn',
  'src/features/subscriptions/subscription-store.ts markChecked',
];

/** The composition root must name the adapter's folder; the signature header has its name on the wire. */
const allowedNames = ['#processor/stripe/', 'createStripeProcessor', 'Stripe-Signature', 'stripe-signature'];

/** The lines that are too long. What cannot be broken, such as an address alone, may be. */
function longLines(path: string, applies: (line: string) => boolean): readonly string[] {
  return readFileSync(join(root, path), 'utf8')
    .split('\n')
    .flatMap((line, index) =>
      applies(line) && line.length > lineLengthMax && / \S+ \S/.test(line.trim())
        ? [`${path}:${index + 1} has ${line.length} characters`]
        : [],
    );
}

/**
 * Functions are found by their indentation, which the formatter guarantees: a header, on one line or closed by a line
 * of the same depth, that ends with a brace; then the first line that closes this brace at the same depth.
 */
function longFunctions({ path, text }: { path: string; text: string }): readonly string[] {
  const lines = text.split('\n');
  return lines.flatMap((line, start) => {
    const opened =
      /^(\s*)(?:export |async |static |get |set )*(?:function\b|[#\w]+(?:<.*>)?\(|const \w+ = (?:async )?\()/.exec(
        line,
      );
    if (opened === null || /^\s*(if|for|while|switch)\b/.test(line)) return [];
    const indent = opened[1] ?? '';
    const sameDepth = (from: number) =>
      lines.findIndex(
        (next, index) => index > from && next.startsWith(indent) && /^\S/.test(next.slice(indent.length)),
      );
    const headerEnd = line.endsWith('{') ? start : sameDepth(start);
    if (!lines[headerEnd]?.endsWith('{')) return [];
    const length = sameDepth(headerEnd) - start + 1;
    return length > functionLinesMax ? [`${path}:${start + 1} has ${length} lines`] : [];
  });
}
