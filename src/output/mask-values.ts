import type { Env } from "../contract/effect.ts";

/** A value that is not to be shown, and under which name. */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** Shorter ones would be found in ordinary text. */
export const SHORTEST_VALUE = 8;
/** A longer value is no key. */
const LONGEST_VALUE = 16_384;

// Names of variables that hold secrets; parts are words between underscores, or stand at the end, as in PGPASSWORD.
const SECRET_NAME =
  /(?:^|_)(?:TOKENS?|KEYS?|APIKEY|SECRETS?|PASS|PWD|PASSWD|PASSPHRASE|CREDENTIALS?|CREDS|AUTH|COOKIE|SALT|DSN)(?:_\d+)?$|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE_KEY|API_?KEY|ACCESS_?KEY|TOKEN$|^AWS_/i;
// What such names hold that is none: where a secret is, how it is used, what is public.
const HARMLESS_NAME =
  /(?:_|^)(?:FILE|PATH|DIR|HOME|SOCK|SOCKET|URL|URI|ENDPOINT|HOST|PORT|REGION|PROFILE|NAME|ENV|ARN|PAGER|OUTPUT|MODE|TYPE|LENGTH|TTL|EXPIRES?|ATTEMPTS|ENABLED|PUBLIC_KEY|KEYRING|ASKPASS)$|^(?:PWD|OLDPWD|SSH_AUTH_SOCK|SSH_ASKPASS|GIT_ASKPASS|XAUTHORITY|KEYTIMEOUT|HISTCONTROL)$|PUBLIC_?KEY|^NEXT_PUBLIC_|^VITE_/i;

/** The secrets among variables: by name, and passwords in URLs by whatever name. `also`: names of variables that are secrets too. */
export function secretsIn(env: NodeJS.ProcessEnv | Env, also: readonly string[] = []): readonly NamedValue[] {
  return Object.entries(env).flatMap(([name, value]): NamedValue[] => {
    if (value === undefined || value === "") return [];
    if (also.includes(name)) return value.length < SHORTEST_VALUE ? [] : [{ name: shownName(name), value }];
    const password = passwordIn(value);
    if (password !== undefined) return password.map((each) => ({ name: shownName(name), value: each }));
    return isSecretName(name) && isSecretValue(value) ? [{ name: shownName(name), value }] : [];
  });
}

/** True for the name of a variable whose value is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);
}

/** True for what can be a secret: not short, no ordinary word, number, path, address or switch, which would be masked everywhere. */
export function isSecretValue(value: string): boolean {
  const text = value.trim();
  if (text.length < SHORTEST_VALUE || text.length > LONGEST_VALUE) return false;
  if (/^[\d.,:_-]{1,15}$/.test(text) || WORDS.has(text.toLowerCase())) return false;
  if (
    /^(?:~|\.{1,2})?\/(?:[\w.@-]+\/)+[\w.@-]*$/.test(text) &&
    /^(?:~|\.|\/(?:home|root|etc|usr|var|run|tmp|opt|srv|mnt|media|Users|private|Library|dev|proc)\/)/.test(text)
  ) {
    return false;
  }
  return !/^[a-z][a-z0-9+.-]*:\/\/[^@]*$/i.test(text) && !/^(.)\1*$/.test(text) && !/^[$%]\{?\w+\}?$/.test(text);
}

/** The password of a URL, as it is written and as it is meant; `undefined` where the value is none with a password. */
function passwordIn(value: string): readonly string[] | undefined {
  const [, written] = /^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:([^\s/]+)@[^\s@]+$/i.exec(value) ?? [];
  if (written === undefined) return undefined;
  return [...new Set([written, decoded(written)])].filter(isSecretValue);
}

/** The forms in which a value comes back: as it is, in JSON, in a URL; of several lines each. The longest first. */
export function formsOf(value: string): readonly string[] {
  const lines = value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.length >= 16) : [];
  const forms = [value, value.trim(), ...lines].flatMap((each) => [
    each,
    JSON.stringify(each).slice(1, -1),
    encoded(each),
  ]);
  return [...new Set(forms)]
    .filter((form) => form.length >= SHORTEST_VALUE)
    .toSorted((one, other) => other.length - one.length);
}

function encoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    return value; // half a character
  }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** Fit for a mark, whatever the system takes as a name. */
function shownName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, "_").slice(0, 64);
}

const WORDS: ReadonlySet<string> = new Set(
  (
    "password changeme disabled enabled required optional default undefined localhost development production staging testing " +
    "example placeholder secretkey username anonymous negotiate keychain keyring osxkeychain libsecret us-east-1 us-east-2 us-west-1 us-west-2 " +
    "eu-west-1 eu-west-2 eu-central-1 ap-south-1 ap-southeast-1 ap-northeast-1 postgres administrator credentials authorization"
  ).split(" "),
);
