/** Reads the lines of a session file: the title line, the header, the entries; and says what was skipped. */
import type { EntryIndex } from "./entry-index.ts";
import { asEntry, checkType, parseJson } from "./entry-text.ts";
import type { Line } from "./lines.ts";
import { asHeader, asTitleLine } from "./schema.ts";
import type { SessionHeader, SessionProblem, TitleLine } from "./types.ts";

export class SessionReader {
  header: SessionHeader | undefined;
  title: TitleLine | undefined;
  readonly #index: EntryIndex;
  readonly #report: (problem: SessionProblem) => void;
  #line = 0;
  /** Whether the last line that was read has its end. */
  isEnded = true;

  constructor(index: EntryIndex, report: (problem: SessionProblem) => void) {
    this.#index = index;
    this.#report = report;
  }

  readonly onLine = ({ text, at, size, isEnded }: Line): void => {
    const line = ++this.#line;
    this.isEnded = isEnded;
    if (size === 0 || text?.trim() === "") return;
    const value = text === undefined ? undefined : parseJson(text);
    if (this.#readHead(value)) return;
    const { id, version } = this.header ?? { id: "", version: 3 };
    const entry = asEntry(value, version, (place) => this.#index.idAt(place));
    if (!entry) return this.#skip(line, text === undefined, isEnded);
    if (!checkType(entry)) {
      const message = `an entry of the type ${JSON.stringify(entry.invalidType)} is not what its type wants: it has no effect`;
      this.#report({ kind: "invalid", line, message });
    }
    this.#index.addRead(entry, { at, size }, { id, version }, line);
  };

  /** Whether it is a line before the entries. A second header, of a file that was joined to this one, is skipped, too. */
  #readHead(value: unknown): boolean {
    const type = (value as { type?: unknown } | null | undefined)?.type;
    if (type === "session") {
      const header = asHeader(value);
      if (!header) return false;
      this.header ??= header;
      return true;
    }
    if (type !== "title" || this.#line > 1) return false;
    this.title = asTitleLine(value);
    return this.title !== undefined;
  }

  #skip(line: number, isLong: boolean, isEnded: boolean): void {
    this.#index.gap();
    if (!isEnded) {
      this.#report({
        kind: "torn",
        line,
        message: "the last line was cut off while it was written: skipped",
      });
    } else {
      const message = isLong ? "the line is too long: skipped" : "the line is no entry: skipped";
      this.#report({ kind: "garbage", line, message });
    }
  }
}
