/** The page of the manual on compatibility, made from the expectations that the tests hold extensions to. */
import { type Example, exactVersion, examplesOf, VERSIONS, type Version } from "./examples.ts";
import { type Expectation, expectations } from "./expectations.ts";
import { PINNED } from "./install.ts";

const HEAD = `# Compatibility

Extensions that others wrote for this family of agents, run by xdev's tests as they were published: each is loaded in the sandbox, what it registers is
compared with what it should, and where the table says what is checked, it is used in a session with a scripted model and user. The permissions are what it needs
for that; what it asks for besides, it does without.
`;

/** The text of src/docs/compatibility.md. */
export function compatibilityPage(): string {
  const examples = expectations("examples");
  const packages = expectations("packages");
  const versions = Object.keys(VERSIONS) as Version[];
  const all = versions.flatMap(examplesOf);
  const exact = versions.map(exactVersion);
  const never = [...examples, ...packages].filter(([, { never }]) => never !== undefined);
  return [
    HEAD,
    `## Examples of pi ${exact.join(" and ")}\n`,
    "| extension | permissions | checked |",
    "| --- | --- | --- |",
    ...[...examples]
      .filter(([, one]) => one.never === undefined)
      .sort(byName)
      .map(([name, one]) => row(`${name}${only(name, all, versions)}`, one)),
    "",
    "## Packages of the npm registry\n",
    "| package | permissions | checked |",
    "| --- | --- | --- |",
    ...[...packages]
      .filter(([, one]) => one.never === undefined)
      .sort(byName)
      .map(([name, one]) => row(`${name} ${PINNED[name]}`, one)),
    "",
    "## What can't work in a sandbox\n",
    ...never.sort(byName).map(([name, { never: why }]) => `- ${name}: ${why}.`),
    "",
  ].join("\n");
}

function row(name: string, { needs, checked, terminal, note }: Expectation): string {
  const permissions = Object.entries(needs).map(([kind, values]) => {
    const isFlag = values?.length === 1 && values[0] === "*" && ["model", "provider"].includes(kind);
    return isFlag ? kind : `${kind}: ${values?.join(", ")}`;
  });
  const left = terminal ? `only in a terminal, and not tried here: ${terminal}` : undefined;
  return `| ${[name, code(permissions), [checked, left, note].filter(Boolean).join("; ")].map(cell).join(" | ")} |`;
}

function code(permissions: readonly string[]): string {
  return permissions.length === 0
    ? "none"
    : permissions.map((one) => `\`${one.replaceAll("$PACKAGE", "its folder")}\``).join(" ");
}

/** Where not all versions have it. */
function only(name: string, all: readonly Example[], versions: readonly Version[]): string {
  const own = versions.filter((version) => all.some((one) => one.name === name && one.version === version));
  return own.length === versions.length ? "" : ` (${own.join(", ")})`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
