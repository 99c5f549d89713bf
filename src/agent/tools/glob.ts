/**
 * Whether a path relative to the search root (with `/`) matches a glob: `*` and `?` within one name, `**` over any
 * number of folders, `[a-z]`, `[!a-z]`, `{a,b}`, `\` before a character taken literally. A pattern without `/` is
 * matched against the last name, at any depth. Names that begin with a dot are names like any other.
 *
 * Our own, because `path.matchesGlob` of Bun and Deno differ about dot files.
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  const cleaned = pattern.replace(/^(?:\.?\/)+/, "");
  const source = new RegExp(`^${translate(cleaned)}$`, "s");
  if (cleaned.includes("/")) return (path) => source.test(path);
  return (path) => source.test(path.slice(path.lastIndexOf("/") + 1));
}

function translate(glob: string): string {
  let result = "";
  const groups = bracesThatClose(glob);
  for (let i = 0; i < glob.length; i++) {
    const char = glob[i]!;
    if (char === "*") {
      let end = i;
      while (glob[end + 1] === "*") end++;
      const wholeName =
        (i === 0 || glob[i - 1] === "/") && (end + 1 === glob.length || glob[end + 1] === "/");
      if (end > i && wholeName) {
        // With its slash, so that `a/**/b` matches `a/b` too.
        const slash = glob[end + 1] === "/";
        result += slash ? "(?:[^/]+/)*" : ".*";
        i = slash ? end + 1 : end;
      } else {
        result += "[^/]*";
        i = end;
      }
    } else if (char === "?") {
      result += "[^/]";
    } else if (char === "[") {
      const end = classEnd(glob, i);
      result += end === -1 ? "\\[" : classSource(glob.slice(i + 1, end));
      if (end !== -1) i = end;
    } else if (groups.has(i)) {
      result += char === "{" ? "(?:" : char === "," ? "|" : ")";
    } else if (char === "\\" && i + 1 < glob.length) {
      result += literal(glob[++i]!);
    } else {
      result += literal(char);
    }
  }
  return result;
}

/** Positions of the braces and commas that form groups; all others are literal. */
function bracesThatClose(glob: string): Set<number> {
  const found = new Set<number>();
  const open: number[][] = [];
  for (let i = 0; i < glob.length; i++) {
    const char = glob[i];
    if (char === "\\") i++;
    else if (char === "[") i = Math.max(i, classEnd(glob, i));
    else if (char === "{") open.push([i]);
    else if (char === ",") open.at(-1)?.push(i);
    else if (char === "}") for (const position of [...(open.pop() ?? []), i]) found.add(position);
  }
  return found;
}

/** The `]` of the class that starts at `start`, or -1. A `]` right at the beginning is a member. */
function classEnd(glob: string, start: number): number {
  const first = /[!^]/.test(glob[start + 1] ?? "") ? start + 2 : start + 1;
  return glob.indexOf("]", first + 1);
}

function classSource(members: string): string {
  const negated = /^[!^]/.test(members);
  const body = (negated ? members.slice(1) : members).replace(/[\\\]^[]/g, "\\$&");
  // A range that runs backwards matches nothing in a shell; as a regular expression it would throw.
  const ranges = body.replace(/([^\\])-(.)/g, (range, from: string, to: string) => (from > to ? "" : range));
  if (ranges === "") return negated ? "[^/]" : "(?!)";
  return negated ? `[^/${ranges}]` : `(?!/)[${ranges}]`;
}

function literal(char: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
}
