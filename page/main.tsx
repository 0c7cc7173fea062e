import { render } from "preact";
import "./style/index.css";
import { startDock } from "./state/dock.ts";
import { startKeys } from "./state/keys.ts";
import { showFailure, start } from "./state/model.ts";
import { signIn } from "./state/session.ts";
import { App } from "./app.tsx";

const show = () => {
  const root = document.getElementById("app");
  if (root !== null) render(<App />, root);
};

/** The session is begun first, because everything that is shown is loaded with it. */
async function enter(): Promise<void> {
  try {
    await signIn();
  } catch (error) {
    showFailure(error);
    return show();
  }
  show();
  void start();
  startDock();
  startKeys();
}

void enter();
