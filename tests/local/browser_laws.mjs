// Runs a client on every list of words, as exact_law does: jobs in JSON on stdin, laws on stdout.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { client } = await import(pathToFileURL(process.argv[2]));
const DEPTH = 400n;

class Exhausted extends Error {}

class Replay {
  constructor(words) {
    this.step = 1;
    this.words = words;
    this.place = 0;
    this.widths = [];
  }

  bits(width) {
    this.widths.push(width);
    if (this.place === this.words.length) throw Object.assign(new Exhausted(), { width });
    return this.words[this.place++];
  }
}

/** Words of a fixed sequence, whatever is asked for. */
class Fixed {
  constructor(seed) {
    this.step = 8;
    this.state = BigInt(seed);
    this.widths = [];
  }

  bits(width) {
    this.widths.push(width);
    this.state = (this.state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    return (this.state >> 20n) & ((1n << BigInt(width)) - 1n);
  }
}

const hex = (bytes) => Buffer.from(bytes).toString("hex");

async function law({ form, value, depth }) {
  const mass = new Map();
  let left = 1n << DEPTH;
  const pending = [[0, []]];
  while (pending.length) {
    const [used, words] = pending.pop();
    const source = new Replay(words);
    let outcome = null;
    try {
      outcome = hex((await device(form, source)).report(value));
    } catch (stop) {
      if (!(stop instanceof Exhausted)) throw stop;
      if (used + stop.width > depth) continue;
      for (let word = 0n; word < 1n << BigInt(stop.width); word += 1n) {
        pending.push([used + stop.width, [...words, word]]);
      }
      continue;
    }
    const weight = 1n << (DEPTH - BigInt(used));
    mass.set(outcome, (mass.get(outcome) ?? 0n) + weight);
    left -= weight;
  }
  const text = Object.fromEntries([...mass].map(([key, weight]) => [key, weight.toString()]));
  return { mass: text, left: left.toString(), scale: Number(DEPTH) };
}

const devices = new Map();

/** Return a client that reads from this source; making one takes a digest, so it is kept. */
async function device(form, source) {
  const name = JSON.stringify(form);
  if (!devices.has(name)) {
    const shared = { get step() { return this.now.step; }, bits(width) { return this.now.bits(width); } };
    devices.set(name, { shared, made: await client(form, shared) });
  }
  const known = devices.get(name);
  known.shared.now = source;
  return known.made;
}

async function widths({ form, values, seed }) {
  const lists = [];
  for (const value of values) {
    const source = new Fixed(seed);
    (await device(form, source)).report(value);
    lists.push(source.widths);
  }
  return lists;
}

async function reports({ form, value, count }) {
  const made = await client(form);
  return hex(Uint8Array.from(Array.from({ length: count }, () => [...made.report(value)]).flat()));
}

async function refusals({ form, values }) {
  let made = null;
  try {
    made = await client(form);
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
  return values.map((value) => {
    try {
      return hex(made.report(value));
    } catch (error) {
      return `${error.name}: ${error.message}`;
    }
  });
}

const kinds = { law, widths, reports, refusals };
const answers = [];
for (const { kind, ...job } of JSON.parse(readFileSync(0))) answers.push(await kinds[kind](job));
process.stdout.write(JSON.stringify(answers));
