import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** How long a sign-in at the provider may take. */
export const signInMs = 600_000;

/** The state of a sign-in that Till keeps until the provider sends the person back. */
interface StartedSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Where the person continues. */
  readonly to: string;
  readonly startedAtMs: number;
}

/**
 * Writes and reads the cookie of a sign-in. It is signed, so that a browser cannot change it. All
 * processes derive the same key from the client secret.
 */
export class SignInCookie {
  readonly #key: Buffer;

  constructor(clientSecret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', clientSecret, '', 'till console sign-in', 32));
  }

  write(signIn: StartedSignIn): string {
    const content = Buffer.from(JSON.stringify(signIn)).toString('base64url');
    return `${content}.${this.#sign(content).toString('base64url')}`;
  }

  /** Undefined if Till did not write it, or too long ago. */
  read(value: string, nowMs: number): StartedSignIn | undefined {
    const [content = '', signature = '', ...rest] = value.split('.');
    const given = Buffer.from(signature, 'base64url');
    const expected = this.#sign(content);
    if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
      return undefined;
    const signIn: StartedSignIn = JSON.parse(Buffer.from(content, 'base64url').toString());
    return nowMs - signIn.startedAtMs < signInMs ? signIn : undefined;
  }

  #sign(content: string): Buffer {
    return createHmac('sha256', this.#key).update(content).digest();
  }
}
