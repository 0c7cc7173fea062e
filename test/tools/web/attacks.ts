/**
 * The ways in which a page can make a browser request a URL, as a site that tries all of them. `u("img")` in a script
 * is the URL that the way is to reach; the site redirects to it from `r("img", 302)`.
 */

/** HTML and scripts by the name of their way. */
const WAYS: { readonly [way: string]: string } = {
  fetch: `fetch(u("fetch"), { mode: "no-cors" })`,
  "fetch-301": `fetch(r("fetch-301", 301), { mode: "no-cors" })`,
  "fetch-302": `fetch(r("fetch-302", 302), { mode: "no-cors" })`,
  "fetch-307": `fetch(r("fetch-307", 307), { mode: "no-cors", method: "POST", body: "x" })`,
  "fetch-keepalive": `fetch(u("fetch-keepalive"), { mode: "no-cors", keepalive: true })`,
  xhr: `const x = new XMLHttpRequest(); x.open("GET", u("xhr")); x.send()`,
  "event-source": `new EventSource(u("event-source"))`,
  beacon: `navigator.sendBeacon(u("beacon"), "x")`,
  frame: `add("iframe", { src: u("frame") })`,
  "frame-301": `add("iframe", { src: r("frame-301", 301) })`,
  "frame-302": `add("iframe", { src: r("frame-302", 302) })`,
  "frame-307": `add("iframe", { src: r("frame-307", 307) })`,
  "frame-meta": `add("iframe", { srcdoc: '<meta http-equiv=refresh content="0;url=' + u("frame-meta") + '">' })`,
  "frame-script": `add("iframe", { srcdoc: "<script>location = " + JSON.stringify(u("frame-script")) + "<\\/script>" })`,
  "frame-image": `add("iframe", { srcdoc: "<img src=" + u("frame-image") + ">" })`,
  "page-301": `open(r("page-301", 301))`,
  "page-302": `open(r("page-302", 302))`,
  "page-307": `open(r("page-307", 307))`,
  "page-meta": `open("/meta?to=" + encodeURIComponent(u("page-meta")))`,
  "page-script": `open("/script?to=" + encodeURIComponent(u("page-script")))`,
  "window-open": `open(u("window-open"))`,
  "target-blank": `add("a", { href: u("target-blank"), target: "_blank" }).click()`,
  "form-post": `form("form-post", "POST")`,
  "form-get": `form("form-get", "GET")`,
  download: `open("/download?to=" + encodeURIComponent(r("download", 302)))`,
  image: `new Image().src = u("image")`,
  "image-302": `new Image().src = r("image-302", 302)`,
  "svg-image": `document.body.insertAdjacentHTML("beforeend", '<svg><image href="' + u("svg-image") + '"/></svg>')`,
  style: `add("link", { rel: "stylesheet", href: u("style") })`,
  "style-import": `add("style", { textContent: "@import url(" + u("style-import") + ")" })`,
  "style-image": `add("div", { textContent: "x" }).style.backgroundImage = "url(" + u("style-image") + ")"`,
  font: `new FontFace("x", "url(" + u("font") + ")").load()`,
  script: `add("script", { src: u("script") })`,
  "module-import": `import(u("module-import"))`,
  worklet: `new AudioContext().audioWorklet.addModule(u("worklet"))`,
  video: `add("video", { src: u("video"), preload: "auto" })`,
  audio: `add("audio", { src: u("audio"), preload: "auto" })`,
  object: `add("object", { data: u("object") })`,
  embed: `add("embed", { src: u("embed"), type: "text/html" })`,
  pdf: `add("embed", { src: u("pdf"), type: "application/pdf" })`,
  preload: `add("link", { rel: "preload", as: "image", href: u("preload") })`,
  "module-preload": `add("link", { rel: "modulepreload", href: u("module-preload") })`,
  "worker-fetch": `worker("fetch('" + u("worker-fetch") + "', { mode: 'no-cors' })")`,
  "worker-302": `worker("fetch('" + r("worker-302", 302) + "', { mode: 'no-cors' })")`,
  "worker-import": `worker("importScripts('" + u("worker-import") + "')")`,
  "worker-xhr": `worker("const x = new XMLHttpRequest(); x.open('GET', '" + u("worker-xhr") + "'); x.send()")`,
  "shared-worker": `new SharedWorker("/worker.js?do=" + encodeURIComponent("fetch('" + u("shared-worker") + "', { mode: 'no-cors' })"))`,
  "web-socket": `new WebSocket(u("web-socket").replace("http", "ws"))`,
  "worker-web-socket": `worker("new WebSocket('" + u("worker-web-socket").replace("http", "ws") + "')")`,
};

/** Ways that open a connection at most, or whose success depends on what Chromium finds worth it. */
const HINTS: { readonly [way: string]: string } = {
  preconnect: `add("link", { rel: "preconnect", href: u("preconnect") })`,
  "dns-prefetch": `add("link", { rel: "dns-prefetch", href: u("dns-prefetch") })`,
  icon: `add("link", { rel: "icon", href: u("icon") })`,
  prefetch: `add("link", { rel: "prefetch", href: u("prefetch") })`,
  "link-ping": `add("a", { href: "#", ping: u("link-ping") }).click()`,
  manifest: `add("link", { rel: "manifest", href: u("manifest") })`,
  speculation: `add("script", { type: "speculationrules", textContent: JSON.stringify({ prefetch: [{ urls: [u("speculation")] }], prerender: [{ urls: [u("speculation")] }] }) })`,
  "service-worker": `navigator.serviceWorker.register("/worker.js?do=" + encodeURIComponent("fetch('" + u("service-worker") + "', { mode: 'no-cors' })"))`,
};

export const ways: readonly string[] = Object.keys(WAYS);

/** The page that tries all ways to a target, as `http://127.0.0.1:3000` or `file:///etc`. */
function page(to: string): string {
  const tries = [...Object.values(WAYS), ...Object.values(HINTS)].map((each) => `attempt(() => { ${each} });`);
  return `<!doctype html><title>attack</title><body><script>
    const base = ${JSON.stringify(to)};
    const u = (way) => base.startsWith("file:") ? base : base + "/" + way;
    const r = (way, code) => location.origin + "/redirect?code=" + code + "&to=" + encodeURIComponent(u(way));
    const add = (name, fields) => document.body.appendChild(Object.assign(document.createElement(name), fields));
    const worker = (text) => new Worker("/worker.js?do=" + encodeURIComponent(text));
    const form = (way, method) => {
      add("iframe", { name: way });
      add("form", { action: u(way), method, target: way }).submit();
    };
    const attempt = async (how) => { try { await how(); } catch {} };
    addEventListener("unhandledrejection", (event) => event.preventDefault());
    ${tries.join("\n    ")}
  </script>`;
}

/** The answer of the site that attacks. */
export function attackSite(address: string): {
  readonly status: number;
  readonly headers: object;
  readonly body: string;
} {
  const { pathname, searchParams } = new URL(address, "http://localhost");
  const to = searchParams.get("to") ?? "";
  const html = { "content-type": "text/html" };
  switch (pathname) {
    case "/attack":
      return { status: 200, headers: html, body: page(to) };
    case "/redirect":
      return {
        status: Number(searchParams.get("code")),
        headers: { location: to, "access-control-allow-origin": "*" },
        body: "",
      };
    case "/meta":
      return { status: 200, headers: html, body: `<meta http-equiv=refresh content="0;url=${to}">` };
    case "/script":
      return { status: 200, headers: html, body: `<script>location = ${JSON.stringify(to)}</script>` };
    case "/download":
      return {
        status: 200,
        headers: html,
        body: `<a href="${to}" download=x>x</a><script>document.links[0].click()</script>`,
      };
    case "/worker.js":
      return { status: 200, headers: { "content-type": "text/javascript" }, body: searchParams.get("do") ?? "" };
    default:
      return { status: 200, headers: html, body: "<title>home</title><script src=/app.js></script><img src=/dot.png>" };
  }
}

/** For a test that opens the page: Chromium 156 itself sometimes crashes on it and then shows nothing, so it runs again. */
export const AGAIN = { retry: { count: 5, condition: /Page crashed/ } };
