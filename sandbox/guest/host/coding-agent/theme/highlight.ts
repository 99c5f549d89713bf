/**
 * Code with colours: comments, texts, numbers, key words, names that are called. It knows the comment signs of a language, and the
 * key words that most have in common; it does not parse.
 */
import { current } from "./themes.ts";

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: "typescript",
  tsx: "typescript",
  mts: "typescript",
  cts: "typescript",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  py: "python",
  rb: "ruby",
  rs: "rust",
  go: "go",
  java: "java",
  kt: "kotlin",
  swift: "swift",
  c: "c",
  h: "c",
  cpp: "cpp",
  cc: "cpp",
  cxx: "cpp",
  hpp: "cpp",
  cs: "csharp",
  php: "php",
  sh: "bash",
  bash: "bash",
  zsh: "bash",
  fish: "fish",
  ps1: "powershell",
  sql: "sql",
  html: "html",
  htm: "html",
  css: "css",
  scss: "scss",
  sass: "sass",
  less: "less",
  json: "json",
  yaml: "yaml",
  yml: "yaml",
  toml: "toml",
  xml: "xml",
  md: "markdown",
  markdown: "markdown",
  dockerfile: "dockerfile",
  makefile: "makefile",
  cmake: "cmake",
  lua: "lua",
  pl: "perl",
  r: "r",
  scala: "scala",
  clj: "clojure",
  ex: "elixir",
  exs: "elixir",
  erl: "erlang",
  hs: "haskell",
  ml: "ocaml",
  vim: "vim",
  graphql: "graphql",
  proto: "protobuf",
  tf: "hcl",
  hcl: "hcl",
};

/** The language of a file by its name's ending, or by the name. */
export function getLanguageFromPath(path: string): string | undefined {
  const ending =
    path
      .slice(path.search(/[^/\\]*$/))
      .split(".")
      .at(-1)
      ?.toLowerCase() ?? "";
  return Object.hasOwn(LANGUAGES, ending) ? LANGUAGES[ending] : undefined;
}

const HASH =
  /^(?:python|ruby|bash|fish|powershell|yaml|toml|dockerfile|makefile|cmake|perl|r|elixir|graphql|hcl)$/;
const DASHES = /^(?:sql|lua|haskell)$/;
const PLAIN = /^(?:markdown|html|xml|text|plaintext)$/;

const KEYWORDS = new Set(
  (
    "abstract and as assert async await begin break case catch class const continue def default defer del delete do done elif else " +
    "elsif end enum esac except export extends extern false fi final finally fn for foreach from func function global go goto if " +
    "impl implements import in instanceof interface is lambda let loop match mod module mut namespace new nil none None not null " +
    "of or override package pass private protected pub public raise readonly ref return select self sealed static struct super " +
    "switch template then this throw trait true True False try type typeof undefined union unless until use using var virtual void " +
    "when where while with yield"
  ).split(" "),
);

/** The lines of a code with colours. Without a language, or one that has no code in this sense, in one colour. */
export function highlightCode(code: string, lang?: string): string[] {
  const language = lang === undefined ? undefined : (LANGUAGES[lang.toLowerCase()] ?? lang.toLowerCase());
  if (language === undefined || PLAIN.test(language)) {
    return code.split("\n").map((line) => current().fg("mdCodeBlock", line));
  }
  const comment = HASH.test(language)
    ? "#.*"
    : DASHES.test(language)
      ? "--.*"
      : "\\/\\/.*|\\/\\*[^]*?(?:\\*\\/|$)";
  const tokens = new RegExp(
    `(${comment})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\[^])*\`?)|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)(?=(\\s*\\()?)`,
    "g",
  );
  const styled = code.replace(tokens, (text, ...found: (string | undefined)[]) => {
    const [isComment, isText, isNumber, word, isCalled] = found;
    if (isComment !== undefined) return colored("syntaxComment", text);
    if (isText !== undefined) return colored("syntaxString", text);
    if (isNumber !== undefined) return colored("syntaxNumber", text);
    if (KEYWORDS.has(word ?? "")) return colored("syntaxKeyword", text);
    return isCalled === undefined ? text : colored("syntaxFunction", text);
  });
  return styled.split("\n");
}

/** A colour ends with its line. */
function colored(color: string, text: string): string {
  return text
    .split("\n")
    .map((line) => current().fg(color, line))
    .join("\n");
}
