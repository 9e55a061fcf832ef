import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AddressPolicy, addressMistake, literalAddress, urlMistake } from './endpoint-address.ts';

const strict = { allowPrivate: false };
const lenient = { allowPrivate: true };
const withLoopback = { allowPrivate: false, allowLoopback: true };

/** Why a URL is refused, without a name lookup. */
function mistakeOf(text: string, policy: AddressPolicy = strict): string | undefined {
  const url = URL.parse(text);
  const literal = url === null ? undefined : literalAddress(url);
  return urlMistake(text, policy) ?? (literal === undefined ? undefined : addressMistake(literal, policy));
}

test('a URL needs https and a host, and has no user, password, fragment or port 0', () => {
  for (const [url, mistake] of [
    ['https://', /valid URL/],
    ['example.com', /valid URL/],
    ['https://exa mple.com', /valid URL/],
    [
      'http://example.com',
      /begin with https:\/\/\. Set EVENT_ENDPOINTS_ALLOW_PRIVATE=true to allow http:\/\/$/,
    ],
    ['ftp://example.com', /begin with https/],
    ['file:///etc/passwd', /begin with https/],
    ['javascript:alert(1)', /begin with https/],
    ['https://user@example.com', /user or a password/],
    ['https://:secret@example.com', /user or a password/],
    ['https://example.com#', /fragment/],
    ['https://example.com/a#b', /fragment/],
    ['https://example.com:0', /port 0/],
    ['https://example.com:65536', /valid URL/],
  ] as const)
    assert.match(String(mistakeOf(url)), mistake, url);
  for (const url of ['https://example.com', 'https://example.com:8443/a?b=c', 'https://1.1.1.1/'])
    assert.equal(mistakeOf(url), undefined, url);
});

test('an address that is not public is refused in every spelling', () => {
  for (const host of [
    ...['127.0.0.1', '127.1', '2130706433', '0177.0.0.1', '0x7f.0.0.1', '0x7f000001', '127.0.0.1.', '0'],
    ...[
      '10.0.0.1',
      '172.16.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '255.255.255.255',
    ],
    ...['192.0.2.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '１２７.0.0.1'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:8.8.8.8]', '[::127.0.0.1]', '[64:ff9b::7f00:1]'],
    ...['[64:ff9b:1::1]', '[2002:7f00:1::]', '[2001::1]', '[fe80::1]', '[fc00::1]', '[fec0::1]', '[ff02::1]'],
    ...['[2001:db8::1]', '[100::1]'],
  ])
    assert.match(String(mistakeOf(`https://${host}/`)), /not public/, host);
  assert.equal(mistakeOf('https://[2606:4700:4700::1111]/'), undefined);
  assert.match(String(addressMistake('fe80::1%eth0', strict)), /not public/);
  assert.match(String(addressMistake('no address', strict)), /not public/);
});

test('private addresses and http are allowed on request, and nothing else', () => {
  for (const url of ['http://127.0.0.1:3000', 'http://localhost', 'https://[::1]/'])
    assert.equal(mistakeOf(url, lenient), undefined, url);
  for (const url of ['ftp://localhost', 'http://user@localhost', 'http://localhost#a'])
    assert.notEqual(mistakeOf(url, lenient), undefined, url);
});

test('an application on this machine can be allowed alone, with http, without other private addresses', () => {
  for (const host of ['127.0.0.1:4000', 'localhost:4000', '127.1', '127.8.9.10', '[::1]:4000', '2130706433'])
    for (const scheme of ['http', 'https'])
      assert.equal(mistakeOf(`${scheme}://${host}/`, withLoopback), undefined, host);
  for (const host of [
    '10.0.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '0.0.0.0',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[fe80::1]',
  ])
    assert.match(
      String(mistakeOf(`https://${host}/`, withLoopback)),
      /Set EVENT_ENDPOINTS_ALLOW_PRIVATE=true/,
      host,
    );
  for (const host of ['example.com', '1.1.1.1', '10.0.0.1', 'localhost.example.com', '127.0.0.1.example.com'])
    assert.match(String(mistakeOf(`http://${host}/`, withLoopback)), /must begin with https/, host);
});
