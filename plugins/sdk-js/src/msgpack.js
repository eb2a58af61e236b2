// The MessagePack format, without knowledge of types: a reader and a writer of single items.

import { decodeUtf8, encodeUtf8 } from "./utf8.js";

const MAX_SAFE = 9007199254740991;

/** Writes MessagePack items into a buffer. */
export class MessageWriter {
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  finish() {
    return this.#bytes.slice(0, this.#length);
  }

  nil() {
    return this.#byte(0xc0);
  }

  bool(value) {
    return this.#byte(value ? 0xc3 : 0xc2);
  }

  /** Writes an integer of 64 bits, a number or a bigint, in the shortest form. */
  integer(value) {
    if (typeof value === "bigint" && (value > MAX_SAFE || value < -MAX_SAFE)) {
      const at = this.#reserve(9);
      this.#view.setUint8(at, value < 0n ? 0xd3 : 0xcf);
      if (value < 0n) this.#view.setBigInt64(at + 1, value);
      else this.#view.setBigUint64(at + 1, value);
      return this;
    }
    const number = Number(value);
    if (number >= 0) {
      if (number < 0x80) return this.#byte(number);
      if (number < 0x100) return this.#sized(0xcc, 1, number);
      if (number < 0x10000) return this.#sized(0xcd, 2, number);
      if (number < 0x100000000) return this.#sized(0xce, 4, number);
    } else {
      if (number >= -0x20) return this.#byte(number + 0x100);
      if (number >= -0x80) return this.#sized(0xd0, 1, number + 0x100);
      if (number >= -0x8000) return this.#sized(0xd1, 2, number + 0x10000);
      if (number >= -0x80000000) return this.#sized(0xd2, 4, number + 0x100000000);
    }
    const at = this.#reserve(9);
    this.#view.setUint8(at, number < 0 ? 0xd3 : 0xcf);
    this.#view.setBigInt64(at + 1, BigInt(number));
    return this;
  }

  float(value) {
    const at = this.#reserve(9);
    this.#view.setUint8(at, 0xcb);
    this.#view.setFloat64(at + 1, value);
    return this;
  }

  string(text) {
    const bytes = encodeUtf8(text);
    const length = bytes.length;
    if (length < 32) this.#byte(0xa0 | length);
    else if (length < 0x100) this.#sized(0xd9, 1, length);
    else if (length < 0x10000) this.#sized(0xda, 2, length);
    else this.#sized(0xdb, 4, length);
    return this.#raw(bytes);
  }

  binary(bytes) {
    const length = bytes.length;
    if (length < 0x100) this.#sized(0xc4, 1, length);
    else if (length < 0x10000) this.#sized(0xc5, 2, length);
    else this.#sized(0xc6, 4, length);
    return this.#raw(bytes);
  }

  arrayHeader(length) {
    if (length < 16) return this.#byte(0x90 | length);
    return length < 0x10000 ? this.#sized(0xdc, 2, length) : this.#sized(0xdd, 4, length);
  }

  mapHeader(length) {
    if (length < 16) return this.#byte(0x80 | length);
    return length < 0x10000 ? this.#sized(0xde, 2, length) : this.#sized(0xdf, 4, length);
  }

  extension(code, bytes) {
    const length = bytes.length;
    const fixed = [1, 2, 4, 8, 16].indexOf(length);
    if (fixed >= 0) this.#byte(0xd4 + fixed);
    else if (length < 0x100) this.#sized(0xc7, 1, length);
    else if (length < 0x10000) this.#sized(0xc8, 2, length);
    else this.#sized(0xc9, 4, length);
    return this.#byte(code).#raw(bytes);
  }

  #byte(value) {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
    return this;
  }

  #sized(marker, size, value) {
    const at = this.#reserve(1 + size);
    this.#view.setUint8(at, marker);
    if (size === 1) this.#view.setUint8(at + 1, value);
    else if (size === 2) this.#view.setUint16(at + 1, value);
    else this.#view.setUint32(at + 1, value);
    return this;
  }

  #raw(bytes) {
    const at = this.#reserve(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  #reserve(size) {
    const at = this.#length;
    this.#length += size;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}

/**
 * Reads MessagePack items. An item is {kind, value}: `value` is the content of a nil, bool, integer
 * (number or bigint), float, string or binary, the number of elements of an array or map, or
 * {code, bytes} of an extension.
 */
export class MessageReader {
  #bytes;
  #view;
  #position = 0;

  constructor(bytes) {
    this.#bytes = bytes instanceof Uint8Array ? bytes : Uint8Array.from(bytes);
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
  }

  /** Whether all bytes have been read. */
  get ended() {
    return this.#position === this.#bytes.length;
  }

  next() {
    const marker = this.#unsigned(1);
    if (marker < 0x80) return { kind: "integer", value: marker };
    if (marker >= 0xe0) return { kind: "integer", value: marker - 0x100 };
    if (marker < 0x90) return this.#collection("map", marker & 0x0f);
    if (marker < 0xa0) return this.#collection("array", marker & 0x0f);
    if (marker < 0xc0) return this.#string(marker & 0x1f);
    switch (marker) {
      case 0xc0:
        return { kind: "nil", value: null };
      case 0xc2:
      case 0xc3:
        return { kind: "bool", value: marker === 0xc3 };
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return { kind: "binary", value: this.#take(this.#unsigned(1 << (marker - 0xc4))) };
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#extension(this.#unsigned(1 << (marker - 0xc7)));
      case 0xca:
        return { kind: "float", value: this.#view.getFloat32(this.#advance(4)) };
      case 0xcb:
        return { kind: "float", value: this.#view.getFloat64(this.#advance(8)) };
      case 0xcc:
      case 0xcd:
      case 0xce:
        return { kind: "integer", value: this.#unsigned(1 << (marker - 0xcc)) };
      case 0xcf:
        return { kind: "integer", value: safe(this.#view.getBigUint64(this.#advance(8))) };
      case 0xd0:
        return { kind: "integer", value: this.#view.getInt8(this.#advance(1)) };
      case 0xd1:
        return { kind: "integer", value: this.#view.getInt16(this.#advance(2)) };
      case 0xd2:
        return { kind: "integer", value: this.#view.getInt32(this.#advance(4)) };
      case 0xd3:
        return { kind: "integer", value: safe(this.#view.getBigInt64(this.#advance(8))) };
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#extension(1 << (marker - 0xd4));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#string(this.#unsigned(1 << (marker - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#collection("array", this.#unsigned(marker === 0xdc ? 2 : 4));
      case 0xde:
      case 0xdf:
        return this.#collection("map", this.#unsigned(marker === 0xde ? 2 : 4));
      default:
        throw new RangeError(`byte 0x${marker.toString(16)} does not start a MessagePack item`);
    }
  }

  #unsigned(size) {
    const at = this.#advance(size);
    if (size === 1) return this.#view.getUint8(at);
    return size === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  #string(length) {
    return { kind: "string", value: decodeUtf8(this.#take(length)) };
  }

  #extension(length) {
    const code = this.#view.getInt8(this.#advance(1));
    return { kind: "extension", value: { code, bytes: this.#take(length) } };
  }

  #collection(kind, length) {
    // Each element has at least one byte, and each entry of a map two, so memory is bounded by the input.
    const least = kind === "map" ? length * 2 : length;
    if (least > this.#bytes.length - this.#position) throw truncated();
    return { kind, value: length };
  }

  #take(length) {
    const at = this.#advance(length);
    return this.#bytes.subarray(at, at + length);
  }

  #advance(size) {
    const at = this.#position;
    if (size > this.#bytes.length - at) throw truncated();
    this.#position += size;
    return at;
  }
}

function truncated() {
  return new RangeError("the MessagePack data is truncated");
}

function safe(big) {
  const number = Number(big);
  return Number.isSafeInteger(number) ? number : big;
}
