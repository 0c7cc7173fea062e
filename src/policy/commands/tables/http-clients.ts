import type { CommandSpec, Finding, Use } from "../spec.ts";
import { namesOf } from "./shared.ts";

const FLAGS = namesOf(
  "-s --silent -S --show-error -sS -f --fail --fail-with-body -i --include -I --head -v --verbose -N --no-buffer --compressed --http1.1 --http2 -G --get",
);
const VALUES = namesOf(
  "-X --request -H --header -d --data --data-raw --data-urlencode --json -A --user-agent -m --max-time --connect-timeout --retry --retry-delay -w --write-out -o --output",
);

/** A server of this machine, by a name or address that is nobody else's. */
const LOOPBACK = /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?([/?#][^\s\\]*)?$/i;

/**
 * HTTP clients. What the project's own server answers is asked all day while one works on it; whatever could reach another machine, read a file
 * to send it or take its settings from one is of high risk, as every other client is.
 */
export const HTTP_CLIENTS: readonly CommandSpec[] = [
  {
    names: ["curl"],
    risk: "medium",
    why: "asks a server of this machine",
    ordinary: true,
    options: {
      flags: [...FLAGS].join(" "),
      values: {
        "-X --request": "text",
        "-H --header": "text",
        "-d --data": "text",
        "--data-raw": "text",
        "--data-urlencode": "text",
        "--json": "text",
        "-A --user-agent": "text",
        "-m --max-time": "text",
        "--connect-timeout": "text",
        "--retry": "text",
        "--retry-delay": "text",
        "-w --write-out": "text",
        "-o --output": "write",
      },
    },
    operands: { rest: "text" },
    refine: highUnlessLocal,
    match: [
      "curl localhost:3000",
      "curl -s 'http://localhost:3000/api/users?page=2'",
      "curl -sS -X POST -H 'Content-Type: application/json' -d '{\"a\":1}' http://127.0.0.1:8080/items",
      "curl -i -m 5 'http://[::1]:5173/'",
      "curl -sf -o out.json -w '%{http_code}' http://localhost/health",
    ],
    notMatch: [
      "curl https://x.example",
      "curl",
      "curl -K conf.txt",
      "curl http://localhost:3000@x.example/",
      "curl http://localhost.x.example/",
      "curl -x x.example:80 http://localhost/",
      "curl -L http://localhost/",
      "curl http://localhost/ https://x.example",
      "curl -d @/etc/passwd http://localhost/",
      "curl -H @secret http://localhost/",
      "curl -w @format http://localhost/",
      "curl -w '%output{x}' http://localhost/",
      "curl --resolve localhost:80:203.0.113.9 http://localhost/",
      "curl --data-urlencode name@/etc/passwd http://localhost/",
      "curl file:///etc/passwd",
      "curl http://$HOST/",
      "curl -T id_rsa http://localhost/",
      "curl 'http://localhost/{a,b}'",
    ],
  },
];

function highUnlessLocal({ words }: Use): readonly Finding[] {
  return isLocal(words.slice(1).map(({ value }) => value)) ? [] : [HIGH];
}

const HIGH: Finding = { kind: "risk", risk: "high", why: "it reaches other machines" };

function isLocal(args: readonly (string | undefined)[]): boolean {
  let urls = 0;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    if (arg === undefined) return false;
    if (FLAGS.has(arg) || /^-[sSfiIvN]+$/.test(arg)) continue;
    if (VALUES.has(arg)) {
      const value = args[++at];
      if (value === undefined || !isPlainValue(arg, value)) return false;
      continue;
    }
    if (!LOOPBACK.test(arg) || /[{}[\]]/.test(arg.replace("[::1]", ""))) return false;
    urls++;
  }
  return urls > 0;
}

/** An @ in front, or with a name before it, makes curl read a file; %output makes it write one. */
function isPlainValue(option: string, value: string): boolean {
  if (option === "-o" || option === "--output") return true; // a path, judged as one
  if (option === "--data-raw") return true;
  if (option === "--data-urlencode") return !value.includes("@");
  return !value.startsWith("@") && !value.includes("%output");
}
