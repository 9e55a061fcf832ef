// Accounts with e-mail address and password, as an application has them before it sells anything. They are in one file.
import { createHmac, randomBytes, randomUUID, scrypt, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';

export interface User
  extends Readonly<Record<'id' | 'email' | 'salt' | 'passwordHash' | 'customerId', string>> {
  /** What happened to the user, newest first. */
  readonly messages: { readonly eventId: string; readonly text: string }[];
  handbookPaymentId?: string;
}

const { SHOP_FILE = '.till/shop.json' } = process.env;
const newState = { cookieSecret: randomBytes(32).toString('hex'), eventSecret: '', users: [] as User[] };
export const state: typeof newState = existsSync(SHOP_FILE)
  ? JSON.parse(readFileSync(SHOP_FILE, 'utf8'))
  : newState;

export function save(): void {
  writeFileSync(`${SHOP_FILE}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${SHOP_FILE}.new`, SHOP_FILE);
}

const emailOf = (form: URLSearchParams) => form.get('email')?.trim().toLowerCase() ?? '';
const passwordOf = (form: URLSearchParams) => form.get('password') ?? '';
const findByEmail = (email: string) => state.users.find((user) => user.email === email);

type CreateCustomer = (customer: { email: string; externalId: string }) => Promise<{ readonly id: string }>;

/** Creates an account and the customer for it. A text says why not. */
export async function createUser(
  form: URLSearchParams,
  createCustomer: CreateCustomer,
): Promise<User | string> {
  const [email, password] = [emailOf(form), passwordOf(form)];
  if (!/^[^@\s]+@[^@\s]+$/.test(email)) return 'Enter your e-mail address.';
  if (password.length < 8) return 'Choose a password of eight characters or more.';
  const taken = 'This address has an account. Sign in instead.';
  if (findByEmail(email) !== undefined) return taken;
  const [id, salt] = [randomUUID(), randomBytes(16).toString('hex')];
  const passwordHash = await hash(password, salt);
  const { id: customerId } = await createCustomer({ email, externalId: id });
  // Another request may have been faster.
  if (findByEmail(email) !== undefined) return taken;
  const user: User = { id, email, salt, passwordHash, customerId, messages: [] };
  state.users.push(user);
  save();
  return user;
}

/** The user with this address and password. */
export async function findUser(form: URLSearchParams): Promise<User | undefined> {
  const user = findByEmail(emailOf(form));
  // An unknown address takes as long as a wrong password.
  const given = await hash(passwordOf(form), user?.salt ?? '');
  return user !== undefined && isSame(given, user.passwordHash) ? user : undefined;
}

async function hash(password: string, salt: string): Promise<string> {
  return (await promisify<string, string, number, Buffer>(scrypt)(password, salt, 32)).toString('hex');
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** A session is a signed cookie. Other sites cannot send it with a form. Without a user, the session ends. */
export function sessionCookie(user: User | undefined, isSecure: boolean): string {
  const session = user === undefined ? '' : sign(user.id);
  return `shop=${session}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
}

export function userOf({ headers: { cookie = '' } }: IncomingMessage): User | undefined {
  const session = /(?:^|; )shop=([^;]*)/.exec(cookie)?.[1] ?? '';
  return state.users.find(({ id }) => isSame(session, sign(id)));
}

function sign(id: string): string {
  return `${id}.${createHmac('sha256', state.cookieSecret).update(id).digest('hex')}`;
}
