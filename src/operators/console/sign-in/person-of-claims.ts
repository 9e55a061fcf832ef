import { type Person, type Scope, scopes } from '#core/model/api-key.ts';

type Claims = Readonly<Record<string, unknown>>;

interface ClaimSettings {
  readonly groupsClaim: string;
  readonly roles: ReadonlyMap<string, readonly Scope[]>;
}

export type SignInResult =
  | { readonly person: Person; readonly scopes: readonly Scope[] }
  | { readonly refused: 'no_email' | 'unverified_email' | 'no_role'; readonly email: string | null };

/** Longer texts are neither shown nor stored. */
const nameLengthMax = 256;
const emailPattern = /^[^\s\p{Cc}@]{1,64}@[^\s\p{Cc}@]{1,189}$/u;

/**
 * The person who has signed in, and what their groups allow. The subject identifies a person. The e-mail address is
 * only shown.
 */
export function personOfClaims(
  issuer: string,
  subject: string,
  claims: Claims,
  settings: ClaimSettings,
): SignInResult {
  const email = typeof claims['email'] === 'string' ? claims['email'] : '';
  if (!emailPattern.test(email)) return { refused: 'no_email', email: null };
  // Some providers write booleans as texts, in their own case.
  if (String(claims['email_verified']).toLowerCase() === 'false')
    return { refused: 'unverified_email', email };
  const held = groupsOf(claims, settings.groupsClaim).flatMap((group) => settings.roles.get(group) ?? []);
  if (held.length === 0) return { refused: 'no_role', email };
  const name = typeof claims['name'] === 'string' ? shownText(claims['name']) : '';
  return {
    person: { issuer, subject, email, name: name === '' ? null : name },
    scopes: scopes.filter((scope) => held.includes(scope)),
  };
}

/** Without control characters, which the database may not store. */
function shownText(text: string): string {
  return text
    .replace(/\p{Cc}/gu, '')
    .trim()
    .slice(0, nameLengthMax);
}

/**
 * Whether the ID token alone decides. Many providers show the other claims only in the response to a further request.
 */
export function isComplete(claims: Claims, groupsClaim: string): boolean {
  return claims['email'] !== undefined && claims[groupsClaim] !== undefined;
}

function groupsOf(claims: Claims, groupsClaim: string): readonly string[] {
  const groups = Object.hasOwn(claims, groupsClaim) ? claims[groupsClaim] : undefined;
  return [groups].flat().filter((group): group is string => typeof group === 'string');
}
