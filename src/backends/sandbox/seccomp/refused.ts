/** `process.arch` of the machines there is a filter for. */
export type Architecture = "x64" | "arm64";

/** The error a refused call ends with. Never a signal: programs handle errors, and die of signals without saying why. */
export type Answer =
  /** It is forbidden. */
  | "EPERM"
  /** This kernel has no such call: where programs then go another way. */
  | "ENOSYS"
  /** This kernel has no such kind of socket. */
  | "EAFNOSUPPORT";

/**
 * When a call is refused. Only the low 32 bits of an argument count, as for the kernel itself in all the calls below: with 64 compared,
 * a bit beyond them would take a forbidden value past the filter.
 */
export type Condition =
  | { readonly argument: number; readonly hasAnyBit: number; readonly unless?: readonly number[] }
  | { readonly argument: number; readonly is: readonly number[] }
  | { readonly argument: number; readonly isNot: readonly number[] }
  /** Each of these arguments has any of its bits. */
  | { readonly all: readonly { readonly argument: number; readonly hasAnyBit: number }[] };

/** System calls that are refused for one reason. */
export interface Family {
  readonly reason: string;
  readonly answer: Answer;
  /** Their numbers, from the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h; `undefined`: not there. */
  readonly calls: { readonly [name: string]: readonly [x64: number, arm64: number | undefined] };
  /** Default: always. */
  readonly when?: Condition;
}

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET of linux/sched.h.
const NEW_NAMESPACES = 0x7e02_0000;
/** Only for unshare: in the flags of clone this bit belongs to the signal. */
const CLONE_NEWTIME = 0x80;

/** S_ISUID of linux/stat.h. */
const RUNS_AS_OWNER = 0o4000;
/** S_ISUID and S_ISGID. */
const RUNS_AS_OTHER = 0o6000;
/** O_CREAT and __O_TMPFILE of asm-generic/fcntl.h, the same on both architectures. Without one of them the mode is not looked at, and can be anything. */
const MAKES_A_FILE = 0o100 | 0o20000000;

const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

const ASK_PERSONALITY = 0xffff_ffff;
// PER_LINUX32, UNAME26, ADDR_COMPAT_LAYOUT, ADDR_NO_RANDOMIZE of linux/personality.h.
const USUAL_PERSONALITIES = 0x0008 | 0x002_0000 | 0x020_0000 | 0x004_0000;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;

/**
 * What no tool needs. It stands behind the namespaces and the dropped capabilities, which refuse much of it already: against a mistake in
 * those, for a command that runs as root, and so that fewer of the kernel's rarely used parts can be reached at all.
 *
 * Not in it, on purpose:
 * - ptrace, process_vm_readv, process_vm_writev, pidfd_getfd: debuggers, strace and sanitizers need them. In its own PID namespace a command
 *   names no process but those it started itself, and the kernel refuses to trace across; since Linux 4.8 a tracer does not get past
 *   the filter either.
 * - name_to_handle_at: only names a file that can be opened anyway (open_by_handle_at is refused).
 * - chroot, sethostname and the like: they change what only the command itself sees.
 */
export const REFUSED: readonly Family[] = [
  {
    reason:
      "The kernel's keyrings are not namespaced: in them are the session's Kerberos tickets and the keys of encrypted folders.",
    answer: "EPERM",
    calls: { add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] },
  },
  {
    reason:
      "Programs inside the kernel, its performance counters and page faults in user space: they read what other processes do, and are steps of most attacks on the kernel.",
    answer: "EPERM",
    calls: { bpf: [321, 280], perf_event_open: [298, 241], userfaultfd: [323, 282] },
  },
  {
    reason:
      "What is done through io_uring passes no filter, and it has been the way of many attacks. Programs fall back where a kernel is without it.",
    answer: "ENOSYS",
    calls: { io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  },
  {
    reason: "Another kernel, or code put into this one.",
    answer: "EPERM",
    calls: {
      kexec_load: [246, 104],
      kexec_file_load: [320, 294],
      init_module: [175, 105],
      finit_module: [313, 273],
      delete_module: [176, 106],
      create_module: [174, undefined],
      query_module: [178, undefined],
      get_kernel_syms: [177, undefined],
    },
  },
  {
    reason: "The mounts are the walls of the sandbox.",
    answer: "EPERM",
    calls: {
      mount: [165, 40],
      umount2: [166, 39],
      pivot_root: [155, 41],
      open_tree: [428, 428],
      move_mount: [429, 429],
      fsopen: [430, 430],
      fsconfig: [431, 431],
      fsmount: [432, 432],
      fspick: [433, 433],
      mount_setattr: [442, 442],
      open_tree_attr: [467, 467],
    },
  },
  {
    reason: "Into another namespace is out of this one.",
    answer: "EPERM",
    calls: { setns: [308, 268] },
  },
  {
    reason:
      "In a user namespace of its own a command is root, and most of the kernel that only root can reach lies open to it.",
    answer: "EPERM",
    calls: { unshare: [272, 97] },
    when: { argument: 0, hasAnyBit: NEW_NAMESPACES | CLONE_NEWTIME },
  },
  {
    reason: "As unshare.",
    answer: "EPERM",
    calls: { clone: [56, 220] },
    when: { argument: 0, hasAnyBit: NEW_NAMESPACES },
  },
  {
    reason:
      "A filter cannot see its flags, which are behind a pointer. C libraries use clone where a kernel is without it.",
    answer: "ENOSYS",
    calls: { clone3: [435, 435] },
  },
  {
    reason: "They are for the whole machine: its end, its swap, its accounts, its quotas, its clock, its ports.",
    answer: "EPERM",
    calls: {
      reboot: [169, 142],
      swapon: [167, 224],
      swapoff: [168, 225],
      acct: [163, 89],
      quotactl: [179, 60],
      quotactl_fd: [443, 443],
      settimeofday: [164, 170],
      clock_settime: [227, 112],
      adjtimex: [159, 171],
      clock_adjtime: [305, 266],
      iopl: [172, undefined],
      ioperm: [173, undefined],
    },
  },
  {
    reason: "Watches, and can hold up, what every process does to a whole file system.",
    answer: "EPERM",
    calls: { fanotify_init: [300, 262] },
  },
  {
    reason: "Opens a file by its number, whatever folder it is in and whatever hides that folder.",
    answer: "EPERM",
    calls: { open_by_handle_at: [304, 265] },
  },
  {
    reason: "The kernel's log tells where it lies in memory, and what others do.",
    answer: "EPERM",
    calls: { syslog: [103, 116] },
  },
  {
    reason: "Left over from older kernels, or for init alone.",
    answer: "EPERM",
    calls: { lookup_dcookie: [212, 18], nfsservctl: [180, 42], uselib: [134, undefined], vhangup: [153, 58] },
  },
  {
    reason: "A program that runs as its owner, whoever starts it: outside, where no-new-privileges does not hold.",
    answer: "EPERM",
    calls: { chmod: [90, undefined], fchmod: [91, 52] },
    when: { argument: 1, hasAnyBit: RUNS_AS_OWNER },
  },
  {
    reason: "As chmod.",
    answer: "EPERM",
    calls: { fchmodat: [268, 53], fchmodat2: [452, 452] },
    when: { argument: 2, hasAnyBit: RUNS_AS_OWNER },
  },
  {
    reason:
      "As chmod, for a file that is created with such a mode. The kernel removes the bits at the first write; this does not rely on it. Setgid too: folders get that bit by chmod, and no filter can tell a folder from a file there.",
    answer: "EPERM",
    calls: { creat: [85, undefined], mknod: [133, undefined] },
    when: { argument: 1, hasAnyBit: RUNS_AS_OTHER },
  },
  {
    reason: "As mknod.",
    answer: "EPERM",
    calls: { mknodat: [259, 33] },
    when: { argument: 2, hasAnyBit: RUNS_AS_OTHER },
  },
  {
    reason: "As creat.",
    answer: "EPERM",
    calls: { open: [2, undefined] },
    when: {
      all: [
        { argument: 1, hasAnyBit: MAKES_A_FILE },
        { argument: 2, hasAnyBit: RUNS_AS_OTHER },
      ],
    },
  },
  {
    reason: "As creat.",
    answer: "EPERM",
    calls: { openat: [257, 56] },
    when: {
      all: [
        { argument: 2, hasAnyBit: MAKES_A_FILE },
        { argument: 3, hasAnyBit: RUNS_AS_OTHER },
      ],
    },
  },
  {
    reason:
      "A filter cannot see its mode, which is behind a pointer. Programs use openat where a kernel is without it.",
    answer: "ENOSYS",
    calls: { openat2: [437, 437] },
  },
  {
    reason: "TIOCSTI types into the terminal, TIOCLINUX pastes into the console: what runs then runs outside.",
    answer: "EPERM",
    calls: { ioctl: [16, 29] },
    when: { argument: 1, is: [TIOCSTI, TIOCLINUX] },
  },
  {
    reason:
      "Personalities of other systems, among them memory that is all executable. Debuggers and sanitizers run without address randomisation, which stays.",
    answer: "EPERM",
    calls: { personality: [135, 92] },
    when: { argument: 0, hasAnyBit: ~USUAL_PERSONALITIES >>> 0, unless: [ASK_PERSONALITY] },
  },
  {
    reason:
      "Some kinds of socket know no network namespace, such as AF_VSOCK, which reaches the host of a virtual machine; others load rarely used parts of the kernel.",
    answer: "EAFNOSUPPORT",
    calls: { socket: [41, 198], socketpair: [53, 199] },
    when: { argument: 0, isNot: [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] },
  },
];

/**
 * The newest call that was looked at (file_setattr, Linux 6.17). What comes after answers ENOSYS, so that a newer kernel lets through nothing that
 * nobody here has judged; programs have to do without new calls anyway. On x86_64 the numbers of x32 are beyond it too.
 */
export const NEWEST_CALL = 469;
