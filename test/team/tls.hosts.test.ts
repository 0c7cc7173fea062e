// Calls on a worker over TLS: to PostgreSQL with a certificate that is verified, and to Redis.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { postgresStore } from "../../src/record/activity/postgres-store.ts";
import { commandLine } from "../cli/program.ts";
import { CERTIFICATE_FILES } from "../serve/certificate.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { redisProblem, redisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";

const problem = postgresProblem() ?? redisProblem();
mustBeHere("PostgreSQL and Redis", problem);

describe.skipIf(problem !== undefined)("calls on workers over TLS", { timeout: 120_000 }, async () => {
  if (problem !== undefined) return;
  const postgres = await postgresServer({ tls: CERTIFICATE_FILES });
  const redis = await redisServer(CERTIFICATE_FILES);
  const plain = await postgres.create("secure");
  const trusted = `${plain}?sslmode=verify-full&sslrootcert=${CERTIFICATE_FILES.cert}`;

  async function machine() {
    const line = await commandLine();
    mkdirSync(join(line.configHome, "handrail"), { recursive: true });
    const settings = `store: ${trusted}\nqueue: ${redis.url}\nundo: off\npolicy: { autonomy: full }\n`;
    writeFileSync(join(line.configHome, "handrail", "config.yaml"), settings);
    const worker = () => {
      const running = line.start(["worker", "--name", "build"]);
      onTestFinished(async () => {
        running.kill("SIGKILL");
        await running.ended;
      });
      return running;
    };
    return { ...line, worker };
  }

  test("a call goes through both servers whose certificate is trusted", async () => {
    vi.stubEnv("NODE_EXTRA_CA_CERTS", CERTIFICATE_FILES.cert);
    onTestFinished(() => void vi.unstubAllEnvs());
    const running = (await machine()).worker();
    await until("the worker has reported", () => running.stdout().includes("makes calls"), 60_000);
    const called = await (await machine()).run(["call", "read", '{"path":"README.md"}', "--worker", "build"]);
    expect(called.stdout).toContain("# Read me");
    const client = await postgres.connect(plain);
    const { rows } = await client.query(
      `SELECT bool_and(ssl) AS ssl, count(*)::int > 0 AS some FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
       WHERE application_name = 'handrail'`,
    );
    expect(rows).toEqual([{ ssl: true, some: true }]);
    expect(running.stderr()).toBe("");
  });

  test("a certificate that is not trusted is refused, and the message says so", async () => {
    const store = postgresStore({ url: `${plain}?sslmode=verify-full` });
    onTestFinished(() => store.close().catch(() => {}));
    await expect(store.questions()).rejects.toThrow(/has a certificate that is not trusted here .*sslrootcert/);
    const running = (await machine()).worker();
    await until("the worker says it", () => /queue: .*certificate/.test(running.stderr()), 60_000);
  });
});
