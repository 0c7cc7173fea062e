import { describe, expect, test } from "vitest";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import { describeCall } from "../../src/policy/describe.ts";
import { mustHaveChromium } from "../support/browser.ts";
import { browserSite, refOf } from "../support/browser-site.ts";
import { plainText } from "../support/plain-text.ts";
import { toolkitWith } from "../support/workspace.ts";

/** A toolkit with the browser, and a site that the user has allowed. Questions are answered with once. */
async function browsing() {
  const at = await browserSite();
  const asked: string[] = [];
  const toolkit = await toolkitWith({
    preset: "assistant",
    policy: { network: { allowPrivate: [at], allowHosts: [at] } },
    approver: async (call: CheckedCall) => {
      asked.push(describeCall(call));
      return { answer: "once" };
    },
  });
  const act = async (action: string, input: { readonly [name: string]: unknown } = {}) =>
    plainText(await toolkit.call({ name: "browser", input: { action, ...input } })).replaceAll(at, "AT");
  const open = (path: string, input = {}) => act("open", { url: `http://${at}${path}`, ...input });
  return { act, open, asked };
}

describe.skipIf(mustHaveChromium() !== undefined)("the browser says at once", () => {
  test("that a page asks whether to leave it, and leaves it on request", async () => {
    const { act, open } = await browsing();
    const page = await open("/draft");
    await act("press", { ref: refOf(page, '"Note"'), key: "x" });
    const stayed = /the page was not left, because it asks about that \(a beforeunload dialog\).*\n?.*dialog="accept"/;
    expect(await open("/late")).toMatch(stayed);
    expect(await act("back")).toMatch(stayed);
    expect(await act("click", { ref: refOf(page, '"Leave"') })).toMatch(stayed);
    expect(await act("snapshot")).toContain("AT/draft");
    const left = await open("/late", { dialog: "accept" });
    expect(left).toContain("[The page asked whether to leave it, and was left]");
    expect(left).toContain("Orders");
  });

  test("where text can be written, also in editors without a role", async () => {
    const { act, open } = await browsing();
    const page = await open("/editors");
    expect(page).toMatch(/- textbox \[e\d+\]: old text\n- textbox "Named" \[e\d+\]: bare text\n- textbox \[e\d+\]\n/);
    expect(page).toMatch(/- textbox \[e\d+\]: many words many/);
    const written = await act("type", { ref: refOf(page, "old text"), text: "new text" });
    expect(written).toMatch(/\+- textbox \[e\d+\].*: new text/);
    expect(await act("type", { ref: refOf(page, "inside"), text: "also here" })).toContain("also here");
  });

  test("what a PDF contains, and the status of an error", async () => {
    const { act, open, asked } = await browsing();
    const page = await open("/documents");
    expect(page).toContain("Read me"); // in the frame
    const manual = await act("click", { ref: refOf(page, '"Manual"') });
    expect(manual).toContain("AT/good.pdf");
    expect(manual).toContain("- Read me");
    expect(await act("text")).toContain("Read me");
    expect(await open("/bad.pdf")).toContain("The PDF could not be read: ");
    expect(await act("click", { ref: refOf(await open("/documents"), '"Gone"') })).toContain(
      "[http://AT/gone answered 404 Not Found]",
    );
    expect(await open("/gone")).toContain("[http://AT/gone answered 404 Not Found]");
    expect(await open("/empty-error")).toContain("AT/empty-error answered 500 Internal Server Error, without a page");
    expect(asked).toEqual([]);
  });

  test("whether an option can be chosen, and which options there are", async () => {
    const { act, open } = await browsing();
    const page = await open("/select");
    const all = 'The options are "Apple", "Banana", "Cherry" (disabled), "Durian" (disabled)';
    const choices = [
      ["Nope", `there is no option "Nope". ${all}`],
      ["Cherry", `the option "Cherry" is disabled. ${all}`],
      ["Durian", `the option "Durian" is disabled. ${all}`],
      ["Apple", "chose a"],
      ["Banana", "chose Banana"],
    ] as const;
    for (const [option, expected] of choices) {
      const began = performance.now();
      expect(await act("select", { ref: refOf(page, '"Fruit"'), values: [option] })).toContain(expected);
      expect(performance.now() - began).toBeLessThan(9_000); // Playwright waits for ten seconds
    }
    expect(await act("select", { ref: refOf(page, '"Late"'), values: ["New"] })).not.toContain("Tool error");
    expect(await act("select", { ref: refOf(page, '"No list"'), values: ["x"] })).toContain("is not a list of options");
  });

  test("why a form is not sent, without a question", async () => {
    const { act, open, asked } = await browsing();
    const page = await open("/invalid");
    const email = refOf(page, '"Email"');
    const send = { ref: refOf(page, '"Send" ') };
    expect(await act("click", send)).toMatch(/\[The browser does not send the form: "Email": Please fill out/);
    await act("type", { ref: refOf(page, '"Age"'), text: "7" });
    const two = await act("type", { ref: email, text: "nobody", submit: true });
    expect(two).toMatch(/does not send the form: "Email": Please include an '@'.*; "Age": .*18/);
    expect(asked).toEqual([]);
    expect(await act("click", { ref: refOf(page, '"Send anyway"') })).toContain("was sent");
    await act("type", { ref: email, text: "a@b.example" });
    await act("type", { ref: refOf(page, '"Age"'), text: "70" });
    expect(await act("click", send)).not.toContain("does not send");
    expect(asked).toHaveLength(2);
  });

  test("which key was pressed, whatever its spelling, or that there is none", async () => {
    const { act, open } = await browsing();
    const ref = refOf(await open("/keys"), '"Field"');
    const spellings = {
      ...{ enter: "Enter", esc: "Escape", Return: "Enter", "Ctrl+A": "C-a", "ctrl-x": "C-x", down: "ArrowDown" },
      ...{ "Control+Shift+K": "C-S-K", "+": "+", "Control++": "C-+", f2: "F2", "Shift+Tab": "S-Tab" },
    };
    for (const [key, pressed] of Object.entries(spellings))
      expect(await act("press", { ref, key })).toContain(`pressed ${pressed}`);
    expect(await act("press", { ref, key: "Entr" })).toContain('there is no key "Entr"');
  });

  test("what an expression or statements evaluate to", async () => {
    const { act, open } = await browsing();
    await open("/keys");
    const values = {
      ...{ "return 5": "5", "const four = 4; four + 1": "5", "await Promise.resolve(5)": "5", "() => 5": "5" },
      ...{ "const five = await Promise.resolve(5); return five;": "5", "return element.tagName": "HTML" },
      ...{ "{ five: 5 }.five": "5", "5 +": "Unexpected", "JSON.parse('{')": "JSON" },
    };
    for (const [script, value] of Object.entries(values))
      expect(await act("evaluate", { script }), script).toContain(value);
  });

  test("that a page does nothing but run a script, and leaves it", async () => {
    const { act, open } = await browsing();
    const stuck = "did not respond, because one of its scripts runs without end. Its tab was closed";
    expect(await act("click", { ref: refOf(await open("/loop"), '"Loop"') })).toContain(`http://AT/loop ${stuck}`);
    expect(await open("/late")).toContain("Orders");
    expect(await open("/loop-at-once")).toContain(`http://AT/loop-at-once ${stuck}`);
    expect(await open("/late")).toContain("Orders");
  });
});
