/** `node:console`: the global. There is no `Console` to make others of: the log is where all of it goes. */
const { console } = globalThis;

export const {
  assert,
  count,
  countReset,
  debug,
  dir,
  dirxml,
  error,
  group,
  groupCollapsed,
  groupEnd,
  info,
  log,
  table,
  time,
  timeEnd,
  timeLog,
  trace,
  warn,
} = console;

export default console;
