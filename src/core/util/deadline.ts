import { codeOf } from "./errors.ts";

/**
 * Limits synchronous work whose duration depends on foreign input: matching a regular expression, checking a value
 * against a schema. Only a separate script can be interrupted.
 *
 * @returns A function that calls its argument, and returns `undefined` if the call takes longer.
 */
export async function withDeadline(milliseconds: number): Promise<<T>(work: () => T) => T | undefined> {
  const { Script, createContext } = await import("node:vm");
  const script = new Script("run()");
  const sandbox = { run: () => {} };
  const context = createContext(sandbox);
  return <T>(work: () => T) => {
    let result: T | undefined;
    sandbox.run = () => {
      result = work();
    };
    try {
      script.runInContext(context, { timeout: milliseconds });
    } catch (error) {
      if (codeOf(error) !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    }
    return result;
  };
}
