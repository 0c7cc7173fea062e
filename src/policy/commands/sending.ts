import type { FoundWord } from "./found-words.ts";
import type { FoundCommand } from "./search.ts";

export const SENDS = "it sends data to other machines";

interface Options {
  /** Options whose value is the next word, which is then no server. */
  readonly values: RegExp;
  /** Options that lead to another server than the named one. */
  readonly leadAway: RegExp;
}

/** One of the `wanted` letters behind letters that take no value. `letters` are all that take one. */
const shortOption = (letters: string, wanted = letters): string => `-(?:#|[^\\W${letters}])*[${wanted}]`;

const CURL_LETTERS = "AbcCdDeEFHKmoPQrtTuUwxXyYz";
const CURL: Options = {
  values: new RegExp(
    `^(${shortOption(CURL_LETTERS)}|--(data(-ascii|-binary|-raw|-urlencode)?|form(-string)?|json|url-query|header|` +
      "user|user-agent|request|request-target|output|output-dir|referer|cookie|cookie-jar|write-out|max-time|retry|" +
      "connect-timeout|retry-delay|retry-max-time|cert|key|cacert|capath|range|limit-rate|upload-file|dump-header|" +
      "max-redirs|speed-time|speed-limit|unix-socket|stderr|trace|trace-ascii|netrc-file|oauth2-bearer|continue-at|" +
      "max-filesize|noproxy))$",
  ),
  leadAway: new RegExp(`^(${shortOption(CURL_LETTERS, "xK")}|--(connect-to|resolve|proxy|preproxy|socks|config))`),
};
const WGET: Options = {
  values: new RegExp(
    `^(${shortOption("OoPaUetTwQRAlXIDBi")}|--(post-data|post-file|body-data|body-file|method|header|output-document` +
      "|output-file|timeout|tries|user|password|user-agent|referer|directory-prefix|wait))$",
  ),
  leadAway: /^(-e|--execute)/,
};
const HTTPIE: Options = {
  values: /^(-[aAosp]|--(auth|auth-type|output|session|print|timeout|verify))$/,
  leadAway: /^--proxy/,
};
const NETCAT: Options = { values: /^\0/, leadAway: /^\0/ };

/** Which commands send data to other machines. What goes to a server of this machine does not. */
export const SENDING: { readonly [names: string]: (command: FoundCommand) => boolean } = {
  curl: (command) => sendsByCurl(command) && !isLocal(command, CURL),
  wget: (command) => has(command, /^--(post|body)|^--method=?(?!get|head)/i) && !isLocal(command, WGET),
  "http https xh": sendsByHttpie,
  // With -z, it checks whether a port of this machine is open.
  nc: (command) => {
    const words = command.words.filter(({ value = "" }) => !/^\d+(-\d+)?$/.test(value));
    return !has({ words }, /^-\w*z/, 0) || !isLocal({ ...command, words }, NETCAT);
  },
  // `host:path` or `user@host:path`, or `rsync://`.
  "scp rsync": (command) => has(command, /^[^-/.][^/]*:/),
};

function has({ words }: Pick<FoundCommand, "words">, word: RegExp, from = 1): boolean {
  return words.slice(from).some(({ prefix }) => word.test(prefix));
}

/** A server on this machine, by a loopback name or address. */
const LOOPBACK = /^([a-z]+:\/\/)?(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|::1)(:\d{1,5})?([/?#][^\s\\@]*)?$/i;

function isLocal({ words, assigns }: FoundCommand, { values, leadAway }: Options): boolean {
  if (assigns.some(({ name }) => /_proxy$/i.test(name)) || has({ words }, leadAway, 0)) return false;
  const servers = words.filter(({ prefix }, at) => {
    return at > 0 && !prefix.startsWith("-") && !values.test(words[at - 1]?.prefix ?? "");
  });
  return servers.length > 0 && servers.every(({ value }) => LOOPBACK.test(value ?? ""));
}

const CURL_SENDS = new RegExp(`^-(?:#|[^\\W${CURL_LETTERS}])*([dFTX])(.*)$`, "s");

function sendsByCurl({ words }: FoundCommand): boolean {
  return words.slice(1).some(({ prefix }, at) => {
    const next = words[at + 2]?.prefix ?? "";
    if (/^--(da|for|up|js|url-query|mail|post)/.test(prefix)) return true;
    if (prefix.startsWith("--req")) return isSendingMethod(prefix.split("=")[1] ?? next);
    const [, letter, glued] = CURL_SENDS.exec(prefix) ?? [];
    return letter !== undefined && (letter !== "X" || isSendingMethod(glued || next));
  });
}

function isSendingMethod(method: string): boolean {
  return !/^(GET|HEAD|OPTIONS)$/i.test(method);
}

function sendsByHttpie(command: FoundCommand): boolean {
  const { words } = command;
  // Behind the server there are fields and headers.
  const isServer = ({ prefix }: FoundWord, at: number) =>
    at > 0 && !/^(-|[A-Z]+$)/.test(prefix) && !HTTPIE.values.test(words[at - 1]?.prefix ?? "");
  const upTo = words.slice(0, words.findIndex(isServer) + 1).filter(({ prefix }) => !/^[A-Z]+$/.test(prefix));
  return has(command, /^(POST|PUT|PATCH|DELETE)$|^[\w-]+(:?=|@)/) && !isLocal({ ...command, words: upTo }, HTTPIE);
}
