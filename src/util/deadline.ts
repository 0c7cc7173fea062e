import { codeOf } from "./errors.ts";

/**
 * Regular expressions go back and forth, for years if need be. Only a script of its own can be stopped in the middle of one.
 *
 * @returns a function that does what it is given, or gives `undefined` when that takes longer.
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
