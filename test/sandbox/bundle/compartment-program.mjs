// Evaluates sources (JSON array on standard input) under SES with the source check, as the guest's boot does.
import "ses";
import { readFileSync } from "node:fs";
import { createLinks } from "../../../sandbox/guest/api/links.ts";
import { checkSource } from "../../../sandbox/guest/source-check.ts";

const sources = JSON.parse(readFileSync(0, "utf8"));
lockdown({ errorTaming: "unsafe", consoleTaming: "unsafe", overrideTaming: "severe" });

const check = (source) => {
  checkSource(source);
  return source;
};

function loader(calls) {
  const module = (specifier) => ({
    default: `default of ${specifier}`,
    a: `a of ${specifier}`,
    b: `b of ${specifier}`,
    "odd name": "odd",
  });
  const links = {
    exports: {},
    meta: { url: "file:///ext/index.ts", filename: "/ext/index.ts", dirname: "/ext" },
    import(specifier, names) {
      calls.push(`import:${specifier}:${names.join(",")}`);
      return module(specifier);
    },
    require(specifier) {
      calls.push(`require:${specifier}`);
      return module(specifier);
    },
    async dynamicImport(specifier) {
      calls.push(`dynamic:${specifier}`);
      return module(specifier);
    },
    // In the start compartment here, in the extension's own in the guest.
    links: (entry, resolved) => createLinks(links, entry, resolved),
  };
  return links;
}

const outcomes = [];
for (const source of sources) {
  const calls = [];
  try {
    const compartment = new Compartment({ globals: {}, transforms: [check], __options__: true });
    let value = compartment.evaluate(source);
    if (typeof value === "function") {
      const xdev = loader(calls);
      await value(xdev);
      const { default: main, ...rest } = xdev.exports;
      value = { ...rest, default: typeof main === "function" ? await main() : main };
    }
    outcomes.push({ value, calls });
  } catch (error) {
    outcomes.push({ error: String(error?.message ?? error), calls });
  }
}
console.log(JSON.stringify(outcomes));
