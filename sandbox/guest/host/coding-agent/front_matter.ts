/** The YAML at the head of a Markdown file. The parser is loaded for a head that is more than plain lines. */
import { own } from "xdev:system";
import { cutHead, parseHead, plainLines } from "../../../../src/agent/front-matter-head.ts";

/** The head's names and values, and the text behind it. Throws for a head that is no YAML mapping. */
export function parseFrontmatter(content: string): { frontmatter: Record<string, unknown>; body: string } {
  const { head, body } = cutHead(content);
  if (head === undefined) return { frontmatter: {}, body };
  const frontmatter =
    plainLines(head) ?? parseHead(head, own("internal/yaml") as Parameters<typeof parseHead>[1]);
  return { frontmatter, body: body.trim() };
}

/** The text without its head, which is not read. */
export function stripFrontmatter(content: string): string {
  const { head, body } = cutHead(content);
  return head === undefined ? body : body.trim();
}
