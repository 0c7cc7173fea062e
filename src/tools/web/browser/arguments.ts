/**
 * Chromium's arguments that leave the proxies of its contexts as its only way to the network. `--disable-features` is
 * not among them: only the last one counts, and Playwright sets its own.
 *
 * @see https://source.chromium.org/chromium/chromium/src/+/main:net/docs/proxy.md
 */
export const CHROMIUM_ARGUMENTS: readonly string[] = [
  // What belongs to no context reaches nothing: port 9 discards all data (RFC 863).
  "--proxy-server=http://127.0.0.1:9",
  // Without this rule, loopback and link-local addresses bypass any proxy.
  "--proxy-bypass-list=<-loopback>",
  // Chromium looks up no name by itself: the proxy does. The proxy's own address is not a name.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
  "--dns-prefetch-disable",
  "--disable-quic",
  // WebRTC sends nothing by UDP, and gathers no address of this machine. Older Chromiums know only the second name.
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  // What Chromium requests for itself: updates, reports, hints, and pings of links.
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-domain-reliability",
  "--disable-sync",
  "--disable-breakpad",
  "--no-pings",
];
