import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const fileOf = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));

/** The files of a certificate for box.lan, localhost and 127.0.0.1 that nobody else has signed, and of its key. */
export const CERTIFICATE_FILES = { cert: fileOf("cert"), key: fileOf("key") };

/** Their content. */
export const CERTIFICATE = {
  cert: readFileSync(CERTIFICATE_FILES.cert, "utf8"),
  key: readFileSync(CERTIFICATE_FILES.key, "utf8"),
};
