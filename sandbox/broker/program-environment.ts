/** The environment of the programs that an extension runs. */
import { isAbsolute } from "node:path";
import { canonicalPath } from "../../src/base/files.ts";
import { extensionEnvironment } from "../../src/extensions/process.ts";
import { type CallContext, CallError } from "./broker.ts";
import { isExposed } from "./program-exposed.ts";

/**
 * What programs need to start, out of the user's environment, and on top what the extension sets itself. Throws `EACCES`
 * for variables by which a program would run the extension's code in place of its own. That list can't be complete (every program
 * has settings of its own): it keeps a grant for one program from being a grant for all by the well-known ways.
 */
export async function programEnvironment(
  own: Readonly<Record<string, string>>,
  context: CallContext,
): Promise<Record<string, string>> {
  // A bash at the first level whose input is a socket, as a pipe is here, takes itself for one behind rshd and runs ~/.bashrc.
  const environment: Record<string, string> = { SHLVL: "1", ...extensionEnvironment(context.env) };
  for (const [name, value] of Object.entries(own)) {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0")) {
      throw new CallError(
        "EINVAL",
        "EINVAL: a variable's name or value has a character that no environment can hold",
      );
    }
    // Its home folder is known to it, in the form of `folders`; programs get the user's.
    if (environment[name] === value || (name === "HOME" && value === context.folders.home)) continue;
    if (!isHarmless(name, value) && !isGranted(name, value, context)) {
      throw new CallError(
        "EACCES",
        `EACCES: an extension may not set ${name.slice(0, 100)} for a program that it runs: it decides which code that program runs`,
        { syscall: "spawn" },
      );
    }
    environment[name] = value;
  }
  environment.PATH = await safePath(environment.PATH ?? "", context);
  return environment;
}

/** The user's own value, which he let the extension have: handed on, it changes nothing. */
function isGranted(name: string, value: string, { env, rights }: CallContext): boolean {
  return env[name] === value && rights.has({ kind: "env", name });
}

/**
 * The entries of a PATH in which the extension can't put a program of its own: programs find others there, and `git` or
 * `/usr/bin/env node` in a granted program would be its.
 */
async function safePath(path: string, context: CallContext): Promise<string> {
  const entries = path.split(":").filter(isAbsolute).slice(0, 100);
  const checked = await Promise.all(
    entries.map(async (entry) => {
      const canonical = await canonicalPath(entry).catch(() => undefined);
      return canonical !== undefined && !(await isExposed(canonical, context));
    }),
  );
  return entries.filter((_, at) => checked[at]).join(":");
}

function isHarmless(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  if (HARMLESS.has(upper) || (ASKING.has(upper) && NOT_ASKING.has(value))) return true;
  return !CODE_NAMES.has(upper) && !CODE_PREFIXES.some((prefix) => upper.startsWith(prefix));
}

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Families of variables of loaders, interpreters, and programs that start others: what is not known to be harmless is refused. */
const CODE_PREFIXES = words(`
  LD_ DYLD_ BASH_ BUN_ DENO_ NODE_ XDEV_ GIT_ NPM_ YARN_ PNPM_ PIP_ UV_ POETRY_ PYTHON PYENV_ PERL RUBY GEM_ BUNDLE_ LUA_
  PHP JAVA_ JDK_ MAVEN_ GRADLE_ DOTNET_ COR_ CORECLR_ ERL_ RUSTC RUSTUP_ RUSTFLAGS RUSTDOCFLAGS CARGO_ CGO_ DOCKER_ SSH_ HG SVN_
  PYTEST_ TOX_ IPYTHON JUPYTER_ CONDA_ ANSIBLE_ AWS_CONFIG AWS_SHARED_ TF_ HELM_ VAGRANT_ RSYNC_ AWK JULIA_ GUILE_ COMPOSER_ NIX_
  NVIM_ VIM
`);

const HARMLESS: ReadonlySet<string> = new Set(
  words(`
    NODE_ENV NODE_DEBUG NODE_NO_WARNINGS NODE_DISABLE_COLORS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING
    PYTHONUTF8 PYTHONHASHSEED GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_INDEX_FILE GIT_LITERAL_PATHSPECS GIT_AUTHOR_NAME
    GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE DOTNET_NOLOGO
    DOTNET_CLI_TELEMETRY_OPTOUT CARGO_TERM_COLOR CARGO_NET_OFFLINE CARGO_INCREMENTAL CGO_ENABLED ANSIBLE_NOCOLOR
    TF_IN_AUTOMATION TF_INPUT
  `),
);

/** Programs that programs start to show or to ask something, and what turns that off. */
const ASKING: ReadonlySet<string> = new Set(
  words(
    "PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS BROWSER",
  ),
);
const NOT_ASKING: ReadonlySet<string> = new Set(["", "cat", "true", "false", ":"]);

const CODE_NAMES: ReadonlySet<string> = new Set(
  words(`
    GCONV_PATH LOCPATH NLSPATH MALLOC_TRACE GLIBC_TUNABLES RES_OPTIONS HOSTALIASES TERMINFO TERMINFO_DIRS TERMCAP
    ENV IFS SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND ZDOTDIR FPATH SHELL CDPATH
    TS_NODE_PROJECT TSX_TSCONFIG_PATH VIRTUAL_ENV R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER _JAVA_OPTIONS CLASSPATH
    ELIXIR_ERL_OPTIONS OCAMLRUNPARAM TCLLIBPATH
    EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER SUDO_ASKPASS CVS_RSH
    MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES CC CXX CPP AR LINKER CARGO GOFLAGS GOROOT GOPATH GOENV GOTOOLCHAIN
    CFLAGS CXXFLAGS CPPFLAGS FFLAGS LDFLAGS GCC_EXEC_PREFIX COMPILER_PATH LIBRARY_PATH WGETRC CURL_HOME EXINIT INPUTRC
    PSQLRC LESSKEY LESSKEYIN LESSKEYIN_SYSTEM MYPYPATH RAKEOPT SPEC_OPTS OCAMLPATH ANT_OPTS ANT_ARGS SBT_OPTS
    CMAKE_TOOLCHAIN_FILE PKG_CONFIG_PATH TAR_OPTIONS RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS KUBECONFIG
    OPENSSL_CONF OPENSSL_MODULES SSL_CERT_FILE SSL_CERT_DIR
    HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS USERPROFILE APPDATA SYSTEMROOT COMSPEC PATHEXT
  `),
);
