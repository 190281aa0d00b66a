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
