import type { Risk } from "../../contract/decision.ts";

/** Variables that change how programs speak, not what they do. */
const HARMLESS =
  /^(NODE_ENV|CI|FORCE_COLOR|NO_COLOR|CLICOLOR|CLICOLOR_FORCE|COLORTERM|LANG|LANGUAGE|LC_[A-Z]+|TZ|DEBUG|COLUMNS|LINES|RUST_BACKTRACE|RUST_LOG|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONIOENCODING|PYTHONUTF8|PORT|VERBOSE|LOG_LEVEL|GOOS|GOARCH|CGO_ENABLED|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|TERM)$/;

/** Variables through which programs load or run something else, or find other programs, files or servers. */
const DANGEROUS =
  /^(PATH|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|BASH_FUNC_.*|PS[0-4]|CDPATH|GLOBIGNORE|PROMPT_COMMAND|SHELL|HOME|USER|XDG_[A-Z_]*|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*|GIT_.*|SSH_.*|.*PAGER|.*EDITOR|VISUAL|BROWSER|.*_COMMAND|.*_PROGRAM|LESSOPEN|LESSCLOSE|LESS|MANOPT|MANROFFOPT|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|NPM_CONFIG_.*|npm_config_.*|PYTHONPATH|PYTHONHOME|PYTHONSTARTUP|PYTHONINSPECT|PYTHONBREAKPOINT|PYTHONWARNINGS|PERL5LIB|PERL5OPT|PERL5DB|PERLLIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_?JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|RUSTC|RUSTC_WRAPPER|RUSTFLAGS|CARGO_.*|GOFLAGS|GOPROXY|GOROOT|CC|CXX|LD|AR|MAKEFLAGS|MAKEFILES|TAR_OPTIONS|GZIP|ZIPOPT|RIPGREP_CONFIG_PATH|GREP_OPTIONS|FZF_DEFAULT_.*|DOCKER_HOST|KUBECONFIG|AWS_.*|CURL_HOME|WGETRC|(https?|ftp|all|no)_proxy|(HTTPS?|FTP|ALL|NO)_PROXY|OPENSSL_CONF|OPENSSL_.*|SSL_CERT_.*|TMPDIR|HISTFILE|INPUTRC|PKG_CONFIG.*)$/;

/**
 * What is to be said against setting a variable: for one command (`NAME=value command`), or in the shell. `undefined`: nothing. Of an unknown
 * one set for a command nobody knows what that makes of it; the shell's own variables of lower case are nobody else's.
 */
export function judgeVariable(
  name: string,
  forCommand: boolean,
): { readonly risk: Risk; readonly why: string } | undefined {
  if (HARMLESS.test(name)) return undefined;
  if (DANGEROUS.test(name))
    return { risk: "high", why: `the variable ${name} makes programs load or run something else` };
  if (!forCommand && /^[a-z_][a-z0-9_]*$/.test(name)) return undefined;
  return { risk: "medium", why: `what the variable ${name} changes is not known here` };
}
