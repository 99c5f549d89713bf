/** How an exported session looks: one column, light or dark as the reader's device is. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 52rem; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: .85rem; margin: 0 0 .3rem; }
header p, time, .line, .mark { color: gray; font-size: .85rem; font-weight: normal; overflow-wrap: anywhere; }
section { margin: .8rem 0; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: .5rem; }
.user { background: var(--soft); }
.tool, .custom { padding: .3rem .8rem; }
.summary { border-style: dashed; }
.text, .error { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; }
.tool .text, details .text { font: 13px/1.45 ui-monospace, monospace; }
.error { color: #c33; }
summary { cursor: pointer; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; }
`;
