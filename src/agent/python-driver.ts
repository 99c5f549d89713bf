/**
 * What runs inside of Python: it takes one line of JSON for each piece of code and, when that is over, writes a mark into its
 * output that nothing prints by accident. Code of the user may close, replace or flood the standard streams: commands and marks
 * go through copies of the pipes that it does not know of, and its own standard input is empty.
 */

/** Bytes of a mark: `\x1e`, the secret, the status, `\x1e`. */
export const MARK_LENGTH = 35;

/**
 * Ready for the first piece of code; one has started, and can be interrupted from here on; how it ended: done, with an exception,
 * interrupted, by `sys.exit`.
 */
export type MarkStatus = "r" | "s" | "d" | "e" | "i" | "x";

/**
 * Modules of the working folder can be imported, but stand last in the search: a repository's json.py is not what `import
 * json` means here or in a library.
 */
export const DRIVER = `import sys
if sys.path[:1] == [""]:
    del sys.path[0]
if sys.version_info < (3, 8):
    sys.exit("it is Python %d.%d; 3.8 or later is needed" % sys.version_info[:2])

def serve():
    import ast, json, linecache, os, signal, traceback, types
    commands = os.fdopen(os.dup(0), "rb")
    marks = os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(1, 2)
    secret = commands.readline().strip()
    me = os.getpid()
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = [""]
    sys.path.append("")
    number = 0

    def mark(status):
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except BaseException:
                pass
        data = b"\\x1e" + secret + status + b"\\x1e"
        while data:
            data = data[os.write(marks, data):]

    def execute(code, name):
        tree = ast.parse(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        exec(compile(tree, name, "exec"), main.__dict__)
        if last is not None:
            sys.displayhook(eval(compile(last, name, "eval"), main.__dict__))

    def run(code, name):
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                mark(b"s")
                execute(code, name)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            return b"d"
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return b"i"
        except SystemExit as error:
            if isinstance(error.code, str):
                print(error.code)
            return b"x"
        except BaseException as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename != name:
                trace = trace.tb_next
            try:
                sys.stdout.flush()
                traceback.print_exception(type(error), error, trace)
            except BaseException:
                pass
            return b"e"

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    mark(b"r")
    while True:
        line = commands.readline()
        if not line:
            return
        number += 1
        code = json.loads(line)
        name = "<$%d>" % number
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        status = run(code, name)
        if os.getpid() != me:
            os._exit(0)
        mark(status)
        if status == b"x":
            return

serve()
`;
