import { either } from "../util/text.ts";

/** A kind of key with a known form. Patterns are sources of regular expressions that match in linear time. */
export interface KeyFormat {
  /** The format's name for people. */
  readonly label: string;
  /** How the key begins: every spelling, of three characters or more, separated by spaces. */
  readonly begins?: string;
  /** Instead of `begins`: the text before the key, which stays visible. `gap` matches what is between the two. */
  readonly after?: string;
  readonly gap?: string;
  /** A pattern for the rest of the key. */
  readonly rest: string;
  /** A pattern for what must follow the key. */
  readonly before?: string;
  /** The key must not follow a letter, digit, `_` or `-`, because its beginning also occurs in words or in base64. */
  readonly bounded?: true;
  /** Returns false for text that only looks like a key. */
  readonly accepts?: (secret: string) => boolean;
}

/** For keys whose beginning also occurs in ordinary words. */
const IN_WORDS = { bounded: true, accepts: hasDigit } as const;
const QUOTED_EQUALS = `["']?\\s{0,8}[=:]\\s{0,8}["']?`;

/**
 * All known formats. All code that looks for keys is derived from this table. Sources: the makers' descriptions and
 * gitleaks' rules (https://github.com/gitleaks/gitleaks). Minimum lengths are not greater than those of real keys.
 */
export const KEY_FORMATS: readonly KeyFormat[] = [
  { label: "GitHub token", begins: "ghp_ gho_ ghu_ ghs_ ghr_", rest: "[A-Za-z0-9]{36,}" },
  { label: "GitHub token", begins: "github_pat_", rest: "[A-Za-z0-9_]{40,}" },
  {
    label: "GitLab token",
    begins: "glpat- gloas- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat-",
    rest: "[A-Za-z0-9_-]{20,}",
    ...IN_WORDS,
  },
  { label: "Anthropic key", begins: "sk-ant-", rest: "[A-Za-z0-9_-]{24,}", ...IN_WORDS },
  { label: "OpenAI key", begins: "sk-proj- sk-svcacct- sk-admin- sk-or-v1-", rest: "[A-Za-z0-9_-]{24,}", ...IN_WORDS },
  { label: "OpenAI key", begins: "sk-", rest: "[A-Za-z0-9]{32,}", ...IN_WORDS },
  { label: "Slack token", begins: "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", rest: "[A-Za-z0-9-]{10,}", ...IN_WORDS },
  { label: "Slack token", begins: "xapp-", rest: "\\d-[A-Za-z0-9-]{20,}", bounded: true },
  { label: "Slack webhook", after: "hooks.slack.com/services/", rest: "T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}" },
  { label: "Stripe key", begins: "sk_live_ sk_test_ rk_live_ rk_test_", rest: "[A-Za-z0-9]{16,}", ...IN_WORDS },
  { label: "Stripe key", begins: "whsec_", rest: "[A-Za-z0-9+/]{24,}={0,2}", ...IN_WORDS },
  { label: "Google key", begins: "AIza", rest: "[A-Za-z0-9_-]{35}", before: "(?![A-Za-z0-9_-])", ...IN_WORDS },
  { label: "Google token", begins: "ya29.", rest: "[A-Za-z0-9_-]{20,}", bounded: true },
  { label: "Google key", begins: "GOCSPX-", rest: "[A-Za-z0-9_-]{28}" },
  { label: "npm token", begins: "npm_", rest: "[A-Za-z0-9]{36,}" },
  {
    label: "npm token",
    after: "_authToken _auth _password",
    gap: "\\s{0,8}=\\s{0,8}[\"']?",
    rest: "[A-Za-z0-9+/=_.-]{8,}",
    accepts: isNpmSecret,
  },
  { label: "PyPI token", begins: "pypi-AgE", rest: "[A-Za-z0-9_-]{50,}", bounded: true },
  { label: "Hugging Face token", begins: "hf_", rest: "[A-Za-z0-9]{34,}", bounded: true },
  { label: "DigitalOcean token", begins: "doo_v1_ dop_v1_ dor_v1_", rest: "[a-f0-9]{64}" },
  { label: "SendGrid key", begins: "SG.", rest: "[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}", bounded: true },
  {
    label: "AWS access key",
    begins: "AKIA ASIA ABIA ACCA",
    rest: "[A-Z2-7]{16}",
    before: "(?![A-Za-z0-9+/=])",
    bounded: true,
  },
  {
    label: "AWS secret key",
    after: "aws_secret_access_key AWS_SECRET_ACCESS_KEY secretAccessKey SecretAccessKey",
    gap: QUOTED_EQUALS,
    rest: "[A-Za-z0-9/+]{40}",
    before: "(?![A-Za-z0-9/+])",
  },
  {
    label: "JWT",
    begins: "eyJ",
    rest: "[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}",
    bounded: true,
  },
  {
    label: "bearer token",
    after: "Bearer bearer",
    gap: "\\s{1,4}",
    rest: "[A-Za-z0-9._~+/-]{16,}=*",
    accepts: hasDigit,
  },
  {
    label: "credentials",
    after: "Authorization authorization",
    gap: "[\"']?\\s{0,8}[:=]\\s{0,8}[\"']?[bB]asic\\s{1,4}",
    rest: "[A-Za-z0-9+/]{8,}={0,2}",
  },
  {
    label: "URL password",
    after: "://",
    gap: "[^\\s/:@\"'`<>?#]{0,128}:",
    rest: "[^\\s/@\"'`<>]{6,256}",
    before: "@",
    accepts: isNoPlaceholder,
  },
];

function hasDigit(secret: string): boolean {
  return /\d/.test(secret);
}

/** Returns false for a word in code, such as `_password = currentPassword`. */
function isNpmSecret(secret: string): boolean {
  return isNoPlaceholder(secret) && /[\d=]/.test(secret) && !/^[\w.]*\.[\w.]*$/.test(secret);
}

/** What documents and examples contain instead of a password. */
const PLACEHOLDER = either(
  "i",
  /^(?:[$%{[*<].*|x+|\.+|pass(?:word|wd)?|secret|changeme|example|postgres|mysql|root|admin)$/,
  /^(?:[a-z]*:?password|your[_-].*|my[_-]?(?:secret|password))$/,
);

function isNoPlaceholder(secret: string): boolean {
  return !PLACEHOLDER.test(secret);
}
