import type { FastifyReply } from 'fastify';
import { pageHeaders } from '../page-headers.ts';

/** Why a person could not sign in, in the words of the page. */
const pages = {
  expired: {
    status: 400,
    title: 'Sign-in expired',
    text: 'This sign-in has expired, was already used, or was started in another browser.',
  },
  refused: {
    status: 403,
    title: 'Sign-in refused',
    text: 'The identity provider did not confirm the sign-in.',
  },
  no_email: {
    status: 403,
    title: 'No access',
    text: 'The identity provider sent no e-mail address. Ask your administrator to send the claim “email”.',
  },
  unverified_email: {
    status: 403,
    title: 'No access',
    text: 'The identity provider says that your e-mail address is not verified. Verify it, and sign in again.',
  },
  no_role: {
    status: 403,
    title: 'No access',
    text: 'You are in no group that may use this console. Ask your administrator for access.',
  },
  limited: {
    status: 429,
    title: 'Too many sign-ins',
    text: 'Too many sign-ins from your network were refused. Try again in a minute.',
  },
  unavailable: {
    status: 503,
    title: 'Identity provider unavailable',
    text: 'The identity provider does not respond. Try again in a minute.',
  },
} as const;

export type SignInProblem = keyof typeof pages;

export function statusOf(problem: SignInProblem): number {
  return pages[problem].status;
}

/** Contains no text of the request. */
export function sendSignInProblem(reply: FastifyReply, problem: SignInProblem): FastifyReply {
  const { status, title, text } = pages[problem];
  reply.headers({ ...pageHeaders, ...(status === 503 || status === 429 ? { 'retry-after': '60' } : {}) });
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Till</title>
<link rel="icon" href="/console/assets/icon.svg">
<link rel="stylesheet" href="/console/assets/console.css">
</head>
<body>
<main class="sign-in">
<h1>${title}</h1>
<p>${text}</p>
<p><a href="/console">Sign in again</a></p>
</main>
</body>
</html>
`);
}
