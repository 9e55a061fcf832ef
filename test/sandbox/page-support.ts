import assert from 'node:assert/strict';

export interface OpenedPage {
  readonly status: number;
  /** The text that people see, without tags. */
  readonly text: string;
  readonly markup: string;
  readonly headers: Headers;
  /** Where the page leads by itself. */
  readonly continuesAt: string | null;
  /** Sends the form as a browser without scripts does. A sent form always leads to another page. */
  send(fields: Readonly<Record<string, string>>): Promise<{ location: string; page: OpenedPage }>;
  /** Sends a form that is refused. */
  sendRefused(fields: Readonly<Record<string, string>>): Promise<OpenedPage>;
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
  assert.doesNotMatch(markup, /<script|<style|style="|\son[a-z]+=/);
  const post = (fields: Readonly<Record<string, string>>) => {
    const action = unescapeHtml(/<form method="post" action="([^"]+)">/.exec(markup)?.[1] ?? '');
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
    send: async (fields) => {
      const redirect = await post(fields);
      assert.equal(redirect.status, 303, await redirect.clone().text());
      const location = String(redirect.headers.get('location'));
      return { location, page: await openPage(new URL(location, url)) };
    },
    sendRefused: async (fields) => readPage(url, await post(fields)),
  };
}

function unescapeHtml(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}
