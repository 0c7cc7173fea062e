import { pdf } from "./pdf.ts";
import { webServer } from "./web-server.ts";

/** Pages of the tests, by path. */
const PAGES: { readonly [path: string]: string } = {
  "/login": `<form action="/welcome" method="post"><label>User <input name="user"></label>
    <label>Password <input name="password" type="password"></label><button>Log in</button></form>`,
  "/remember": `<p id="who"></p><script>
    who.textContent = "Hello, " + (localStorage.getItem("name") ?? "stranger");
    localStorage.setItem("name", "friend");
    </script>`,
  "/late": `<h1>Orders</h1><table></table><script>setTimeout(async () => {
    const rows = await (await fetch("/rows")).json();
    document.querySelector("table").innerHTML = rows.map((row) => "<tr><td>" + row.join("<td>")).join("");
  }, 400)</script>`,
  "/dialog": `<button onclick="result.textContent = confirm('Delete it?') ? 'deleted' : 'kept'">Delete</button>
    <button onclick="result.textContent = prompt('Name?')">Rename</button><p id="result">untouched</p>`,
  "/tabs": `<a href="/late" target="_blank">Orders in a new tab</a>`,
  "/frame": `<h1>Outer</h1><iframe src="/inner"></iframe>`,
  "/inner": `<button onclick="this.textContent = 'Pressed'">Inside</button>`,
  "/shadow": `<x-card></x-card><script>
    customElements.define("x-card", class extends HTMLElement {
      constructor() {
        super();
        const root = this.attachShadow({ mode: "open" });
        root.innerHTML = '<button>In the shadow</button><output></output>';
        root.querySelector("button").onclick = () => (root.querySelector("output").textContent = "lit");
      }
    });</script>`,
  "/upload": `<input type="file" aria-label="File" onchange="files[0].text().then((text) => (content.textContent = text))">
    <p id="content"></p>`,
  "/download": `<a href="/report.csv" download>Report</a>`,
  "/endless": `<div id="list"></div><script>
    let count = 0;
    const more = () => { for (let i = 0; i < 20; i++) list.insertAdjacentHTML("beforeend", "<p style='height:80px'>Item " + ++count + "</p>"); };
    more();
    addEventListener("scroll", () => { if (count < 60 && innerHeight + scrollY >= document.body.scrollHeight - 100) more(); });
    </script>`,
  "/broken": `<h1>Broken</h1><script>console.error("no stock"); setTimeout(() => { throw new Error("late fault") })</script>`,
  "/changing": `<button onclick="this.remove(); list.insertAdjacentHTML('beforeend', '<button>Save</button>')">Save</button>
    <div id="list"></div>`,
  "/draft": `<input aria-label="Note" onkeydown="window.onbeforeunload = (event) => event.preventDefault()">
    <a href="/welcome">Leave</a>`,
  "/editors": `<div contenteditable="true"><p>old text</p></div><div contenteditable aria-label="Named">bare text</div>
    <div contenteditable="plaintext-only"></div><iframe srcdoc="<body contenteditable>inside"></iframe>
    <div contenteditable><p>${"many words ".repeat(30)}</p></div>`,
  "/documents": `<a href="/good.pdf">Manual</a> <a href="/bad.pdf">Broken</a> <a href="/gone">Gone</a>
    <a href="/empty-error">Empty</a> <iframe src="/good.pdf"></iframe>`,
  "/select": `<label>Fruit <select><option value="a">Apple</option><option>Banana</option><option disabled>Cherry</option>
    <optgroup label="Rare" disabled><option>Durian</option></optgroup></select></label>
    <label>Late <select></select></label><button>No list</button><p id="chosen"></p><script>
    document.querySelector("select").onchange = (event) => (chosen.textContent = "chose " + event.target.value);
    setTimeout(() => (document.querySelectorAll("select")[1].innerHTML = "<option>New"), 300);</script>`,
  "/invalid": `<form action="/welcome" method="post" onsubmit="event.preventDefault(); sent.textContent = 'was sent'">
    <label>Email <input name="email" type="email" required></label><input name="age" aria-label="Age" min="18" type="number">
    <button>Send</button><button formnovalidate>Send anyway</button></form><p id="sent"></p>`,
  "/keys": `<input aria-label="Field" value="abc"><p id="pressed"></p><script>
    document.querySelector("input").onkeydown = ({ key, ctrlKey, shiftKey }) =>
      (pressed.textContent = "pressed " + [ctrlKey && "C", shiftKey && "S", key].filter(Boolean).join("-"));</script>`,
  "/loop": `<h1>Before</h1><button onclick="for (;;);">Loop</button>`,
  "/loop-at-once": `<h1>Before</h1><script>for (;;);</script>`,
  "/long": `<h1>Long</h1>${Array.from({ length: 400 }, (_, row) => `<p>Paragraph ${row} with some words in it</p>`).join("")}`,
};

/** A site for the browser on loopback; "127.0.0.1:PORT". */
export function browserSite(): Promise<string> {
  return webServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://x");
    const html = (text: string) =>
      response.setHeader("content-type", "text/html").end(`<title>${pathname}</title>${text}`);
    if (pathname === "/rows") return response.end('[["A-1","12.50"],["A-2","7.00"]]');
    if (pathname === "/report.csv")
      return response.setHeader("content-disposition", "attachment; filename=report.csv").end("a,b\n1,2\n");
    if (pathname === "/welcome") {
      let body = "";
      return request.on("data", (piece) => (body += piece)).on("end", () => html(`<h1>Welcome</h1><p>${body}</p>`));
    }
    if (pathname.endsWith(".pdf"))
      return response
        .setHeader("content-type", "application/pdf")
        .end(pathname === "/good.pdf" ? pdf("Read me") : "%PDF-");
    if (pathname === "/empty-error") return response.writeHead(500).end();
    const page = PAGES[pathname];
    return page === undefined ? response.writeHead(404).end("no such page") : html(page);
  });
}

/** The reference of the element whose line in a snapshot has this text. */
export function refOf(snapshot: string, element: string): string {
  const line = snapshot.split("\n").find((each) => each.includes(element)) ?? "";
  return /\[((?:f\d+)?e\d+)\]/.exec(line)?.[1] ?? `no reference of ${element} in ${snapshot}`;
}
