import assert from 'node:assert/strict';

export interface OpenedPage {
  readonly status: number;
  /** The text that people see, without tags. */
  readonly text: string;
  readonly markup: string;
  readonly headers: Headers;
  /** Where the page leads by itself. */
  readonly continuesAt: string | null;
  /**
   * Sends the form as a browser without scripts does: the first one, or the first whose address contains a text. A sent
   * form always leads to another page.
   */
  send(
    fields: Readonly<Record<string, string>>,
    form?: string,
  ): Promise<{ location: string; page: OpenedPage }>;
  /** Sends a form that is refused. */
  sendRefused(fields: Readonly<Record<string, string>>): Promise<OpenedPage>;
  /** Follows the link with this text. */
  follow(text: string): Promise<OpenedPage>;
}

/** Opens a page of the sandbox, and checks what all of them have in common. */
export async function openPage(url: URL | string): Promise<OpenedPage> {
  return readPage(String(url), await fetch(url));
}

async function readPage(url: string, response: Response): Promise<OpenedPage> {
  const markup = await response.text();
  assert.match(markup, /^<!doctype html>\n<html lang="en">/);
  assert.match(markup, /name="viewport"/);
  assert.equal(markup.match(/<h1>/g)?.length, 1);
  // Only a payment page in a frame has a script, which tells the page around it how high it is.
  const rest = markup.replace('<script defer src="/v3/frame.js"></script>', '');
  assert.doesNotMatch(rest, /<script|<style|style="|\son[a-z]+=/);
  const post = (fields: Readonly<Record<string, string>>, form = '') => {
    const actions = [...markup.matchAll(/<form method="post" action="([^"]+)">/g)].map(([, url = '']) =>
      unescapeHtml(url),
    );
    const action = actions.find((url) => url.includes(form)) ?? '';
    assert.notEqual(action, '', 'the page has a form');
    return fetch(new URL(action, url), {
      method: 'POST',
      body: new URLSearchParams(fields),
      redirect: 'manual',
    });
  };
  const next = /<meta http-equiv="refresh" content="0; url=([^"]+)">/.exec(markup)?.[1];
  return {
    status: response.status,
    text: unescapeHtml(markup.replaceAll(/<[^>]*>/g, ' ')).replaceAll(/\s+/g, ' '),
    markup,
    headers: response.headers,
    continuesAt: next === undefined ? null : unescapeHtml(next),
    send: async (fields, form) => {
      const redirect = await post(fields, form);
      assert.equal(redirect.status, 303, await redirect.clone().text());
      const location = String(redirect.headers.get('location'));
      return { location, page: await openPage(new URL(location, url)) };
    },
    sendRefused: async (fields) => readPage(url, await post(fields)),
    follow: (text) => {
      const links = [...markup.matchAll(/<a href="([^"]+)">([^<]*)<\/a>/g)];
      const link = links.find(([, , shown]) => shown === text)?.[1];
      assert.ok(link, `a link "${text}" in ${markup}`);
      return openPage(new URL(unescapeHtml(link), url));
    },
  };
}

function unescapeHtml(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}
