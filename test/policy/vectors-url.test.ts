// The cases of area "url" in test/fixtures/security.json, an acceptance criterion of this project. expect: block =
// denied, approve = not without a person, allow = not refused. In a case about names, the addresses are judged as the
// guarded fetch judges those it connects to.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Autonomy } from "../../src/core/contract/policy.ts";
import { judgeHost } from "../../src/machine/network/address.ts";
import { layout } from "../support/layout.ts";

interface Vector {
  readonly id: string;
  readonly area: string;
  readonly class: string;
  readonly input: string;
  readonly expect: "block" | "approve" | "allow";
  readonly why: string;
  readonly kind: "literal" | "scenario";
  readonly setup?: readonly string[];
}

const all = JSON.parse(
  readFileSync(new URL("../fixtures/security.json", import.meta.url), "utf8"),
) as readonly Vector[];
const vectors = all.filter(({ area }) => area === "url");

const VERDICTS = { block: ["deny"], approve: ["ask", "deny"], allow: ["allow", "ask"] } as const;

/** An address of a name, as a set-up writes it: "AAAA ::1". */
const RECORD = /^(?:A|AAAA) ([\d.:a-f]+)$/;

describe("security vectors: url", () => {
  test("are complete", () => {
    expect(vectors.length).toBe(25);
  });

  for (const { id, input, expect: expected, why } of vectors.filter(({ kind }) => kind === "literal")) {
    test.for<Autonomy>(["supervised", "full", "readonly"])(
      `${id}: ${JSON.stringify(input)} is ${VERDICTS[expected].join(" or ")} in %s autonomy (${why})`,
      async (autonomy) => {
        const toolkit = await (await layout()).toolkit({ policy: { autonomy } });
        const { verdict, reason } = await toolkit.judge([{ kind: "fetch", url: input, method: "GET" }]);
        expect(VERDICTS[expected]).toContain(verdict);
        if (verdict === "deny") expect(reason).toMatch(/^URL not allowed by security policy: .+/);
      },
    );
  }

  const resolved = vectors.filter(
    ({ class: kind, setup = [] }) => kind === "dns" && setup.every((step) => RECORD.test(step)),
  );
  test("include cases of names", () => {
    expect(resolved.length).toBe(2);
  });
  for (const { id, input, setup = [], why } of resolved) {
    test(`${id}: a host with ${setup.join(", ")} is refused when it is connected to (${why})`, () => {
      expect(new URL(input).hostname).toMatch(/\.test$/);
      expect(judgeHost(setup.map((step) => RECORD.exec(step)?.[1] ?? ""))).toMatch(/loopback/);
    });
  }

  // url-resource-067, what is fetched stays bounded: test/machine/network/fetch.test.ts, "content encodings".
});
