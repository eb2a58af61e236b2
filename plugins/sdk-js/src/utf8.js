// UTF-8 for JavaScript engines that have neither TextEncoder nor TextDecoder, such as QuickJS.

/** Encodes a string as UTF-8. A surrogate without its partner becomes U+FFFD. */
export function encodeUtf8(text) {
  let length = 0;
  for (const character of text) length += sizeOf(character.codePointAt(0));
  const bytes = new Uint8Array(length);
  let position = 0;
  for (const character of text) {
    let code = character.codePointAt(0);
    if (isSurrogate(code)) code = 0xfffd;
    if (code < 0x80) {
      bytes[position++] = code;
    } else if (code < 0x800) {
      bytes[position++] = 0xc0 | (code >> 6);
      bytes[position++] = 0x80 | (code & 0x3f);
    } else if (code < 0x10000) {
      bytes[position++] = 0xe0 | (code >> 12);
      bytes[position++] = 0x80 | ((code >> 6) & 0x3f);
      bytes[position++] = 0x80 | (code & 0x3f);
    } else {
      bytes[position++] = 0xf0 | (code >> 18);
      bytes[position++] = 0x80 | ((code >> 12) & 0x3f);
      bytes[position++] = 0x80 | ((code >> 6) & 0x3f);
      bytes[position++] = 0x80 | (code & 0x3f);
    }
  }
  return bytes;
}

/** Decodes UTF-8. Throws a RangeError if the bytes are not valid UTF-8. */
export function decodeUtf8(bytes) {
  const parts = [];
  let codes = [];
  let position = 0;
  while (position < bytes.length) {
    const first = bytes[position++];
    let code = first;
    if (first >= 0x80) {
      const [more, least] = following(first);
      code = first & (0x3f >> more);
      for (let index = 0; index < more; index++) {
        const next = bytes[position++];
        if (next === undefined || (next & 0xc0) !== 0x80) throw new RangeError("the text is not valid UTF-8");
        code = (code << 6) | (next & 0x3f);
      }
      if (code < least || code > 0x10ffff || isSurrogate(code)) throw new RangeError("the text is not valid UTF-8");
    }
    codes.push(code);
    // The number of arguments of a call is limited.
    if (codes.length === 4096) {
      parts.push(String.fromCodePoint(...codes));
      codes = [];
    }
  }
  parts.push(String.fromCodePoint(...codes));
  return parts.join("");
}

function following(first) {
  if (first >= 0xc2 && first <= 0xdf) return [1, 0x80];
  if (first >= 0xe0 && first <= 0xef) return [2, 0x800];
  if (first >= 0xf0 && first <= 0xf4) return [3, 0x10000];
  throw new RangeError("the text is not valid UTF-8");
}

function isSurrogate(code) {
  return code >= 0xd800 && code <= 0xdfff;
}

function sizeOf(code) {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
