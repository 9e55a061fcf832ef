import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { shareConcurrent } from '#core/platform/share-concurrent.ts';
import { version } from '#core/platform/version.ts';
import { highQuality, mediaTypeOf, readyFile, sendReadyFile } from '#http/ready-file.ts';
import { pageHeaders } from './page-headers.ts';

const assets = ['console.js', 'console.css', 'icon.svg', 'licences.txt'];

/** How people can sign in. The page passes it to its script. */
interface SignInWays {
  readonly hasKeySignIn: boolean;
  readonly hasSingleSignOn: boolean;
}

interface ConsoleRouteParts extends SignInWays {
  /** The time zone in which the console shows and reads all times. */
  readonly timeZone: string;
  /** Rejects, within about a second, when the database cannot be reached. */
  readonly reachDatabase: () => Promise<void>;
}

/** Serves the console: the same page for every path below /console, and the files that it loads. */
export function registerConsoleRoutes(
  app: FastifyInstance,
  { reachDatabase, ...values }: ConsoleRouteParts,
): void {
  const page = readyFile(pageWith(values), 'text/html; charset=utf-8');
  const schema = { hide: true };
  for (const url of ['/console', '/console/*'])
    app.get(url, { schema }, (request, reply) => {
      reply.headers(pageHeaders);
      return sendReadyFile(request, reply, page);
    });
  // A path of a file that does not exist is not a page.
  app.get('/console/assets/*', { schema }, (_request, reply) => reply.callNotFound());
  for (const name of assets) {
    const asset = readyFile(readDist(name), mediaTypeOf(name), highQuality);
    app.get(`/console/assets/${name}`, { schema }, (request, reply) => sendReadyFile(request, reply, asset));
  }
  registerPulse(app, reachDatabase);
}

/**
 * Each visible tab regularly asks whether Till responds and reaches its database. These requests would fill the log.
 */
function registerPulse(app: FastifyInstance, reachDatabase: () => Promise<void>): void {
  const reach = shareConcurrent(reachDatabase);
  app.get('/console/pulse', { schema: { hide: true } }, async (request, reply) => {
    request.isLogged = true;
    const isReached = await reach().then(
      () => true,
      () => false,
    );
    return reply.code(isReached ? 204 : 503).send();
  });
}

function readDist(name: string): Buffer {
  return readFileSync(new URL(`../../../console/dist/${name}`, import.meta.url));
}

function pageWith({
  hasKeySignIn,
  hasSingleSignOn,
  timeZone,
}: Omit<ConsoleRouteParts, 'reachDatabase'>): Buffer {
  const ways = [...(hasKeySignIn ? ['key'] : []), ...(hasSingleSignOn ? ['single-sign-on'] : [])].join(' ');
  const page = readDist('index.html')
    .toString()
    .replace('data-sign-in=""', `data-sign-in="${ways}"`)
    .replace('data-time-zone=""', `data-time-zone="${timeZone}"`)
    .replace('data-version=""', `data-version="${version}"`);
  return Buffer.from(page);
}
