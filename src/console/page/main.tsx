import { render } from "preact";
import "./style/index.css";
import { startDock } from "./state/dock.ts";
import { startKeys } from "./state/keys.ts";
import { start } from "./state/model.ts";
import { App } from "./app.tsx";

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
void start();
startDock();
startKeys();
