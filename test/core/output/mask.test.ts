import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_MASK, createMask } from "../../../src/core/output/mask.ts";
import { isSecretName, isSecretValue } from "../../../src/core/output/mask-values.ts";

const TOKEN = "tok-93bLq7ZfWm20xKcVr81h";
/** The two ends of a private key, in parts, so that this file contains none. */
const [BEGIN, END] = ["BEGIN", "END"].map((edge) => ["-----", edge, " RSA PRIVATE", " KEY-----"].join("")) as [
  string,
  string,
];
const mask = createMask({
  DEPLOY_TOKEN: TOKEN,
  DATABASE_URL: "postgres://app:S3same%21open@db.example.org/x",
  HOME: "/home/me",
});
const plain = createMask({});

/** In two parts, so that this file contains none. */
const KEYS: readonly (readonly [label: string, key: string, before?: string, after?: string])[] = [
  ["GitHub token", `ghp_${"aB3dE6gH9".repeat(4)}`],
  ["GitHub token", `ghs_${"aB3dE6gH9".repeat(4)}`],
  ["GitHub token", `github_pat_${"11ABCDEFG0".repeat(2)}_${"aB3dE6gH9".repeat(6)}`],
  ["GitLab token", `glpat-${"aB3dE6gH9x".repeat(2)}`],
  ["Anthropic key", `sk-ant-api03-${"aB3_dE6-gH9".repeat(8)}`],
  ["OpenAI key", `sk-proj-${"aB3dE6gH9".repeat(5)}`],
  ["OpenAI key", `sk-${"aB3dE6gH".repeat(6)}`],
  ["Slack token", `xoxb-${"123456".repeat(2)}-aB3dE6gH9`],
  ["Slack webhook", `T01ABCDEF/B01ABCDEF/${"aB3dE6gH".repeat(3)}`, "https://hooks.slack.com/services/"],
  ["Stripe key", `sk_live_${"aB3dE6gH".repeat(3)}`],
  ["Stripe key", `rk_test_${"aB3dE6gH".repeat(3)}`],
  ["Google key", `AIza${"aB3dE6g".repeat(5)}`],
  ["Google token", `ya29.${"aB3dE6gH".repeat(4)}`],
  ["Google key", `GOCSPX-${"aB3dE6g".repeat(4)}`],
  ["npm token", `npm_${"aB3dE6gH9".repeat(4)}`],
  ["npm token", "1f0c7a3e-55d2", "//registry.example.org/:_authToken="],
  ["PyPI token", `pypi-AgE${"aB3dE6gH9".repeat(8)}`],
  ["Hugging Face token", `hf_${"aB3dE6gH9".repeat(4)}`],
  ["DigitalOcean token", `dop_v1_${"a3d6".repeat(16)}`],
  ["SendGrid key", `SG.${"aB3dE6gH9xY".repeat(2)}.${"aB3dE6gH9xY".repeat(4).slice(0, 43)}`],
  ["AWS access key", `AKIA${"ABCDEFGH".repeat(2)}`],
  ["AWS secret key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEYA", "aws_secret_access_key = "],
  ["JWT", ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0In0", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g"].join(".")],
  ["bearer token", "mF_9.B5f-4.1JqM5f7a", "Authorization: Bearer "],
  ["credentials", "QWxhZGRpbjpvcGVuc2VzYW1l", "authorization: Basic "],
  ["URL password", "hunter2hunter2", "redis://worker:", "@cache.example.org:6379/0"],
  ["private key", `${BEGIN}\n${`${"b3BlbnNzaC1rZXk".repeat(4)}\n`.repeat(6)}${END}`],
];

describe("keys of known formats are masked, and only they", () => {
  for (const [label, key, before = "", after = ""] of KEYS) {
    test(`${before || key.slice(0, 8)}… is ${label === "AWS access key" ? "an" : "a"} ${label}`, () => {
      for (const [left, right] of [
        ["", ""],
        ["see ", " there"],
        ['{"k":"', '"}'],
        ["\x1b[32m", "\x1b[0m"],
        ["K=", "\n"],
        ["(", ")"],
      ] as const) {
        expect(plain.text(left + before + key + after + right)).toBe(
          `${left}${before}[masked: ${label}]${after}${right}`,
        );
      }
    });
  }

  test("several in one text are all masked", () => {
    const text = KEYS.map(([, key, before = "", after = ""]) => before + key + after).join("\n");
    expect(plain.text(text)).toBe(
      KEYS.map(([label, , before = "", after = ""]) => `${before}[masked: ${label}]${after}`).join("\n"),
    );
  });

  test("a key that was cut off at the end, or above the notes below it, is masked", () => {
    const begun = `ghp_${"aB3dE6gH9".repeat(2)}`;
    expect(plain.text(`x ${begun}`)).toBe("x [masked: key]");
    expect(plain.text(`x ${begun}\n[Output truncated at 50KB.]\n[Job 1 has ended]`)).toBe(
      "x [masked: key]\n[Output truncated at 50KB.]\n[Job 1 has ended]",
    );
  });

  test("one end of a private key suffices", () => {
    const lines = `${"b3BlbnNzaC1rZXk".repeat(4)}\n`.repeat(3);
    expect(plain.text(`a\n${BEGIN}\n${lines}[Showing lines 1-4 of 9.]`)).toBe(
      "a\n[masked: private key]\n[Showing lines 1-4 of 9.]",
    );
    expect(plain.text(`${lines}${END}\nb`)).toBe("[masked: private key]\nb");
    expect(plain.text(JSON.stringify(`${BEGIN}\n${lines}${END}`))).toBe('"[masked: private key]"');
  });

  test.for([
    `const HEADER = "${BEGIN}";\nconst FOOTER = "${END}";`,
    "postgres://localhost:5432/test",
    "postgres://postgres:postgres@localhost/test",
    "https://user:${PASSWORD}@example.org/",
    "https://user:<password>@example.org/",
    "git@github.com:owner/repository.git",
    "ssh://git@example.org:22/x and https://example.org:8080/@scope/name",
    "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1",
    "class sk-fading-circle, .sk-child-of-the-flower",
    "npm_package_config_registry_of_the_whole_company_1",
    "bearer authentication, Bearer tokenInterceptor",
    "this._password = this.currentPasswordOfTheUser;",
    "AKIAIOSFODNN",
    "sk_live_key_goes_here",
    "pk_test_aB3dE6gHaB3dE6gHaB3dE6gH",
    `data:application/json;base64,eyJ2ZXJzaW9u${"IjozLCJzb3VyY2VzIjpb".repeat(5)}`,
  ])("%j is none", (text) => {
    expect(plain.text(text)).toBe(text);
    expect(mask.text(text)).toBe(text);
  });

  test("hashes, ids, numbers and lock files are not keys", () => {
    const id = fc.oneof(
      fc.uuid(),
      fc.uint8Array({ minLength: 16, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString("hex")),
      fc.uint8Array({ minLength: 64, maxLength: 64 }).map((bytes) => `sha512-${Buffer.from(bytes).toString("base64")}`),
      fc.ulid(),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.webUrl(),
      fc.emailAddress(),
      fc.double().map(String),
    );
    fc.assert(
      fc.property(
        fc.array(id, { minLength: 1, maxLength: 30 }),
        fc.constantFrom(" ", "\n", '": "', "="),
        (ids, between) => {
          const text = ids.join(between);
          // By its grammar, an address, a time and a mail joined by "=" are a URL with a password.
          fc.pre(!/:\/\/[^\s/"]*:[^\s"]*@/.test(text));
          expect(mask.text(text)).toBe(text);
        },
      ),
      { numRuns: 1_000 },
    );
    const lock = Array.from({ length: 500 }, (_, n) => ({
      resolved: `https://registry.example.org/p${n}/-/p${n}-1.0.${n}.tgz`,
      integrity: `sha512-${createHash("sha512").update(randomBytes(9)).digest("base64")}`,
      id: randomUUID(),
    }));
    expect(mask.json(lock)).toBe(lock);
  });

  test("the sources of this project contain none", () => {
    const root = new URL("../../../src/", import.meta.url);
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    expect(files.length).toBeGreaterThan(50);
    for (const name of files) {
      const text = readFileSync(new URL(name, root), "utf8");
      expect(mask.text(text) === text, name).toBe(true);
    }
    const lock = readFileSync(new URL("../../../package-lock.json", import.meta.url), "utf8");
    expect(mask.text(lock) === lock).toBe(true);
  });
});

describe("values of variables with secret names", () => {
  test("are masked with the variable's name, wherever they occur", () => {
    expect(mask.text(`a${TOKEN}b\n${TOKEN}`)).toBe("a[masked: DEPLOY_TOKEN]b\n[masked: DEPLOY_TOKEN]");
  });

  test("of a URL: the password is masked, as written and decoded", () => {
    expect(mask.text("S3same%21open or S3same!open")).toBe("[masked: DATABASE_URL] or [masked: DATABASE_URL]");
    expect(mask.text("db.example.org/x")).toBe("db.example.org/x");
  });

  test("are masked in JSON, in URLs, and line by line", () => {
    const value = 'two "quoted" lines\nof sixteen characters and more';
    const of = createMask({ THE_SECRET: value });
    for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)]) {
      expect(of.text(`<${form}>`)).toBe("<[masked: THE_SECRET]>");
    }
    expect(of.text("of sixteen characters and more")).toBe("[masked: THE_SECRET]");
  });

  test("the longest of those with the same beginning is masked", () => {
    const of = createMask({ A_TOKEN: "abcdef1234", B_TOKEN: "abcdef1234-and-more" });
    expect(of.text("abcdef1234-and-more abcdef1234-and so")).toBe("[masked: B_TOKEN] [masked: A_TOKEN]-and so");
  });

  test.for([
    "GITHUB_TOKEN",
    "STRIPE_KEY",
    "MY_SECRET_1",
    "DB_PASSWORD",
    "PGPASSWORD",
    "GOOGLE_CREDENTIALS",
    "AWS_SESSION_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "apikey",
    "NPM_AUTH",
  ])("%s is the name of one", (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  test.for([
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "AWS_REGION",
    "AWS_PROFILE",
    "SSH_AUTH_SOCK",
    "GIT_ASKPASS",
    "KEYBOARD",
    "MONKEY",
    "TOKENIZERS_PARALLELISM",
    "GOOGLE_CREDENTIALS_FILE",
    "VITE_PUBLIC_KEY",
    "PASSWORD_FILE",
  ])("%s is not", (name) => {
    expect(isSecretName(name)).toBe(false);
  });

  test.for([
    "true",
    "password",
    "changeme",
    "disabled",
    "production",
    "1234567",
    "10.0.0.1:80",
    "/home/me/.keys/x",
    "~/keys/mine.pem",
    "https://example.org/key",
    "aaaaaaaaaaaa",
    "${OTHER_TOKEN}",
    "short",
  ])("%j is no value to mask", (value) => {
    expect(isSecretValue(value)).toBe(false);
    expect(createMask({ X_TOKEN: value }).text(`is ${value} it`)).toBe(`is ${value} it`);
  });

  test("more can be added: by value, and by the name of a variable", () => {
    const of = createMask({ HARMLESS: "not so harmless 1" }, { values: ["my own value"], names: ["HARMLESS"] });
    expect(of.text("my own value, not so harmless 1")).toBe("[masked: secret], [masked: HARMLESS]");
  });

  test("are learned from the environment of a command", () => {
    const of = createMask({});
    expect(of.text("learned-value-77")).toBe("learned-value-77");
    of.learn({ CI_TOKEN: "learned-value-77", CI: "true" });
    expect(of.text("learned-value-77")).toBe("[masked: CI_TOKEN]");
  });

  test("cut off anywhere reveal at most five characters", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: TOKEN.length - 1 }),
        fc.string(),
        fc.constantFrom("", "\n[Output truncated at 50KB.]"),
        (at, text, note) => {
          expect(mask.text(`${text}${TOKEN.slice(0, at)}${note}`)).not.toContain(TOKEN.slice(0, 6));
          expect(mask.text(`${TOKEN.slice(at)} ${text}${note}`)).not.toContain(TOKEN.slice(-6));
        },
      ),
    );
    expect(mask.text(`long line ${TOKEN.slice(0, 9)}…\nnext`)).toBe("long line [masked: DEPLOY_TOKEN]…\nnext");
  });

  test("a part in the middle of a line is ordinary text", () => {
    expect(mask.text(`a ${TOKEN.slice(0, 9)} b`)).toBe(`a ${TOKEN.slice(0, 9)} b`);
  });

  test("no secret survives in any context, and a text without secrets is returned as the same value", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constant(TOKEN), fc.string({ unit: "binary" }))), (parts) => {
        expect(mask.text(parts.join(""))).not.toContain(TOKEN);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("JSON", () => {
  test("is masked in all its texts and keys, and returned as the same value if nothing is masked", () => {
    const clean = { a: [1, null, "two"], b: { c: true } };
    expect(mask.json(clean)).toBe(clean);
    expect(mask.json({ list: ["x", { [TOKEN]: `=${TOKEN}` }], n: 1 })).toEqual({
      list: ["x", { "[masked: DEPLOY_TOKEN]": "=[masked: DEPLOY_TOKEN]" }],
      n: 1,
    });
  });

  test("has secrets by the name of a variable in it", () => {
    expect(mask.json({ env: { API_TOKEN: "not known at all", CI: "true" }, key: "not known at all" })).toEqual({
      env: { API_TOKEN: "[masked: API_TOKEN]", CI: "true" },
      key: "not known at all",
    });
  });

  test("other values are not changed: circles, bytes, dates, functions", () => {
    const circle: { self?: unknown; at: Date; bytes: Uint8Array; run: () => string } = {
      at: new Date(0),
      bytes: new TextEncoder().encode(TOKEN),
      run: () => TOKEN,
    };
    circle.self = circle;
    expect(mask.json(circle)).toBe(circle);
  });
});

describe("a stream", () => {
  test("shows no secret, however it is split, and in the end the same as the whole", () => {
    const secret = fc.constantFrom(TOKEN, ...KEYS.map(([, key, before = "", after = ""]) => before + key + after));
    const parts = fc.array(fc.oneof(secret, fc.lorem(), fc.constant("\n")), { maxLength: 8 });
    fc.assert(
      fc.property(parts, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), (texts, sizes) => {
        const text = texts.join(" ");
        const stream = mask.stream();
        let shown = "";
        for (let at = 0; at < text.length;) {
          const { value: size } = sizes.next() as { value: number };
          shown += stream.add(text.slice(at, at + size));
          at += size;
        }
        shown += stream.end();
        expect(shown).toBe(mask.text(text));
      }),
      { numRuns: 500 },
    );
  });

  test("holds nothing back that cannot begin a secret", () => {
    const stream = mask.stream();
    expect(stream.add("compiled 3 files\n")).toBe("compiled 3 files\n");
    expect(stream.add("done.\n")).toBe("done.\n");
    expect(stream.end()).toBe("");
  });

  test("continues when much more arrives than any key is long", () => {
    const stream = plain.stream();
    let shown = 0;
    for (let n = 0; n < 100; n++) shown += stream.add(`eyJ${"a".repeat(4_000)}`).length;
    shown += stream.end().length;
    expect(shown).toBe(100 * 4_003);
  });
});

describe("a mask that a model sends back", () => {
  test("is found with its place if it is one of ours", () => {
    expect(mask.markIn({ edits: [{ old_text: "a" }, { new_text: "T=[masked: DEPLOY_TOKEN]" }] })).toEqual({
      mark: "[masked: DEPLOY_TOKEN]",
      path: "edits[1].new_text",
    });
    expect(mask.markIn("x [masked: GitHub token]")).toEqual({ mark: "[masked: GitHub token]", path: "" });
    expect(mask.markIn({ a: "[masked: NAME] and [masked: …]" })).toBeUndefined();
  });
});

test.for([
  "eyJ",
  "sk-proj-",
  "xoxb-",
  "SG.",
  "://",
  "Bearer   ",
  "_auth      ",
  `A\n${END}`,
  BEGIN,
  "Authorization: ",
  TOKEN.slice(0, 6),
])("a text of nothing but beginnings of keys (%j) is gone through once", (beginning) => {
  const text = `${beginning.repeat(30_000)} . ${TOKEN}`;
  expect(mask.text(text).endsWith(" . [masked: DEPLOY_TOKEN]")).toBe(true);
});

test("a mask without secrets changes nothing", () => {
  expect(NO_MASK.text(TOKEN)).toBe(TOKEN);
  expect(NO_MASK.json({ a: TOKEN })).toEqual({ a: TOKEN });
  expect(NO_MASK.stream().add(TOKEN)).toBe(TOKEN);
  expect(NO_MASK.markIn("[masked: DEPLOY_TOKEN]")).toBeUndefined();
});
