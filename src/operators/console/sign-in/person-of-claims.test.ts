import assert from 'node:assert/strict';
import { test } from 'node:test';
import { personOfClaims } from './person-of-claims.ts';

const settings = { groupsClaim: 'groups', roles: new Map([['admins', ['admin'] as const]]) };
const signIn = (verified: unknown) => {
  const claims = { email: 'ada@example.com', groups: ['admins'], email_verified: verified };
  return personOfClaims('https://provider.example.com', 'ada', claims, settings);
};

test('an e-mail address that is not verified is refused, even if the provider writes that as a text', () => {
  for (const verified of [false, 'false', 'False', 'FALSE'])
    assert.deepEqual(signIn(verified), { refused: 'unverified_email', email: 'ada@example.com' });
  // Some providers do not say whether it is.
  for (const verified of [true, 'true', 'True', undefined]) assert.ok('person' in signIn(verified));
});
