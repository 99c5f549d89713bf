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
  const environment = extensionEnvironment(context.env);
  for (const [name, value] of Object.entries(own)) {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0")) {
      throw new CallError(
        "EINVAL",
        "EINVAL: a variable's name or value has a character that no environment can hold",
      );
    }
    if (environment[name] === value) continue;
    if (!isHarmless(name) && !isGranted(name, value, context)) {
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

function isHarmless(name: string): boolean {
  const upper = name.toUpperCase();
  return !CODE_NAMES.has(upper) && !CODE_PREFIXES.some((prefix) => upper.startsWith(prefix));
}

/** Loaders, interpreters, and programs that start others or read their settings where a variable says. */
const CODE_PREFIXES = [
  "LD_",
  "DYLD_",
  "BASH_FUNC_",
  "BUN_",
  "DENO_",
  "XDEV_",
  "GIT_CONFIG",
  "NPM_CONFIG_",
  "YARN_",
  "PNPM_",
  "PIP_",
  "UV_",
  "CARGO_BUILD_",
  "CARGO_TARGET_",
];

const CODE_NAMES: ReadonlySet<string> = new Set(
  // The loader and libc.
  (
    "GCONV_PATH LOCPATH NLSPATH MALLOC_TRACE GLIBC_TUNABLES RES_OPTIONS HOSTALIASES TMPPREFIX " +
    // Shells.
    "BASH_ENV ENV IFS SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND ZDOTDIR FPATH SHELL CDPATH " +
    // Interpreters.
    "NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_EXTRA_CA_CERTS TS_NODE_PROJECT TSX_TSCONFIG_PATH " +
    "PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT PYTHONUSERBASE PYTHONWARNINGS " +
    "PYTHONPYCACHEPREFIX PYTHONEXECUTABLE VIRTUAL_ENV PYENV_ROOT " +
    "PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5SHELL RUBYOPT RUBYLIB RUBYSHELL GEM_HOME GEM_PATH BUNDLE_GEMFILE " +
    "LUA_INIT LUA_PATH LUA_CPATH PHPRC PHP_INI_SCAN_DIR R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER " +
    "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS " +
    "DOTNET_STARTUP_HOOKS COR_ENABLE_PROFILING COR_PROFILER CORECLR_PROFILER CORECLR_ENABLE_PROFILING " +
    "ERL_AFLAGS ERL_FLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS OCAMLRUNPARAM TCLLIBPATH " +
    // Programs that start others.
    "EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER " +
    "GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND " +
    "GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE SSH_ASKPASS SUDO_ASKPASS SVN_SSH HGRCPATH " +
    "HGEDITOR RSYNC_RSH CVS_RSH MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES CC CXX CPP AR LINKER RUSTC RUSTC_WRAPPER " +
    "RUSTFLAGS GOFLAGS GOROOT GOPATH GOENV CMAKE_TOOLCHAIN_FILE PKG_CONFIG_PATH TAR_OPTIONS RIPGREP_CONFIG_PATH " +
    "FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS DOCKER_CONFIG DOCKER_HOST KUBECONFIG " +
    "OPENSSL_CONF OPENSSL_MODULES SSL_CERT_FILE SSL_CERT_DIR " +
    // Where settings are looked for.
    "HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS CARGO CARGO_HOME USERPROFILE APPDATA SYSTEMROOT COMSPEC PATHEXT"
  ).split(" "),
);
