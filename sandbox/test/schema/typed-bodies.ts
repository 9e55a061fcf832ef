import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** A body that the sandbox sent, and where it came from. */
export interface SentBody {
  readonly source: string;
  readonly body: unknown;
}

/** Ends the source of an error body, which has no `object` field. */
export const errorMark = ' (error)';

export interface Violation {
  readonly source: string;
  readonly message: string;
}

type Plain = Readonly<Record<string, unknown>>;

const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Checks bodies against the types of the official package: writes each body as a literal of its type and compiles the
 * file. A literal with a missing field, an unknown field or a field of another type does not compile.
 */
export async function schemaViolations(bodies: readonly SentBody[]): Promise<Violation[]> {
  const folder = await mkdtemp(join(tmpdir(), 'till-schema-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const { code, lineOf } = typescriptOf(bodies);
    await writeFile(join(folder, 'bodies.ts'), code);
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(compilerConfig));
    const compiler = spawn(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.', '--pretty', 'false', '--singleThreaded'],
      { cwd: folder },
    );
    const [output, problems] = await Promise.all([
      text(compiler.stdout),
      text(compiler.stderr),
      once(compiler, 'close'),
    ]);
    const violations = violationsIn(output, lineOf);
    if (violations.length === 0 && (compiler.exitCode !== 0 || problems !== ''))
      throw new Error(`the compiler failed: ${output}${problems}`);
    return violations;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const compilerConfig = {
  compilerOptions: {
    target: 'esnext',
    module: 'nodenext',
    lib: ['esnext'],
    types: ['node'],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
  },
  files: ['bodies.ts'],
};

/** Decimals are strings on the wire; the package parses them into its own class. */
const header = `import type Stripe from 'stripe';
type EventOf<T extends string> = Omit<Extract<Stripe.Event, { type: T }>, 'data'> & {
  data: { object: Extract<Stripe.Event, { type: T }>['data']['object']; previous_attributes?: object };
};
type Previous<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: Previous<T[K]> | null } : T;
type PreviousOf<T extends string> = Previous<Extract<Stripe.Event, { type: T }>['data']['object']>;
type ApiError = Stripe.PaymentIntent.LastPaymentError;
declare const decimal: (text: string) => Stripe.Decimal;
`;

function typescriptOf(bodies: readonly SentBody[]) {
  const lines = header.split('\n').slice(0, -1);
  const sources: { readonly from: number; readonly source: string }[] = [];
  let count = 0;
  const add = (source: string, type: string, body: unknown) => {
    sources.push({ from: lines.length + 1, source });
    lines.push(...`export const body${count++}: ${type} = ${literal(body)};`.split('\n'));
  };
  for (const { source, body } of bodies) {
    if (!isPlain(body)) throw new Error(`${source} sent something that is not an object`);
    if (body['object'] !== 'event') {
      add(source, typeOf(body, source), body);
      continue;
    }
    const type = JSON.stringify(body['type']);
    add(source, `EventOf<${type}>`, body);
    const data = body['data'];
    if (isPlain(data) && data['previous_attributes'] !== undefined)
      add(`${source}, previous_attributes`, `PreviousOf<${type}>`, data['previous_attributes']);
  }
  const lineOf = (line: number) => sources.findLast(({ from }) => from <= line)?.source ?? 'the header';
  return { code: `${lines.join('\n')}\n`, lineOf };
}

const types: Readonly<Record<string, string>> = {
  account: 'Stripe.Account',
  balance_transaction: 'Stripe.BalanceTransaction',
  'billing.meter': 'Stripe.Billing.Meter',
  'billing_portal.configuration': 'Stripe.BillingPortal.Configuration',
  'billing_portal.session': 'Stripe.BillingPortal.Session',
  charge: 'Stripe.Charge',
  'checkout.session': 'Stripe.Checkout.Session',
  confirmation_token: 'Stripe.ConfirmationToken',
  coupon: 'Stripe.Coupon',
  customer: 'Stripe.Customer',
  discount: 'Stripe.Discount',
  dispute: 'Stripe.Dispute',
  invoice: 'Stripe.Invoice',
  invoice_payment: 'Stripe.InvoicePayment',
  invoiceitem: 'Stripe.InvoiceItem',
  item: 'Stripe.LineItem',
  line_item: 'Stripe.InvoiceLineItem',
  payment_intent: 'Stripe.PaymentIntent',
  payment_method: 'Stripe.PaymentMethod',
  plan: 'Stripe.Plan',
  price: 'Stripe.Price',
  product: 'Stripe.Product',
  promotion_code: 'Stripe.PromotionCode',
  refund: 'Stripe.Refund',
  setup_attempt: 'Stripe.SetupAttempt',
  setup_intent: 'Stripe.SetupIntent',
  subscription: 'Stripe.Subscription',
  subscription_item: 'Stripe.SubscriptionItem',
  subscription_schedule: 'Stripe.SubscriptionSchedule',
  tax_id: 'Stripe.TaxId',
  tax_rate: 'Stripe.TaxRate',
  'test_helpers.test_clock': 'Stripe.TestHelpers.TestClock',
  token: 'Stripe.Token',
  webhook_endpoint: 'Stripe.WebhookEndpoint',
};

function typeOf(body: Plain, source: string): string {
  if (source.endsWith(errorMark)) return 'ApiError';
  const kind = body['object'];
  const data = body['data'];
  if ((kind === 'list' || kind === 'search_result') && Array.isArray(data)) {
    const item: unknown = data[0];
    const element = item === undefined ? 'never' : isPlain(item) ? elementType(item, source) : 'unknown';
    return `Stripe.${kind === 'list' ? 'ApiList' : 'ApiSearchResult'}<${element}>`;
  }
  const type = types[String(kind)];
  if (type === undefined) throw new Error(`${source}: the check has no type for ${String(kind)}`);
  return body['deleted'] === true ? type.replace(/\w+$/, 'Deleted$&') : type;
}

function elementType(item: Plain, source: string): string {
  return item['object'] === 'event' ? 'Omit<Stripe.Event, "data">&{data:object}' : typeOf(item, source);
}

/** JSON is TypeScript. Only decimals need a conversion. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 1).replaceAll(/("\w+_decimal": )("[^"]*")/g, '$1decimal($2)');
}

function violationsIn(output: string, sourceOf: (line: number) => string): Violation[] {
  const violations: { source: string; message: string }[] = [];
  for (const line of output.split('\n')) {
    const [, at, message] = /^bodies\.ts\((\d+),\d+\): error (.*)$/.exec(line) ?? [];
    const last = violations.at(-1);
    if (at !== undefined && message !== undefined) violations.push({ source: sourceOf(Number(at)), message });
    else if (last !== undefined && line.startsWith(' ')) last.message += `\n${line}`;
  }
  return violations;
}

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
