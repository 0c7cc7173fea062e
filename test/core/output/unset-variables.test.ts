import { expect, test } from "vitest";
import { unsetVariables } from "../../../src/core/output/unset-variables.ts";

test.each([
  ["bash: line 1: CC: unbound variable", ["CC"]],
  ["sh: 1: CC: parameter not set", ["CC"]],
  ["ERROR: JAVA_HOME is not set and no 'java' command could be found in your PATH.", ["JAVA_HOME"]],
  ["The JAVA_HOME environment variable is not defined correctly,", ["JAVA_HOME"]],
  ["error: environment variable `DATABASE_URL` not defined at compile time", ["DATABASE_URL"]],
  ["Error: Missing required environment variable: DATABASE_URL", ["DATABASE_URL"]],
  ["KeyError: 'VIRTUAL_ENV'", ["VIRTUAL_ENV"]],
  ["SDK location not found. Define a valid SDK location with an ANDROID_HOME environment variable", []],
  ["$GOPATH must be set; GOBIN is empty", ["GOPATH", "GOBIN"]],
  ["Please set JAVA_HOME to the folder of a JDK", ["JAVA_HOME"]],
  ["  CC      src/missing.o\n  LD      required.ko\nthe file is not set", []],
])("of %j the variables are %j", (output, names) => {
  expect(unsetVariables(output)).toEqual(names);
});
