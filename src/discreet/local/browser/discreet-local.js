/* Private reports in the browser: one value of one person becomes a few bytes, and only they leave.
 *
 *   import { client } from "./discreet-local.js";
 *   const device = await client(await (await fetch("form.json")).json());
 *   await fetch("/reports", { method: "POST", body: device.report("flu") });
 *
 * Trust: kernel.  The laws are those of discreet.local in Python, and so are the bytes.  Every draw
 * is exact: integers alone, from crypto.getRandomValues.  A coin of chance p shows heads if a
 * uniform U is below p; p is enclosed between integers, and more bits of U are drawn until they
 * decide.  What is drawn, and in which order, does not depend on the value.
 */

const KIND = "discreet local form";
const FORMAT = 1;
const POOL = 4096;
const MOST_EPSILON = 100n;

/** Random bits of the operating system; words are read `step` bits at a time. */
class SystemBits {
  constructor() {
    this.step = 64;
    this.pool = new Uint8Array(POOL);
    this.used = POOL;
  }

  /** Return a uniform integer below 2**width, as a BigInt. */
  bits(width) {
    let word = 0n;
    for (let left = width; left > 0; left -= 8) {
      if (this.used === POOL) {
        globalThis.crypto.getRandomValues(this.pool);
        this.used = 0;
      }
      word = (word << 8n) | BigInt(this.pool[this.used]);
      this.pool[this.used++] = 0;
    }
    return word >> BigInt((8 - (width % 8)) % 8);
  }
}

/** Return a uniform integer below `count`, by rejection. */
function uniform(count, source) {
  const width = (count - 1).toString(2).length;
  for (;;) {
    const drawn = count === 1 ? 0 : Number(source.bits(width));
    if (drawn < count) return drawn;
  }
}

/** Enclose 2**bits * exp(-top/bottom) between two integers: halve, sum a Taylor series, square. */
function expNeg([top, bottom], bits) {
  const whole = top / bottom;
  if (whole > BigInt(bits + 8)) return [0n, 1n];
  const halvings = BigInt(whole.toString(2).length + 8);
  const scale = BigInt(bits) + 32n + 2n * halvings;
  const y = (top << scale) / (bottom << halvings);
  let total = 1n << scale;
  let terms = 0n;
  for (let term = total; term > 0n; ) {
    terms += 1n;
    term = ((term * y) >> scale) / terms;
    total += terms & 1n ? -term : term;
  }
  let error = 2n * terms + 4n;
  for (let round = 0n; round < halvings; round += 1n) {
    total = (total * total) >> scale;
    error = 2n * error + 2n;
  }
  const drop = scale - BigInt(bits);
  const low = (total - error) >> drop;
  return [low > 0n ? low : 0n, ((total + error) >> drop) + 1n];
}

/** Return exp(-x) rounded up, as the fraction that Python uses too: no ratio exceeds exp(x). */
function inwardDecay(x) {
  const [top, bottom] = x[0] > 100n * x[1] ? [100n, 1n] : x;
  const bits = 128n + (3n * top + 2n * bottom - 1n) / (2n * bottom);
  const one = 1n << bits;
  const above = expNeg(x, Number(bits))[1] + 1n;
  return [above < one ? above : one, one];
}

/** Flip a coin of chance top / bottom: reveal bits of a uniform U until they say whether U is below. */
function flip([top, bottom], source) {
  const step = BigInt(source.step);
  let bits = step;
  for (let word = source.bits(source.step); ; word = (word << step) | source.bits(source.step)) {
    if ((word + 1n) * bottom <= top << bits) return 1;
    if (word * bottom >= top << bits) return 0;
    bits += step;
  }
}

/** Bytes of an integer, the lowest first. */
function integerBytes(number, size) {
  const bytes = new Uint8Array(size);
  for (let place = 0, rest = BigInt(number); place < size; place += 1, rest >>= 8n) {
    bytes[place] = Number(rest & 255n);
  }
  return bytes;
}

const widthOf = (number) => number.toString(2).length;
const bytesFor = (bits) => (bits + 7) >> 3;

/** One randomizer for each name: a function of code and source that returns the payload. */
const RANDOMIZERS = {
  direct({ epsilon, values }) {
    const [top, bottom] = inwardDecay(epsilon);
    const others = BigInt(values - 1);
    const lie = [others * top, bottom + others * top];
    const size = bytesFor(widthOf(values - 1));
    return (code, source) => {
      const place = 1 + uniform(values - 1, source);
      return integerBytes((code + place * flip(lie, source)) % values, size);
    };
  },

  unary({ epsilon, values, coding }) {
    if (coding !== "symmetric" && coding !== "optimized") throw unknown();
    const halved = [epsilon[0], 2n * epsilon[1]];
    const [top, bottom] = inwardDecay(coding === "symmetric" ? halved : epsilon);
    const raised = [top, top + bottom];
    const kept = coding === "symmetric" ? [bottom, top + bottom] : [1n, 2n];
    return (code, source) => {
      const own = flip(kept, source);
      const row = new Uint8Array(bytesFor(values));
      for (let place = 0; place < values; place += 1) {
        const mine = Number(place === code);
        const bit = mine * own + (1 - mine) * flip(raised, source);
        row[place >> 3] |= bit << (place & 7);
      }
      return row;
    };
  },

  subset({ epsilon, values, size }) {
    if (!Number.isSafeInteger(size) || size < 1 || size >= values) throw unknown();
    const [top, bottom] = inwardDecay(epsilon);
    const own = BigInt(size) * bottom;
    const inside = [own, own + BigInt(values - size) * top];
    const width = widthOf(values - 1);
    const named = size * width < values;
    return (code, source) => {
      const others = Array.from({ length: values - 1 }, (_, place) => place + (place >= code));
      for (let place = 0; place < size; place += 1) {
        const drawn = place + uniform(values - 1 - place, source);
        [others[place], others[drawn]] = [others[drawn], others[place]];
      }
      const has = flip(inside, source);
      const members = others.slice(0, size);
      members[size - 1] = has * code + (1 - has) * members[size - 1];
      members.sort((one, two) => one - two);
      const row = new Uint8Array(bytesFor(named ? size * width : values));
      const raise = (bit) => (row[bit >> 3] |= 1 << (bit & 7));
      members.forEach((member, place) => {
        if (!named) raise(member);
        for (let bit = 0; named && bit < width; bit += 1) {
          if ((member >> bit) & 1) raise(place * width + bit);
        }
      });
      return row;
    };
  },

  hadamard({ epsilon, values }) {
    const [top, bottom] = inwardDecay(epsilon);
    const lie = [top, top + bottom];
    const width = widthOf(values);
    return (code, source) => {
      const row = source.bits(width);
      const shared = row & BigInt(code + 1);
      let sign = BigInt(flip(lie, source));
      for (let place = 0n; place < BigInt(width); place += 1n) sign ^= (shared >> place) & 1n;
      return integerBytes((row << 1n) | sign, bytesFor(width + 1));
    };
  },
};

function unknown() {
  return new TypeError("this is no form that this client knows");
}

/** Read "3", "3/2", "0.5" or "1e-3" as a fraction of two BigInts. */
function fraction(text) {
  const found = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?(?:\/(\d+))?$/.exec(text);
  if (!found || !(found[2] || found[3])) throw new RangeError("not a number");
  const [, sign, whole, tail = "", exponent = "0", under = "1"] = found;
  const shift = Number(exponent) - tail.length;
  if (Math.abs(shift) > 5000) throw new RangeError("not a number");
  const top = BigInt(sign + "1") * BigInt(whole + tail);
  const ten = 10n ** BigInt(Math.abs(shift));
  return shift < 0 ? [top, BigInt(under) * ten] : [top * ten, BigInt(under)];
}

function outside() {
  return new RangeError("the value is outside the domain of the form");
}

/** Return how many codes a domain has, and the code of a value; what lies outside is not quoted. */
function coder(domain) {
  if (domain?.bins !== undefined) return binCoder(domain);
  const { categories, other = null } = domain ?? {};
  if (!Array.isArray(categories)) throw unknown();
  const names = other === null ? categories : [...categories, other];
  const places = new Map(names.map((name, place) => [name, place]));
  const known = names.every((name) => typeof name === "string" || Number.isSafeInteger(name));
  if (!known || places.size !== names.length || names.length < 2) throw unknown();
  return {
    values: names.length,
    code(value) {
      const place = places.get(value);
      if (place === undefined && other === null) throw outside();
      return place ?? names.length - 1;
    },
  };
}

function binCoder({ bins, low, high }) {
  const [start, stop] = [fraction(String(low)), fraction(String(high))];
  const span = stop[0] * start[1] - start[0] * stop[1];
  if (!Number.isSafeInteger(bins) || bins < 2 || span <= 0n) throw unknown();
  return {
    values: bins,
    code(value) {
      let given = null;
      try {
        given = fraction(typeof value === "number" ? String(value) : value.trim());
      } catch {
        throw outside();
      }
      const above = given[0] * start[1] - start[0] * given[1];
      const below = stop[0] * given[1] - given[0] * stop[1];
      if (above < 0n || below < 0n) throw outside();
      const place = (above * BigInt(bins) * stop[1]) / (span * given[1]);
      return Math.min(Number(place), bins - 1);
    },
  };
}

/** Write JSON as Python does for the digest: sorted names, no spaces, ASCII. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${canonical(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * Return a client of a form, which is the parsed document that `discreet local form` writes.
 *
 * `client.report(value)` returns the bytes of one report.  Each call is a new report and costs the
 * epsilon of the form again: send one for each person and form.  `source` is for tests.
 */
export async function client(form, source = new SystemBits()) {
  const { kind, format, domain, randomizer } = form ?? {};
  if (kind !== KIND || format !== FORMAT || !Object.hasOwn(RANDOMIZERS, randomizer?.name)) {
    throw unknown();
  }
  const codes = coder(domain);
  const epsilon = fraction(String(randomizer.epsilon));
  const sensible = epsilon[0] > 0n && epsilon[0] <= MOST_EPSILON * epsilon[1];
  if (!sensible || codes.values !== randomizer.values) throw unknown();
  const text = canonical({ kind, format, domain, randomizer });
  const hash = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const header = [0x64, 0x6c, FORMAT, ...new Uint8Array(hash).slice(0, 8)];
  const payload = RANDOMIZERS[randomizer.name]({ ...randomizer, epsilon });
  return {
    report: (value) => Uint8Array.from([...header, ...payload(codes.code(value), source)]),
  };
}
