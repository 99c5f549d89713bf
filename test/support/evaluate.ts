/**
 * The text of `evaluate(source, m)` of an extension: what an expression about `m` gives, as JSON, or what it throws. A test does the same
 * outside and compares.
 */
export const EVALUATE = `
const evaluate = (source, m) => {
  try {
    return JSON.stringify((0, eval)("(m) => (" + source + ")")(m)) ?? "undefined";
  } catch (error) {
    return "throws " + error.name + ": " + error.message;
  }
};`;
