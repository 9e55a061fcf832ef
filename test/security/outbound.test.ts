import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { failureOf, startAdapter } from '../processor/adapter.ts';
import { respond, startScriptedServer } from '../processor/scripted-server.ts';

test('a redirect of the processor is not followed, wherever it leads', async (t) => {
  const inside = await startScriptedServer(t, (response) => respond(response, 200, {}));
  for (const status of [301, 302, 303, 307, 308]) {
    const processor = await startScriptedServer(t, (response) =>
      respond(response, status, {}, { location: `${inside.url}v1/customers` }),
    );
    const adapter = startAdapter(t, processor.url);
    const failure = await failureOf(adapter.processor.customers.read('cus_1'));
    assert.equal(failure.code, 'processor_bad_answer');
  }
  assert.deepEqual(inside.seen, []);
});

test('no value of a caller becomes part of an address: ids are escaped on their way to the processor', async (t) => {
  const processor = await startScriptedServer(t, (response) => respond(response, 404, { error: {} }));
  const { customers } = startAdapter(t, processor.url).processor;
  for (const id of ['../events', 'cus_1/../../v1/events', 'cus_1?expand[]=x', 'cus_1#', '//example.com']) {
    await customers.read(id).catch(() => {});
  }
  assert.ok(processor.seen.length >= 5);
  for (const { path, query } of processor.seen) {
    assert.match(path, /^\/v1\/customers\/[^/]+$/);
    assert.equal(query.size, 0);
  }
});

test('only the adapter makes requests of its own, besides the sender of events, the sign-in to the console and what calls the sandbox; nothing else in the service could reach out', () => {
  const reaching = globSync('src/**/*.ts')
    .filter((path) => !path.endsWith('.test.ts'))
    .filter((path) => {
      const text = readFileSync(path, 'utf8');
      const client =
        /^import (?!type)[^;]*from '(?:node:(?:https?|http2|net|tls|dgram)|undici|openid-client)';/m.exec(
          text,
        );
      // To tell what an address is needs no request.
      return (
        (client !== null && !/\{ isIP \}/.test(client[0])) || /(?<![.\w])fetch\((?!page|request)/.test(text)
      );
    });
  assert.deepEqual(reaching.toSorted(), [
    'src/engine/events/deliveries/event-sender.ts',
    'src/http/failures/problem.ts',
    // Calls the identity provider that the operator configured, and follows no redirect.
    'src/operators/console/sign-in/identity-provider.ts',
    // Calls the address of the processor that the operator configured, and follows no redirect.
    'src/operators/sandbox-control/sandbox-control.ts',
    'src/processor/stripe/stripe-processor.ts',
    'src/processor/stripe/wire/http-client.ts',
    // Closes the port of a process that is replaced.
    'src/runtime/composition/compose-member.ts',
    // Pays like a customer at the sandbox that `till seed` has started itself.
    'src/runtime/seed/shopper.ts',
  ]);
  assert.match(
    readFileSync('src/http/failures/problem.ts', 'utf8'),
    /import \{ STATUS_CODES \} from 'node:http'/,
  );
});
