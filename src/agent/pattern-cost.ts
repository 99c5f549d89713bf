/**
 * How long a regular expression may take. It can't be interrupted while it runs, on no runtime, and backtracking takes, in
 * the worst case, the text's length to the power of its repeats, times the number of ways through its choices: so both are
 * counted before it is used, as if every one of them could match the same text.
 */

export interface PatternCost {
  /** Repeats without a small bound that follow each other: each one is a power of the text's length. */
  repeats: number;
  /** Two to this power is the number of ways through `?`, `|` and small repeats. */
  choices: number;
}

/** Up to here a repeat counts as that many copies of what is repeated. */
const FEW = 16;

/**
 * Counts. Throws, with the way out, for what could take for ever: a choice or a repeat inside a repeat. What is no regular
 * expression gets some number; compile it first.
 */
export function costOfPattern(source: string): PatternCost {
  const reader = new Reader(source);
  const costs: PatternCost[] = [];
  // A parenthesis too many would end it early.
  do costs.push(reader.alternatives());
  while (reader.skip());
  return inSequence(costs);
}

const FREE: PatternCost = { repeats: 0, choices: 0 };

class Reader {
  readonly #source: string;
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** What may stand for one: the worst of them in repeats, all of them in ways. */
  alternatives(): PatternCost {
    const branches = [this.#sequence()];
    while (this.#source[this.#at] === "|") {
      this.#at++;
      branches.push(this.#sequence());
    }
    const ways = branches.reduce((sum, { choices }) => sum + 2 ** choices, 0);
    return { repeats: Math.max(...branches.map(({ repeats }) => repeats)), choices: Math.log2(ways) };
  }

  /** Past one character; false at the end. */
  skip(): boolean {
    return ++this.#at <= this.#source.length;
  }

  #sequence(): PatternCost {
    const parts: PatternCost[] = [];
    for (;;) {
      const char = this.#source[this.#at];
      if (char === undefined || char === "|" || char === ")") return inSequence(parts);
      parts.push(this.#repeated(this.#atom(char)));
    }
  }

  #atom(char: string): PatternCost {
    this.#at++;
    if (char === "\\") this.#at++;
    else if (char === "[") this.#class();
    else if (char === "(") return this.#group();
    return FREE;
  }

  #group(): PatternCost {
    if (++this.#depth > 50) throw new Error("it has too many groups inside each other");
    const head = /^\?(?:<?[=!]|:|<[^>]*>|[a-z-]*:)/.exec(this.#source.slice(this.#at, this.#at + 80));
    this.#at += head?.[0].length ?? 0;
    const cost = this.alternatives();
    this.#at++;
    this.#depth--;
    return cost;
  }

  #class(): void {
    while (this.#at < this.#source.length && this.#source[this.#at] !== "]") {
      this.#at += this.#source[this.#at] === "\\" ? 2 : 1;
    }
    this.#at++;
  }

  #repeated(one: PatternCost): PatternCost {
    const quantifier = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(this.#source.slice(this.#at, this.#at + 40));
    if (!quantifier) return one;
    this.#at += quantifier[0].length;
    const [text, least, comma, most] = quantifier;
    if (text.startsWith("?")) return { repeats: one.repeats, choices: one.choices + 1 };
    const min = least === undefined ? 0 : Number(least);
    const max = least === undefined || (comma && !most) ? Number.POSITIVE_INFINITY : Number(most || least);
    const isFree = one.repeats === 0 && one.choices === 0;
    if (max <= FEW) {
      return {
        repeats: one.repeats * max,
        choices: one.choices * max + Math.log2(Math.max(1, max - min + 1)),
      };
    }
    if (!isFree) {
      throw new Error(
        "it has a choice or a repeat inside a repeat, as in (a+)+ or (a|b)*, which can take for ever",
      );
    }
    return { repeats: max === min ? 0 : 1, choices: 0 };
  }
}

function inSequence(parts: readonly PatternCost[]): PatternCost {
  return parts.reduce(
    (sum, { repeats, choices }) => ({ repeats: sum.repeats + repeats, choices: sum.choices + choices }),
    FREE,
  );
}
