import type { Env } from "../../core/contract/effect.ts";
import { programPath } from "./programs.ts";

/**
 * Variables that make programs load code, start others or take other settings: what a person exported for one shell, or
 * npm for a script of the project, says nothing about what Handrail starts. Each is in the manual of its program.
 */
const LOADS: readonly RegExp[] = [
  /^(BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|ZDOTDIR|IFS|CDPATH|GLOBIGNORE)$/,
  /^(LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|OPENSSL_(CONF|CONF_INCLUDE|ENGINES|MODULES))$/,
  /^(NODE_(OPTIONS|PATH|REPL_EXTERNAL_MODULE)|BUN_OPTIONS|ELECTRON_RUN_AS_NODE)$/,
  /^npm_config_(node_options|script_shell|shell|git|prefix|local_prefix|globalconfig|userconfig|init_module|viewer|editor|browser|onload_script)$/i,
  /^PYTHON(PATH|HOME|STARTUP|USERBASE|BREAKPOINT|PLATLIBDIR|EXECUTABLE|WARNINGS|INSPECT|PYCACHEPREFIX)$/,
  /^(PERL5(LIB|OPT|DB|SHELL)|PERLLIB|PERL_.*|RUBY(OPT|LIB|SHELL|PATH)|GEM_(HOME|PATH)|BUNDLE_(GEMFILE|PATH|BIN_PATH))$/,
  /^((JAVA_TOOL|JDK_JAVA|_JAVA|JAVA)_OPTIONS|JAVA_OPTS|CLASSPATH|(MAVEN|GRADLE|SBT|JVM)_OPTS|KOTLIN_COMPILER_OPTS)$/,
  /^(LUA_(INIT|PATH|CPATH).*|PHPRC|PHP_INI_SCAN_DIR|R_(PROFILE|ENVIRON)(_USER)?|R_LIBS.*|JULIA_(LOAD|DEPOT)_PATH)$/,
  /^(GUILE_(LOAD|LOAD_COMPILED)_PATH|ERL_(LIBS|FLAGS|AFLAGS|ZFLAGS)|ELIXIR_ERL_OPTIONS|TCLLIBPATH|AWKPATH|AWKLIBPATH)$/,
  /^(DOTNET_(STARTUP_HOOKS|ADDITIONAL_DEPS)|(CORECLR|COR)_(ENABLE_PROFILING|PROFILER.*)|MONO_(PATH|GAC_PREFIX))$/,
  /^(MAKEFILES|MAKEFLAGS|GNUMAKEFLAGS|MFLAGS|GOFLAGS|GOENV|RUSTC(_WORKSPACE)?_WRAPPER|RUSTC|RUSTFLAGS|CARGO_(BUILD|TARGET)_.*)$/,
  /^(VIMINIT|EXINIT|GVIMINIT|VIMRUNTIME|VIM|EMACSLOADPATH|LESSOPEN|LESSCLOSE|LESSKEY.*|RIPGREP_CONFIG_PATH)$/,
  /^(SSH_ASKPASS(_REQUIRE)?|SUDO_ASKPASS|CONTAINERS_CONF(_OVERRIDE)?|QT_PLUGIN_PATH|GTK_(MODULES|PATH)|GIO_EXTRA_MODULES)$/,
];

/** git's variables name programs, configurations and repositories (git(1)). The names of the person do not. */
const OF_GIT = /^GIT_(?!(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)$|TERMINAL_PROMPT$)/;

/** Whether a variable makes programs load code, start others or take other settings. */
export function loadsCode(name: string): boolean {
  return OF_GIT.test(name) || LOADS.some((pattern) => pattern.test(name));
}

/**
 * Returns the environment for a program of this machine: the variables of this process without those that load code,
 * and a PATH without folders in which tools can write. `added` has variables that the user's configuration or Handrail
 * itself sets, whatever their names.
 */
export function programEnvironment(added: Env = {}, from: NodeJS.ProcessEnv = process.env): Env {
  const kept = Object.entries(from).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !loadsCode(entry[0]),
  );
  return { ...Object.fromEntries(kept), PATH: programPath({ path: from["PATH"] }), ...added };
}
