// The HTTP of the shop: what a web framework does in other applications.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { type EventRequestHandler, toNodeHandler } from '../../client/src/index.ts';
import { sessionCookie, type User, userOf } from './accounts.ts';
import { type Html, pages } from './pages.ts';

/** A page, or the address to go to. */
export type Reply = Html | string;

export interface Visit {
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  /** Starts a session, or ends it without a user. */
  signIn(user: User | undefined): Reply;
}

/** What a method and a path do: `GET /account`. */
export type Routes<Who> = Readonly<Record<string, (visit: Visit, user: Who) => Promise<Reply> | Reply>>;

export interface ServerOptions {
  readonly url: string;
  readonly port: number;
  /** The address of Stripe's browser library. */
  readonly stripeJs: string;
  /** For everyone. */
  readonly open: Routes<User | undefined>;
  /** For users who have signed in. */
  readonly members: Routes<User>;
  /** What a visitor reads about an error. Undefined if nothing but that it happened. */
  readonly explain: (error: unknown) => Reply | undefined;
  readonly events: EventRequestHandler;
}

/** Far more than any form of the shop has. */
const formBytesMax = 10_000;

const files: Readonly<Record<string, { readonly type: string; readonly from: string }>> = {
  '/shop.css': { type: 'text/css', from: import.meta.resolve('./shop.css') },
  '/card-form.js': { type: 'text/javascript', from: import.meta.resolve('./card-form.js') },
  // The official package as it is: one module, which needs no bundler.
  '/stripe-js.mjs': {
    type: 'text/javascript',
    from: new URL('../dist/index.mjs', import.meta.resolve('@stripe/stripe-js')).href,
  },
};

/** Resolves when the shop accepts requests. */
export async function serve(options: ServerOptions): Promise<void> {
  const { url, port, stripeJs, events, explain } = options;
  const takeEvent = toNodeHandler(events);
  const { origin } = new URL(stripeJs);
  const pageHeaders = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'content-security-policy': `default-src 'none'; img-src data:; style-src 'self'; script-src 'self' ${origin}; connect-src ${origin}; frame-src ${origin}; frame-ancestors 'none'; base-uri 'none'`,
  };
  const server = createServer(async (request, response) => {
    // A malformed address leads to the first page.
    const { pathname, searchParams: query } = URL.parse(request.url ?? '/', url) ?? new URL(url);
    if (pathname === '/till-events') return takeEvent(request, response);
    const file = files[pathname];
    if (file !== undefined)
      return response.setHeader('content-type', file.type).end(readFileSync(new URL(file.from)));
    const signIn = (user: User | undefined) => {
      response.setHeader('set-cookie', sessionCookie(user, url.startsWith('https:')));
      return '/';
    };
    const reply = await replyTo(request, options, pathname, { query, signIn }).catch(
      (error: unknown) => explain(error) ?? report(error),
    );
    return typeof reply === 'string'
      ? response.writeHead(303, { location: reply }).end()
      : response.writeHead(reply.status ?? 200, pageHeaders).end(reply.html);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

function report(error: unknown): Reply {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  return pages.problem(503, 'Please try again in a minute.');
}

async function replyTo(
  request: IncomingMessage,
  { url, open, members }: ServerOptions,
  pathname: string,
  visit: Omit<Visit, 'form'>,
): Promise<Reply> {
  const { method, headers } = request;
  const isPost = method === 'POST';
  // A browser names the site that sends a form, so no other site can send one for a user.
  if (isPost && headers.origin !== url) return pages.problem(403, `Open ${url} and try again.`);
  if (isPost && !(Number(headers['content-length']) <= formBytesMax))
    return pages.problem(413, 'The form is too large.');
  const form = new URLSearchParams(isPost ? await text(request) : '');
  const user = userOf(request);
  const route = `${method} ${pathname}`;
  const [anyone, member] = [open[route], members[route]];
  if (anyone !== undefined) return anyone({ ...visit, form }, user);
  if (member === undefined) return pages.problem(404, 'There is no such page.');
  return user === undefined ? '/sign-in' : member({ ...visit, form }, user);
}
