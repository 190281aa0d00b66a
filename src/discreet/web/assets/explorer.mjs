// Error against budget, from two numbers of a question: k, and the offset of a mean (0 for counts and totals).
// Pure functions, which the tests compare with the library.

export const errorAt = (k, epsilon, offset = 0, most = Infinity) =>
  epsilon <= offset ? most : Math.min(k / (epsilon - offset), most);
export const epsilonFor = (k, error, offset = 0) => k / error + offset;

// Of 100 possible answers, how many suggest that somebody is in the data, at most and at least.
export const oddsWith = (epsilon) => Math.min(100, Math.ceil(100 / (1 + Math.exp(-epsilon)) - 1e-9));
export const oddsWithout = (epsilon) => 100 - oddsWith(epsilon);

// Twenty-five equally likely places of an answer, as quantiles of Laplace noise whose 95 % half-width is known.
export const quantile = (scale, p) =>
  p < 0.5 ? scale * Math.log(2 * p) : -scale * Math.log(2 * (1 - p));
export const scaleOf = (halfWidth, confidence) => -halfWidth / Math.log(1 - confidence);
export const dots = (halfWidth, confidence, count = 25) =>
  Array.from({ length: count }, (_, at) =>
    quantile(scaleOf(halfWidth, confidence), (2 * at + 1) / (2 * count)));

// How several questions share a budget; locked ones keep what they have.
// equal: the same epsilon each.  error: the same half-width each.  squares: the least sum of squared errors,
// for which epsilon is in proportion to k to the power of two thirds.
export const WEIGHTS = { equal: () => 1, error: (k) => k, squares: (k) => Math.cbrt(k * k) };
export function share(total, questions, how) {
  const locked = questions.filter((each) => each.locked).reduce((sum, each) => sum + each.epsilon, 0);
  const left = Math.max(0, total - locked);
  const weight = WEIGHTS[how];
  const whole = questions.filter((each) => !each.locked).reduce((sum, each) => sum + weight(each.k), 0);
  return questions.map((each) => (each.locked ? each.epsilon : (left * weight(each.k)) / whole));
}

// Where a value lies on a logarithmic axis, as the charts of the library place it.
export const place = (value, low, high, start, end) =>
  start + ((end - start) * (Math.log(value) - Math.log(low))) / (Math.log(high) - Math.log(low));
