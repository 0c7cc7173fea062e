import type { Env } from "../contract/effect.ts";
import { tried } from "../util/errors.ts";
import { either, words } from "../util/text.ts";

/** A value to mask, and its name. */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** Shorter values would be found in ordinary text. */
export const SHORTEST_VALUE = 8;
/** Longer values are not keys. */
const LONGEST_VALUE = 16_384;

// Names of variables that contain secrets. Parts are words between underscores, or at the end, as in PGPASSWORD.
const SECRET_NAME = either(
  "i",
  /(?:^|_)(?:TOKENS?|KEYS?|APIKEY|SECRETS?|PASS|PWD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_\d+)?$/,
  /(?:^|_)(?:CREDS|AUTH|COOKIE|SALT|DSN)(?:_\d+)?$/,
  /SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE_KEY|API_?KEY|ACCESS_?KEY|TOKEN$|^AWS_/,
);
// Names like these that contain no secret: where a secret is, how it is used, what is public.
const HARMLESS_NAME = either(
  "i",
  /(?:_|^)(?:FILE|PATH|DIR|HOME|SOCK|SOCKET|URL|URI|ENDPOINT|HOST|PORT|REGION|PROFILE|NAME|ENV|ARN|PAGER|OUTPUT|MODE)$/,
  /(?:_|^)(?:TYPE|LENGTH|TTL|EXPIRES?|ATTEMPTS|ENABLED|PUBLIC_KEY|KEYRING|ASKPASS)$|PUBLIC_?KEY|^NEXT_PUBLIC_|^VITE_/,
  /^(?:PWD|OLDPWD|SSH_AUTH_SOCK|SSH_ASKPASS|GIT_ASKPASS|XAUTHORITY|KEYTIMEOUT|HISTCONTROL)$/,
);

/**
 * Returns the secrets among variables: those with secret names, passwords in any URL, and variables named in `also`.
 */
export function secretsIn(env: NodeJS.ProcessEnv | Env, also: readonly string[] = []): readonly NamedValue[] {
  return Object.entries(env).flatMap(([name, value]): NamedValue[] => {
    if (value === undefined || value === "") return [];
    if (also.includes(name)) return value.length < SHORTEST_VALUE ? [] : [{ name: shownName(name), value }];
    const password = passwordIn(value);
    if (password !== undefined) return password.map((each) => ({ name: shownName(name), value: each }));
    return isSecretName(name) && isSecretValue(value) ? [{ name: shownName(name), value }] : [];
  });
}

/** Returns true for the name of a variable whose value is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);
}

/**
 * Returns true for a value that can be a secret: not short, and not an ordinary word, number, path, URL or placeholder.
 */
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

/** Returns the password of a URL, as written and decoded; `undefined` if the value is not a URL with a password. */
function passwordIn(value: string): readonly string[] | undefined {
  const [, written] = /^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:([^\s/]+)@[^\s@]+$/i.exec(value) ?? [];
  if (written === undefined) return undefined;
  return [...new Set([written, tried(() => decodeURIComponent(written)) ?? written])].filter(isSecretValue);
}

/**
 * Returns the forms in which a value may occur: unchanged, in JSON, in a URL, in UTF-8 with a character for each byte
 * (`maskedOutput`); for several lines, each line too. Longest first.
 */
export function formsOf(value: string): readonly string[] {
  const lines = value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.length >= 16) : [];
  const forms = [value, value.trim(), ...lines].flatMap((each) => {
    const encoded = tried(() => encodeURIComponent(each)) ?? each; // half a surrogate pair cannot be encoded
    return [each, JSON.stringify(each).slice(1, -1), encoded, Buffer.from(each).toString("latin1")];
  });
  return [...new Set(forms)]
    .filter((form) => form.length >= SHORTEST_VALUE)
    .toSorted((one, other) => other.length - one.length);
}

/** Returns the name in a form that fits into a mark, whatever characters it has. */
function shownName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, "_").slice(0, 64);
}

const WORDS: ReadonlySet<string> = new Set(
  words(`
    password changeme disabled enabled required optional default undefined localhost development production staging
    testing example placeholder secretkey username anonymous negotiate keychain keyring osxkeychain libsecret
    us-east-1 us-east-2 us-west-1 us-west-2 eu-west-1 eu-west-2 eu-central-1 ap-south-1 ap-southeast-1
    ap-northeast-1 postgres administrator credentials authorization
  `),
);
