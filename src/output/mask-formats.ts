import type { Span } from "./escape-sequence.ts";

/** A kind of key that can be told by its looks. */
interface Format {
  /** What people call it. */
  readonly label: string;
  /** The first three characters, of `before` where there is one, in every spelling. */
  readonly starts: string;
  /** What stands before it and is shown. */
  readonly before?: string;
  readonly secret: string;
  readonly after?: string;
  /** It is one only where no letter, digit, `_` or `-` stands before it: its beginning is a part of ordinary words, or of base64. */
  readonly bounded?: true;
  /** False: it only looks like one. */
  readonly accepts?: (secret: string) => boolean;
}

const QUOTED_EQUALS = `["']?\\s{0,8}[=:]\\s{0,8}["']?`;

// As their makers describe them, or gitleaks' rules do (https://github.com/gitleaks/gitleaks). Lengths are at least those that are handed out.
const FORMATS: readonly Format[] = [
  { label: "GitHub token", starts: "ghp gho ghu ghs ghr", secret: "gh[pousr]_[A-Za-z0-9]{36,}" },
  { label: "GitHub token", starts: "git", secret: "github_pat_[A-Za-z0-9_]{40,}" },
  {
    label: "GitLab token",
    starts: "glp glo gld glr glc glf gli gla gls",
    secret: "gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_-]{20,}",
    bounded: true,
    accepts: hasDigit,
  },
  { label: "Anthropic key", starts: "sk-", secret: "sk-ant-[A-Za-z0-9_-]{24,}", bounded: true, accepts: hasDigit },
  {
    label: "OpenAI key",
    starts: "sk-",
    secret: "sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{24,}|[A-Za-z0-9]{32,})",
    bounded: true,
    accepts: hasDigit,
  },
  { label: "Slack token", starts: "xox", secret: "xox[abeoprs]-[A-Za-z0-9-]{10,}", bounded: true, accepts: hasDigit },
  { label: "Slack token", starts: "xap", secret: "xapp-\\d-[A-Za-z0-9-]{20,}", bounded: true },
  {
    label: "Slack webhook",
    starts: "hoo",
    before: "hooks\\.slack\\.com/services/",
    secret: "T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}",
  },
  {
    label: "Stripe key",
    starts: "sk_ rk_",
    secret: "[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    bounded: true,
    accepts: hasDigit,
  },
  { label: "Stripe key", starts: "whs", secret: "whsec_[A-Za-z0-9+/]{24,}={0,2}", bounded: true, accepts: hasDigit },
  {
    label: "Google key",
    starts: "AIz",
    secret: "AIza[A-Za-z0-9_-]{35}",
    after: "(?![A-Za-z0-9_-])",
    bounded: true,
    accepts: hasDigit,
  },
  { label: "Google token", starts: "ya2", secret: "ya29\\.[A-Za-z0-9_-]{20,}", bounded: true },
  { label: "Google key", starts: "GOC", secret: "GOCSPX-[A-Za-z0-9_-]{28}" },
  { label: "npm token", starts: "npm", secret: "npm_[A-Za-z0-9]{36,}" },
  {
    label: "npm token",
    starts: "_au _pa",
    before: "_(?:authToken|auth|password)\\s{0,8}=\\s{0,8}[\"']?",
    secret: "[A-Za-z0-9+/=_.-]{8,}",
    accepts: isNpmSecret,
  },
  { label: "PyPI token", starts: "pyp", secret: "pypi-AgE[A-Za-z0-9_-]{50,}", bounded: true },
  { label: "Hugging Face token", starts: "hf_", secret: "hf_[A-Za-z0-9]{34,}", bounded: true },
  { label: "DigitalOcean token", starts: "doo dop dor", secret: "do[opr]_v1_[a-f0-9]{64}" },
  { label: "SendGrid key", starts: "SG.", secret: "SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}", bounded: true },
  {
    label: "AWS access key",
    starts: "AKI ASI ABI ACC",
    secret: "A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}",
    after: "(?![A-Za-z0-9+/=])",
    bounded: true,
  },
  {
    label: "AWS secret key",
    starts: "aws AWS sec Sec",
    before: `(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|[sS]ecretAccessKey)${QUOTED_EQUALS}`,
    secret: "[A-Za-z0-9/+]{40}",
    after: "(?![A-Za-z0-9/+])",
  },
  {
    label: "JWT",
    starts: "eyJ",
    secret: "eyJ[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}",
    bounded: true,
  },
  {
    label: "bearer token",
    starts: "bea Bea",
    before: "[bB]earer\\s{1,4}",
    secret: "[A-Za-z0-9._~+/-]{16,}=*",
    accepts: hasDigit,
  },
  {
    label: "credentials",
    starts: "aut Aut",
    before: "[aA]uthorization[\"']?\\s{0,8}[:=]\\s{0,8}[\"']?[bB]asic\\s{1,4}",
    secret: "[A-Za-z0-9+/]{8,}={0,2}",
  },
  {
    label: "URL password",
    starts: "://",
    before: "://[^\\s/:@\"'`<>?#]{0,128}:",
    secret: "[^\\s/@\"'`<>]{6,256}",
    after: "@",
    accepts: isNoPlaceholder,
  },
];

/** Of a private key in PEM (RFC 7468) one end is enough: the other may have been cut off. */
const PEM_LABEL = "private key";
const PEM_EDGE = /-----(BEGIN|END) (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;
const PEM_NEXT_EDGE = /-----(BEGIN|END) /g;
/** No key is longer. */
const PEM_LENGTH = 20_000;

const COMPILED = FORMATS.map(({ before = "", secret, after = "", ...format }) => ({
  ...format,
  pattern: new RegExp(`(${before})(${secret})${after}`, "y"),
}));

/** By what they start with. */
const BY_START = new Map<string, typeof COMPILED>();
for (const format of COMPILED) {
  for (const start of format.starts.split(" ")) BY_START.set(start, [...(BY_START.get(start) ?? []), format]);
}

const START = new RegExp(["-----", ...BY_START.keys()].map((start) => start.replace(".", "\\.")).join("|"), "g");

// One test for all formats, made to be fast (about a nanosecond for each character): where it fails, there is no key. Every part begins with a
// character that is rare in ordinary text, and looks back from there.
const HINT =
  /_(?:[A-Za-z0-9](?<=(?:gh[pousr]|github_pat|[sr]k|whsec|npm|hf|do[opr]_v1)_.)|auth|password|key(?<=access_key)|KEY(?<=ACCESS_KEY))|-(?:[A-Za-z0-9](?<=(?:gl[a-z]{2,5}|sk|xox[a-z]|xapp|GOCSPX|pypi)-.)|----(?:BEGIN|END) )|\.(?:[A-Za-z0-9_-](?<=(?:ya29|SG)\..)|slack(?<=hooks\.slack))|:\/\/(?=[^\s/@]{0,512}@)|A(?:[KSB]IA[A-Z2-7]|CCA[A-Z2-7]|Iza|ccessKey)|J(?<=eyJ)|z(?<=[aA]uthoriz)ation|[bB]earer\s/;

/** Where at or behind `from` a key may stand, for `keyAt` to look at; the length of the text when nowhere. */
export function keyStart(text: string, from: number): number {
  if (from === 0 && !HINT.test(text)) return text.length;
  START.lastIndex = from;
  return START.exec(text)?.index ?? text.length;
}

/** What they are called. */
export const KEY_LABELS: readonly string[] = [...new Set([PEM_LABEL, ...FORMATS.map(({ label }) => label)])];

/** A piece of a text that is not to be shown, and what it is. */
export interface Secret extends Span {
  readonly label: string;
}

/** The key that stands at `index`, or behind what stands there; `undefined` for none. `from`: nothing before it belongs to the key. */
export function keyAt(text: string, index: number, from: number): Secret | undefined {
  if (text.startsWith("-----", index)) return privateKeyAt(text, index, from);
  for (const { label, pattern, bounded, accepts } of BY_START.get(text.slice(index, index + 3)) ?? []) {
    // First, so that one long word is not looked through from each place in it.
    if (bounded && isInsideWord(text, index)) continue;
    pattern.lastIndex = index;
    const [, before = "", secret = ""] = pattern.exec(text) ?? [];
    if (secret === "" || accepts?.(secret) === false) continue;
    const start = index + before.length;
    return { start, end: start + secret.length, label };
  }
  return undefined;
}

/** True when something in the text looks like a key. */
export function hasKnownKey(text: string): boolean {
  for (let at = keyStart(text, 0); at < text.length; at = keyStart(text, at + 1)) {
    if (keyAt(text, at, 0) !== undefined) return true;
  }
  return false;
}

// What keys, and what stands before them, begin with: from there on a text is held back up to the next white space.
const MARKERS = (
  "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gloas- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- sk- sk_ rk_ xox xapp- " +
  "hooks.slack.com whsec_ AIza ya29. GOCSPX- npm_ pypi- hf_ doo_ dop_ dor_ SG. AKIA ASIA ABIA ACCA eyJ ://"
).split(" ");
/** Behind these there may be white space. */
const LEADS =
  "Bearer bearer Authorization authorization _authToken _auth _password aws_secret_access_key AWS_SECRET_ACCESS_KEY SecretAccessKey secretAccessKey".split(
    " ",
  );
const OPEN = new RegExp(`(?:${MARKERS.join("|").replaceAll(".", "\\.")})\\S*$`);
const OPEN_LEAD = new RegExp(`(?:${LEADS.join("|")})["'\\s:=]*(?:[bB](?:earer|asic)\\s+)?\\S*$`);
const OPEN_PEM = /-----BEGIN [A-Z0-9 ]*-{0,5}(?:[\sA-Za-z0-9+/=:,-]|\\[nr])*$/;
/** The end of a text may be the beginning of a beginning. */
const BEGINNINGS: ReadonlySet<string> = new Set(
  ["-----BEGIN ", ...MARKERS, ...LEADS].flatMap((each) => Array.from(each, (_, at) => each.slice(0, at + 1))),
);
const LONGEST_BEGINNING = Math.max(...[...BEGINNINGS].map(({ length }) => length));
/** So far back it is looked for; a private key is as long as it is. */
const OPEN_LENGTH = 8_192;

/** Where in a text, of which more will come, a key may have begun that is not all there; its length when nowhere. */
export function openKeyAt(text: string): number {
  const from = Math.max(0, text.length - OPEN_LENGTH);
  const end = text.slice(from);
  const starts = [OPEN, OPEN_LEAD, OPEN_PEM].map((pattern) => pattern.exec(end)?.index ?? end.length);
  for (let length = Math.min(LONGEST_BEGINNING, end.length); length > 0; length--) {
    if (!BEGINNINGS.has(end.slice(-length))) continue;
    starts.push(end.length - length);
    break;
  }
  return from + Math.min(...starts);
}

/** How a key that was cut off at `end` begins; `undefined` when there is none. Looks at one word. */
export function cutKeyBefore(text: string, end: number): Secret | undefined {
  const word = /[^\s"'`<>()]{1,512}$/.exec(text.slice(Math.max(0, end - 512), end))?.[0];
  if (word === undefined) return undefined;
  const match = CUT.exec(word);
  if (match === null) return undefined;
  const start = end - word.length + match.index;
  return isInsideWord(text, start) ? undefined : { start, end, label: "key" };
}

const CUT =
  /(?:(?:gh[pousr]_|npm_|AKIA|ASIA)(?=[A-Za-z]*\d)[A-Za-z0-9]{6,}|(?:github_pat_|glpat-|sk-ant-|sk-proj-|xox[abeoprs]-|[rs]k_(?:live|test)_|AIza)(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{6,})$/;

function privateKeyAt(text: string, index: number, from: number): Secret | undefined {
  PEM_EDGE.lastIndex = index;
  const [edge = "", kind] = PEM_EDGE.exec(text) ?? [];
  if (edge === "") return undefined;
  const start = index + edge.length;
  if (kind === "END") {
    const body = bodyBefore(text, index, Math.max(from, index - PEM_LENGTH));
    return isKeyText(body) ? { start: index - body.trimStart().length, end: start, label: PEM_LABEL } : undefined;
  }
  PEM_NEXT_EDGE.lastIndex = start;
  const next = PEM_NEXT_EDGE.exec(text);
  if (next !== null && next[1] === "END" && next.index - start < PEM_LENGTH) {
    const closing = text.indexOf("-----", next.index + 8);
    const isKey = closing !== -1 && isKeyText(text.slice(start, next.index));
    return isKey ? { start: index, end: closing + 5, label: PEM_LABEL } : undefined;
  }
  const [body = ""] = PEM_BODY.exec(text.slice(start, start + PEM_LENGTH)) ?? [];
  return isKeyText(body) ? { start: index, end: start + body.trimEnd().length, label: PEM_LABEL } : undefined;
}

/** The base64 that ends at `end`, walked back: an expression would try each place before it. */
function bodyBefore(text: string, end: number, from: number): string {
  let start = end;
  while (start > from && /[A-Za-z0-9+/=\s\\]/.test(text.charAt(start - 1))) start--;
  return text.slice(start, end);
}

/** Headers and base64, up to what is neither. */
const PEM_BODY = /^(?:[A-Za-z-]+: [^\n]{1,200}\n|[A-Za-z0-9+/=]|\s|\\[nr])+/;

/** Names of headers stand in source code too; a key has a long run of base64. */
function isKeyText(body: string): boolean {
  return /[A-Za-z0-9+/=]{32}/.test(body);
}

/** Colours and the `\n` of a text in quotes end in letters that belong to no word. */
function isInsideWord(text: string, index: number): boolean {
  if (index === 0 || !/[A-Za-z0-9_-]/.test(text.charAt(index - 1))) return false;
  return !/(?:\x1b\[[\d;]*m|\\[nrt]|%[0-9A-Fa-f]{2})$/.test(text.slice(Math.max(0, index - 16), index));
}

function hasDigit(secret: string): boolean {
  return /\d/.test(secret);
}

/** A word in code is none: `_password = currentPassword`. */
function isNpmSecret(secret: string): boolean {
  return isNoPlaceholder(secret) && /[\d=]/.test(secret) && !/^[\w.]*\.[\w.]*$/.test(secret);
}

/** What documents and examples have in place of a password. */
function isNoPlaceholder(secret: string): boolean {
  return !/^(?:[$%{[*<].*|x+|\.+|pass(word|wd)?|secret|changeme|example|postgres|mysql|root|admin|[a-z]*:?password|your[_-].*|my[_-]?(secret|password))$/i.test(
    secret,
  );
}
