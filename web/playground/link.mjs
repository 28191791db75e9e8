// Links: a run as the fragment of an address, which browsers send to no server. The same as include/pipeloom/link.hpp of the program:
//
//   #c=VALUE&compare=VALUE   VALUE: "1." and, in base64url without padding, the raw deflate of a configuration's JSON
//   #u=PATH                  instead of c: a file beside the page

/** The most characters of a value, and the most bytes that a configuration has when it is unpacked. */
export const MOST_VALUE = 32768;
export const MOST_TEXT = 1 << 20;
const VERSION = '1';

/** A link that does not open, in one sentence for people. */
export class LinkError extends Error {}

function refuse(sentence) {
  throw new LinkError(sentence);
}

/** Text of others: no control characters, and no more than a line. */
function shortened(text) {
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  return plain.length > 60 ? `${plain.slice(0, 57)}...` : plain;
}

/** JSON without comments and blanks; numbers and texts stay as they are written. */
export function compactJson(text) {
  const parts = text.match(/"(?:[^"\\]|\\[^])*"?|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|\s+|[^"\s/]+|\//g) ?? [];
  return parts.filter((part) => !/^(?:\s|\/[/*])/.test(part)).join('');
}

function toBase64(bytes) {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function fromBase64(name, text) {
  const strange = text.match(/[^A-Za-z0-9_-]/u);
  if (strange) refuse(`'${shortened(strange[0])}' in the value of ${name}= is no digit of base64url (A-Z a-z 0-9 - _); copy the link again`);
  if (text.length % 4 === 1) refuse(`the value of ${name}= ends too early; copy the link again, as a whole`);
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (digit) => digit.charCodeAt(0));
}

/** All of a stream, up to `most` bytes; undefined where there are more. What follows is never unpacked. */
export async function readAll(stream, most) {
  const reader = stream.getReader();
  const blocks = [];
  let size = 0;
  for (let block = await reader.read(); !block.done; block = await reader.read()) {
    size += block.value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    blocks.push(block.value);
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const block of blocks) {
    out.set(block, at);
    at += block.length;
  }
  return out;
}

function through(bytes, transform) {
  const writer = transform.writable.getWriter();
  // Faults are those of the other end, which is read.
  writer.write(bytes).catch(() => {});
  writer.close().catch(() => {});
  return transform.readable;
}

/** The bytes of a configuration as text. */
export function decodedText(bytes, what) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse(`${what} is no text (UTF-8)`);
  }
}

async function unpacked(name, packed) {
  let bytes;
  try {
    bytes = await readAll(through(packed, new DecompressionStream('deflate-raw')), MOST_TEXT);
  } catch {
    return refuse(`the value of ${name}= is cut or damaged; copy the link again, as a whole`);
  }
  if (bytes === undefined) refuse(`the value of ${name}= unpacks to more than 1 MiB, the most that is read; give the configuration as a file`);
  return decodedText(bytes, `the value of ${name}= unpacks to what`);
}

/** The value of a configuration's text. Throws LinkError where it is too long for a link. */
export async function encodeValue(text) {
  const compact = new TextEncoder().encode(compactJson(text));
  const packed = await readAll(through(compact, new CompressionStream('deflate-raw')), MOST_VALUE);
  const value = packed === undefined ? undefined : `${VERSION}.${toBase64(packed)}`;
  if (value === undefined || value.length > MOST_VALUE || compact.length > MOST_TEXT)
    refuse(`this configuration is longer than links are (${MOST_VALUE} characters); give it as a file`);
  return value;
}

/** The text of a value; `name` is the parameter that it is of. Throws LinkError. */
export async function decodeValue(value, name = 'c') {
  if (value.length > MOST_VALUE) refuse(`the value of ${name}= has ${value.length} characters, and at most ${MOST_VALUE} are read; give the configuration as a file`);
  const version = value.match(/^([0-9]{1,9})\./)?.[1];
  if (version === undefined) refuse(`the value of ${name}= begins with no version; it is '${VERSION}.' and base64url: copy the link again`);
  if (version !== VERSION) refuse(`this link is of version ${version}; this page reads version ${VERSION}: open it with a newer page, or ask for the configuration as a file`);
  const text = await unpacked(name, fromBase64(name, value.slice(version.length + 1)));
  if (!/^\s*\{[^]*\}\s*$/.test(text)) refuse(`the value of ${name}= holds no configuration; copy the link again, as a whole`);
  return text;
}

function decoded(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

/** The path that u= gives: of a file below the page, and nothing else. */
export function pathBelowPage(value) {
  const path = decoded(value);
  const isPlain = path !== undefined && path !== '' && !/^\/|[\\:?#%\p{Cc}]/u.test(path) && !path.split('/').includes('..');
  if (!isPlain) refuse(`u='${shortened(path ?? value)}' is no path of a file beside the page; give a relative one without '..', such as run.json`);
  return path;
}

/** {config, compare, file}: the texts of a fragment, or undefined. Throws LinkError. */
export async function readFragment(fragment) {
  const link = {};
  for (const parameter of fragment.replace(/^#/, '').split('&')) {
    if (parameter === '') continue;
    const [, name, value] = parameter.match(/^([^=]*)=?([^]*)$/);
    const known = { c: 'config', compare: 'compare', u: 'file' };
    const key = Object.hasOwn(known, name) ? known[name] : refuse(`unknown parameter '${shortened(name)}'; allowed are c, compare, u`);
    if (link[key] !== undefined) refuse(`${name}= is there twice; leave one of them out`);
    link[key] = key === 'file' ? pathBelowPage(value) : await decodeValue(value, name);
  }
  if (link.config !== undefined && link.file !== undefined) refuse('c= and u= are both there, and each says the run; leave one of them out');
  if (link.compare !== undefined && link.config === undefined && link.file === undefined) refuse('compare= is there and no c= that it compares with; copy the link again');
  return link;
}

/** The fragment of one configuration, or of two. */
export async function writeFragment(config, compare) {
  const first = `#c=${await encodeValue(config)}`;
  return compare === undefined ? first : `${first}&compare=${await encodeValue(compare)}`;
}
