/** One way in which programs say that the sandbox kept them from something, and lines that say it so. Every pattern is linear in its line. */
export interface Wording {
  readonly pattern: RegExp;
  /** Lines as programs write them: this pattern, and of those that name hosts no other, finds the same in each. */
  readonly examples: readonly string[];
}

const HOST = "\\w(?:[\\w.-]{0,251}\\w)?";

/** Only a line with one of these can be any of what follows: looked for first, for most lines are nothing. */
export const TELLING =
  /read-only|resource|denied|no such file|EACCES|ENOENT|resolv|getaddrinfo|lookup|unknown ?host|reach|connect|EAI_AGAIN|ENOTFOUND|name or service|resolution|no address|403|system call|SIGSYS|1326|seccomp|not permitted|not implemented|superuser|namespace|fork|errno=11|WouldBlock|EAGAIN|thread|space left|ENOSPC|quota/i;

/** The same for `HOSTS`. */
export const HOSTS_TELLING = /resolv|getaddrinfo|lookup|unknown ?host|reach host|connect/i;

/** A write failed for what the path lies on. Where the path stands is found by `pathsBeside`. */
export const WRITE: Wording = {
  // "busy" is what replacing a read-only file says, which is mounted there: git writes its configuration so.
  pattern: /read-only file system|device or resource busy/i,
  examples: [
    "touch: cannot touch '/etc/x': Read-only file system",
    "cp: cannot create regular file ‘/etc/x’: Read-only file system",
    "mkdir: cannot create directory '/etc/x': Read-only file system",
    "/bin/cp: cannot create regular file '/etc/x': Read-only file system",
    "ln: failed to create hard link '/etc/x' => 'y': Read-only file system",
    "mv: cannot move 'y' to '/etc/x': Read-only file system",
    "tee: /etc/x: Read-only file system",
    "tar: /etc/x: Cannot open: Read-only file system",
    "bash: line 1: /etc/x: Read-only file system",
    "sh: 1: cannot create /etc/x: Read-only file system",
    "/usr/bin/ld: cannot open output file /etc/x: Read-only file system",
    "Error: EROFS: read-only file system, open '/etc/x'",
    "npm error EROFS: read-only file system, mkdir '/etc/x'",
    "npm error EROFS: read-only file system, rename './y' -> '/etc/x'",
    "OSError: [Errno 30] Read-only file system: '/etc/x'",
    "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: '/etc/x'",
    "open /etc/x: read-only file system",
    "go: could not create module cache: mkdir /etc/x: read-only file system",
    "failed to initialize build cache at /etc/x: mkdir /etc/x: read-only file system",
    "fatal: Unable to create '/etc/x': Read-only file system",
    "error: could not lock config file /etc/x: Read-only file system",
    "error: could not write config file /etc/x: Device or resource busy",
    "java.io.FileNotFoundException: /etc/x (Read-only file system)",
    "java.nio.file.FileSystemException: /etc/x: Read-only file system",
    "Errno::EROFS: Read-only file system @ rb_sysopen - /etc/x",
    'rsync: [receiver] mkstemp "/etc/x" failed: Read-only file system (30)',
    "E: Could not open lock file /etc/x - open (30: Read-only file system)",
    "Warning: Failed to open the file /etc/x: Read-only file system",
    'error: failed to write "/etc/x": Read-only file system (os error 30)',
  ],
};

/** Something was not there, or not to be had: counts for paths that the sandbox hides. */
export const READ: Wording = {
  pattern: /permission denied|no such file or directory|\b(?:EACCES|ENOENT)\b/i,
  examples: [
    "cat: /home/me/.ssh/id_rsa: Permission denied",
    "cat: /home/me/.ssh/id_rsa: No such file or directory",
    "ls: cannot open directory '/home/me/.ssh': Permission denied",
    "PermissionError: [Errno 13] Permission denied: '/home/me/.ssh/id_rsa'",
    "Error: EACCES: permission denied, open '/home/me/.ssh/id_rsa'",
    "open /home/me/.ssh/id_rsa: permission denied",
  ],
};

/** A host that could not be reached: group 1, its port in group 2 where it is said. */
export const HOSTS: readonly Wording[] = [
  {
    pattern: new RegExp(`could(?: not|n't) resolve host(?:name)?:? (${HOST})`, "gi"),
    examples: [
      "curl: (6) Could not resolve host: registry.example.org",
      "fatal: unable to access 'https://registry.example.org/x.git/': Could not resolve host: registry.example.org",
      "ssh: Could not resolve hostname registry.example.org: Temporary failure in name resolution",
      "  [6] Couldn't resolve host name (Could not resolve host: registry.example.org)",
    ],
  },
  {
    pattern: new RegExp(`(?:unable to resolve host address|Temporary failure resolving) [‘'"](${HOST})`, "gi"),
    examples: [
      "wget: unable to resolve host address ‘registry.example.org’",
      "W: Failed to fetch http://registry.example.org/dists/InRelease  Temporary failure resolving 'registry.example.org'",
    ],
  },
  {
    pattern: new RegExp(`getaddrinfo (?:ENOTFOUND|EAI_\\w{3,12}) (${HOST})(?::(\\d{1,5}))?`, "g"),
    examples: [
      "npm error request to https://registry.example.org/left-pad failed, reason: getaddrinfo EAI_AGAIN registry.example.org",
      "Error: getaddrinfo ENOTFOUND registry.example.org",
      "    [cause]: Error: getaddrinfo ENOTFOUND registry.example.org",
    ],
  },
  {
    pattern: new RegExp(`getaddrinfo for (?:host )?"?(${HOST})"?(?: port (\\d{1,5}))?`, "gi"),
    examples: [
      'nc: getaddrinfo for host "registry.example.org" port 443: Temporary failure in name resolution',
      "php_network_getaddresses: getaddrinfo for registry.example.org failed: Temporary failure in name resolution",
    ],
  },
  {
    pattern: new RegExp(`failed to resolve '(${HOST})' \\(`, "gi"),
    examples: [
      "WARNING: Retrying after connection broken by 'NameResolutionError(\"HTTPSConnection(host='registry.example.org', port=443): Failed to resolve 'registry.example.org' ([Errno -3] Temporary failure in name resolution)\")': /simple/x/",
    ],
  },
  {
    pattern: new RegExp(`https?connection(?:pool)?\\(host='(${HOST})', port=(\\d{1,5})\\)`, "gi"),
    examples: [
      "HTTPSConnectionPool(host='registry.example.org', port=443): Max retries exceeded with url: /simple/x/ (Caused by NewConnectionError('Failed to establish a new connection: [Errno -3] Temporary failure in name resolution'))",
    ],
  },
  {
    pattern: new RegExp(
      `\\blookup (${HOST})(?: on \\S{1,60})?: (?=.{0,200}(?:no such host|failure in name|unreachable|refused|misbehaving))`,
      "g",
    ),
    examples: [
      'go: example.org/x: Get "https://registry.example.org/x/@v/list": dial tcp: lookup registry.example.org: Temporary failure in name resolution',
      "dial tcp: lookup registry.example.org on 10.0.0.2:53: dial udp 10.0.0.2:53: connect: network is unreachable",
      "lookup registry.example.org on [::1]:53: read udp [::1]:4711->[::1]:53: read: connection refused",
    ],
  },
  {
    pattern: new RegExp(`(?:UnknownHostException|Unknown host|Could not reach host):? (${HOST})`, "g"),
    examples: [
      "Caused by: java.net.UnknownHostException: registry.example.org: Temporary failure in name resolution",
      "Unknown host registry.example.org: Temporary failure in name resolution",
      "Could not reach host registry.example.org. Check your network connection and try again.",
    ],
  },
  {
    pattern: new RegExp(`open TCP connection to (${HOST}):(\\d{1,5})`, "g"),
    examples: [
      "Failed to open TCP connection to registry.example.org:443 (getaddrinfo: Temporary failure in name resolution)",
    ],
  },
  {
    pattern: new RegExp(
      `connect to (?:host )?\\[?([\\w.:-]{2,253}?)\\]? port (\\d{1,5})(?=.{0,60}(?:connect to server|unreachable))`,
      "gi",
    ),
    examples: [
      "curl: (7) Failed to connect to registry.example.org port 443 after 0 ms: Couldn't connect to server",
      "ssh: connect to host registry.example.org port 443: Network is unreachable",
    ],
  },
  {
    pattern:
      /(?:connect ENETUNREACH|dial (?:tcp|udp)[46]?) \[?([\w.:-]{2,253}?)\]?:(\d{1,5})(?=:? (?:connect: network is unreachable|- Local))/g,
    examples: [
      "Error: connect ENETUNREACH registry.example.org:443 - Local (0.0.0.0:0)",
      "dial tcp registry.example.org:443: connect: network is unreachable",
    ],
  },
];

/** The network could not be reached: of which host it speaks, if of any, stands before it, or in a URL of the same line. */
export const NETWORK: Wording = {
  pattern:
    /network is unreachable|\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b|temporary failure in name resolution|name or service not known|failed to lookup address information|no address associated with hostname|could(?: not|n't) resolve host/i,
  examples: [
    "ping: connect: Network is unreachable",
    "npm error code EAI_AGAIN",
    "socket.gaierror: [Errno -2] Name or service not known",
    "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
    "dns error: failed to lookup address information: Temporary failure in name resolution",
    "bash: connect: Network is unreachable",
    "OSError: [Errno 101] Network is unreachable",
  ],
};

/** The proxy of the sandbox has refused something. It knows what. */
export const PROXY: Wording = {
  pattern: /(?:tunnel failed, response|tunnel connection failed:|HTTP code) 403|403 refused by the sandbox/i,
  examples: [
    "curl: (56) CONNECT tunnel failed, response 403",
    "curl: (56) Received HTTP code 403 from proxy after CONNECT",
    "OSError: Tunnel connection failed: 403 Refused by the sandbox",
  ],
};

/** A system call was refused. */
export const SYSTEM_CALL: Wording = {
  pattern: new RegExp(
    [
      "bad system call",
      "\\bSIGSYS\\b",
      "audit.{0,40}type=1326",
      "type=SECCOMP",
      "seccomp.{0,60}(?:denied|violation|killed|blocked|not allowed)",
      "(?:\\bp?trace(?:_traceme)?|PTRACE_\\w{1,20}|unshare|setns|keyctl|add_key|\\bbpf|perf_event_open|io_uring\\w{0,20}|userfaultfd|pivot_root).{0,60}(?:operation not permitted|function not implemented)",
      "^mount: .{0,200}(?:permission denied|must be superuser)",
      "no permissions to creat\\w{1,3} (?:a )?new namespace",
    ].join("|"),
    "i",
  ),
  examples: [
    "Bad system call (core dumped)",
    "bash: line 1: 4711 Bad system call         ./x",
    "audit: type=1326 audit(1700000000.000:1): auid=0 uid=0 gid=0 pid=1 comm=x sig=31 syscall=250",
    "type=SECCOMP msg=audit(1700000000.000:1): auid=1000 uid=1000 syscall=321",
    "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted",
    "unshare: unshare failed: Operation not permitted",
    "mount: /mnt: permission denied.",
    "bwrap: No permissions to create new namespace",
    "keyctl_session: add_key: Operation not permitted",
  ],
};

/** There were too many processes or threads. */
export const PROCESSES: Wording = {
  pattern:
    /(?:fork|clone|posix_spawn|pthread_create|thread)\b.{0,80}(?:resource temporarily unavailable|errno=11|WouldBlock)|spawn(?: \S{1,200})? EAGAIN|cannot fork\b|can't start new thread|unable to create (?:new )?native thread/i,
  examples: [
    "bash: fork: retry: Resource temporarily unavailable",
    "sh: 1: Cannot fork",
    "make: vfork: Resource temporarily unavailable",
    "make: fork: Resource temporarily unavailable",
    "Error: spawn sh EAGAIN",
    "RuntimeError: can't start new thread",
    "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits reached",
    "runtime: failed to create new OS thread (have 5 already; errno=11)",
    'failed to spawn thread: Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }',
    "gcc: fatal error: cannot execute 'cc1': vfork: Resource temporarily unavailable",
  ],
};

/** A disk is full. Node says the same of watched files, which are none of its disk's matter. */
export const DISK: Wording = {
  pattern: /no space left on device(?!, watch)|\bENOSPC\b(?!.{0,60}watch)|disk quota exceeded/i,
  examples: [
    "cp: error writing 'x': No space left on device",
    "npm error code ENOSPC",
    "OSError: [Errno 28] No space left on device",
    "tar: x: Wrote only 512 of 10240 bytes: Disk quota exceeded",
  ],
};
