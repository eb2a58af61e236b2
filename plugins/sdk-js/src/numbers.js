// Numbers of the language have up to 512 bits, so not all of them are JavaScript numbers.

/** A number that is neither a JavaScript number nor a bigint without loss, as its decimal digits. */
export class Decimal {
  constructor(digits) {
    if (!isDecimal(digits)) throw new TypeError(`${JSON.stringify(digits)} is not a decimal number`);
    this.digits = digits;
  }

  toString() {
    return this.digits;
  }

  /** Returns the closest JavaScript number. */
  toNumber() {
    return Number(this.digits);
  }

  toJSON() {
    return this.digits;
  }
}

function isDecimal(text) {
  return typeof text === "string" && text.length <= 4096 && /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,4})?$/.test(text);
}

/**
 * Returns the number that decimal text denotes: a number if it is exact, a bigint for other
 * integers, otherwise a Decimal.
 */
export function numberFromText(text) {
  if (!isDecimal(text)) throw new TypeError(`${JSON.stringify(text)} is not a number`);
  const plain = plainDecimal(text);
  if (/^-?\d+$/.test(plain)) return integer(BigInt(plain));
  const number = Number(plain);
  return plainDecimal(String(number)) === plain ? number : new Decimal(plain);
}

/** Returns an integer as a number if it is safe, otherwise as a bigint. */
export function integer(big) {
  const number = Number(big);
  return Number.isSafeInteger(number) ? number : big;
}

/** Returns the decimal digits of a number, without an exponent. */
export function textOfNumber(value) {
  if (typeof value === "bigint") return value.toString();
  return plainDecimal(value instanceof Decimal ? value.digits : String(value));
}

/** Whether the value is a number of the language. */
export function isNumber(value) {
  return typeof value === "number" || typeof value === "bigint" || value instanceof Decimal;
}

function plainDecimal(text) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^([-+]?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return text;
  const shift = Number(exponent);
  let digits = whole + fraction;
  let point = whole.length + shift;
  if (point < 0) {
    digits = "0".repeat(-point) + digits;
    point = 0;
  }
  if (point > digits.length) digits += "0".repeat(point - digits.length);
  const before = digits.slice(0, point).replace(/^0+(?=\d)/, "") || "0";
  const after = digits.slice(point).replace(/0+$/, "");
  const plain = after === "" ? before : `${before}.${after}`;
  return sign === "-" && /[1-9]/.test(plain) ? `-${plain}` : plain;
}

/** Whether a finite number that is not an integer is equal to its shortest decimal digits. */
export function isExactFloat(number) {
  const text = textOfNumber(number);
  const places = text.includes(".") ? text.length - text.indexOf(".") - 1 : 0;
  // A decimal number with `places` digits is a binary fraction only if its denominator divides this.
  return places <= 60 && Number.isInteger(number * 2 ** places);
}
