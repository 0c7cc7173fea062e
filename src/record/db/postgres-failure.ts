import { codeOf, messageOf } from "../../core/util/errors.ts";

/** SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html) of a connection that is lost. */
const LOST = /^(08...|57P0[1235]|E(?!RR_)[A-Z_]+)$/;
const STARTING = "57P03";
/** Deadlock, serialization failure, too many connections: the next attempt may succeed. */
const PASSING = new Set(["40P01", "40001", "53300", STARTING]);

/** Codes of Node.js for a certificate that does not verify. */
const UNTRUSTED = /CERT|^UNABLE_TO_VERIFY_/;

/** Whether the connection is gone. Errors of the driver itself have no code. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) return LOST.test(code) && code !== "ENOTFOUND";
  return /^(Connection terminated|timeout exc|timeout exp|Client has encountered a connection error)/.test(
    messageOf(error),
  );
}

/** Whether another attempt may succeed soon. */
export function isPassing(error: unknown): boolean {
  return isLost(error) || PASSING.has(codeOf(error) ?? "");
}

/** Whether the server runs, and accepts no connections yet. */
export function isStarting(error: unknown): boolean {
  return codeOf(error) === STARTING;
}

/**
 * Describes an error of the server or the driver with the next step.
 *
 * @param where the server and database, without the password
 */
export function explainedPostgres(error: unknown, where: string): Error {
  const words = sentence(error, where);
  if (words === undefined) return error instanceof Error ? error : new Error(messageOf(error), { cause: error });
  return new Error(words, { cause: error });
}

function sentence(error: unknown, where: string): string | undefined {
  const code = codeOf(error);
  const message = messageOf(error);
  const said = `PostgreSQL at ${where}`;
  switch (code) {
    case "28P01":
    case "28000":
      return (
        `${said} refuses the login (${message}). ` +
        "Correct user and password in store, or put the password in PGPASSWORD or ~/.pgpass."
      );
    case "3D000":
      return `${said} does not have that database (${message}). Create it with createdb, or name another one in store.`;
    case "42501":
      return `${said} does not permit it (${message}). Use a user who owns the tables of Handrail.`;
    case "25006":
      return `${said} is a standby, which only reads. Name the primary in store.`;
    case "53100":
      return `${said} has no disk space left. Make room.`;
    case "53300":
      return `${said} has no connection left (${message}). Raise max_connections, or end other clients.`;
    case "ENOTFOUND":
      return `${said}: there is no such host (${message}). Correct store in your configuration.`;
    default:
      if (isLost(error) || isStarting(error)) {
        return `${said} does not answer (${message}). Start it, or correct store in your configuration.`;
      }
      if (UNTRUSTED.test(code ?? "")) {
        return (
          `${said} has a certificate that is not trusted here (${message}). ` +
          "Name the file of its authority in store: ?sslmode=verify-full&sslrootcert=/path/to/ca.pem."
        );
      }
      return code === undefined ? undefined : `${said} reports: ${message} (${code}).`;
  }
}
