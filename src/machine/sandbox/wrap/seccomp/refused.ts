/** The values of `process.arch` that have a filter. */
export type Architecture = "x64" | "arm64";

/** The error of a refused call. Never a signal: programs handle errors, but a signal ends them silently. */
export type Answer =
  /** The call is forbidden. */
  | "EPERM"
  /** The kernel has no such call. For calls that programs can replace with others. */
  | "ENOSYS"
  /** The kernel has no such kind of socket. */
  | "EAFNOSUPPORT";

/**
 * When a call is refused. Only the low 32 bits of an argument are compared, since the kernel itself ignores the rest in
 * all calls below. If all 64 bits were compared, a higher bit would let a forbidden value pass.
 */
export type Condition =
  | { readonly argument: number; readonly hasAnyBit: number; readonly unless?: readonly number[] }
  | { readonly argument: number; readonly is: readonly number[] }
  | { readonly argument: number; readonly isNot: readonly number[] }
  /** Each of these arguments has at least one of its bits. */
  | { readonly all: readonly { readonly argument: number; readonly hasAnyBit: number }[] };

/** System calls that are refused for one reason. The comment above each entry states it. */
export interface RefusedCalls {
  readonly answer: Answer;
  /** Numbers from the kernel's syscall_64.tbl (x86) and asm-generic/unistd.h; `undefined`: no such call. */
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
/** O_CREAT and __O_TMPFILE (asm-generic/fcntl.h, on both). Without them the mode is ignored, and arbitrary. */
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
 * Calls that no tool needs. Namespaces and dropped capabilities already refuse many of them. The filter is a second
 * defence: against mistakes in those, for commands that run as root, and to make less of the kernel's rarely used code
 * reachable.
 *
 * Deliberately not included:
 * - ptrace, process_vm_readv, process_vm_writev, pidfd_getfd: debuggers, strace and sanitizers need them. In its own
 *   PID namespace a command can address only processes that it started, and the kernel refuses to trace across
 *   namespaces. Since Linux 4.8, a tracer cannot evade the filter either.
 * - name_to_handle_at: it only names a file that can be opened anyway (open_by_handle_at is refused).
 * - chroot, sethostname and similar calls: they change only what the command itself sees.
 */
export const REFUSED: readonly RefusedCalls[] = [
  // The kernel's keyrings have no namespaces. They contain the session's Kerberos tickets and the keys of encrypted
  // folders.
  refused("EPERM", { add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] }),
  // Programs inside the kernel, performance counters, page faults in user space. They can read what other processes do,
  // and are part of most attacks on the kernel.
  refused("EPERM", { bpf: [321, 280], perf_event_open: [298, 241], userfaultfd: [323, 282] }),
  // Operations through io_uring bypass the filter, and many attacks used it. Programs work without it on older kernels.
  refused("ENOSYS", { io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] }),
  // These calls start another kernel, or load code into the running kernel.
  refused("EPERM", {
    kexec_load: [246, 104],
    kexec_file_load: [320, 294],
    init_module: [175, 105],
    finit_module: [313, 273],
    delete_module: [176, 106],
    create_module: [174, undefined],
    query_module: [178, undefined],
    get_kernel_syms: [177, undefined],
  }),
  // The sandbox consists of mounts.
  refused("EPERM", {
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
  }),
  // Entering another namespace means leaving this one.
  refused("EPERM", { setns: [308, 268] }),
  // In its own user namespace a command is root, and can reach most kernel code that is only for root.
  refused("EPERM", { unshare: [272, 97] }, anyBit(0, NEW_NAMESPACES | CLONE_NEWTIME)),
  // Refused for the same reason as unshare.
  refused("EPERM", { clone: [56, 220] }, anyBit(0, NEW_NAMESPACES)),
  // A filter cannot read its flags, which are behind a pointer. C libraries use clone on kernels without this call.
  refused("ENOSYS", { clone3: [435, 435] }),
  // These calls affect the whole machine: shutdown, swap, accounting, quotas, clock, ports.
  refused("EPERM", {
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
  }),
  // Watches, and can block, what any process does on a file system.
  refused("EPERM", { fanotify_init: [300, 262] }),
  // Opens a file by its handle, even in a hidden folder.
  refused("EPERM", { open_by_handle_at: [304, 265] }),
  // The kernel's log reveals its addresses in memory, and what others do.
  refused("EPERM", { syslog: [103, 116] }),
  // Remnants of older kernels, or only for init.
  refused("EPERM", { lookup_dcookie: [212, 18], nfsservctl: [180, 42], uselib: [134, undefined], vhangup: [153, 58] }),
  // These calls create setuid programs, which run as their owner outside, where no-new-privileges does not apply.
  refused("EPERM", { chmod: [90, undefined], fchmod: [91, 52] }, anyBit(1, RUNS_AS_OWNER)),
  // Refused for the same reason as chmod.
  refused("EPERM", { fchmodat: [268, 53], fchmodat2: [452, 452] }, anyBit(2, RUNS_AS_OWNER)),
  // As chmod, for a file that is created with such a mode. The kernel removes the bits at the first write, but this
  // filter does not rely on that. Setgid too: folders get that bit through chmod, where a filter cannot tell a folder
  // from a file.
  refused("EPERM", { creat: [85, undefined], mknod: [133, undefined] }, anyBit(1, RUNS_AS_OTHER)),
  // Refused for the same reason as mknod.
  refused("EPERM", { mknodat: [259, 33] }, anyBit(2, RUNS_AS_OTHER)),
  // Refused for the same reason as creat.
  refused("EPERM", { open: [2, undefined] }, { all: [anyBit(1, MAKES_A_FILE), anyBit(2, RUNS_AS_OTHER)] }),
  // Refused for the same reason as creat.
  refused("EPERM", { openat: [257, 56] }, { all: [anyBit(2, MAKES_A_FILE), anyBit(3, RUNS_AS_OTHER)] }),
  // A filter cannot read its mode, which is behind a pointer. Programs use openat on kernels without this call.
  refused("ENOSYS", { openat2: [437, 437] }),
  // TIOCSTI types into the terminal, TIOCLINUX pastes into the console. Both could run commands outside.
  refused("EPERM", { ioctl: [16, 29] }, { argument: 1, is: [TIOCSTI, TIOCLINUX] }),
  // Personalities of other systems, including executable memory. Debuggers and sanitizers may still disable address
  // randomisation.
  refused("EPERM", { personality: [135, 92] }, { ...anyBit(0, ~USUAL_PERSONALITIES >>> 0), unless: [ASK_PERSONALITY] }),
  // Some socket families ignore network namespaces, such as AF_VSOCK, which reaches the host of a virtual machine.
  // Others load rarely used kernel code.
  refused(
    "EAFNOSUPPORT",
    { socket: [41, 198], socketpair: [53, 199] },
    { argument: 0, isNot: [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] },
  ),
];

function refused(answer: Answer, calls: RefusedCalls["calls"], when?: Condition): RefusedCalls {
  return { answer, calls, ...(when !== undefined && { when }) };
}

function anyBit(argument: number, hasAnyBit: number) {
  return { argument, hasAnyBit };
}

/**
 * The newest call that was reviewed (file_setattr, Linux 6.17). Later ones fail with ENOSYS, so that a newer kernel
 * allows nothing unreviewed; programs must work without them anyway. On x86_64, the calls of x32 are later too.
 */
export const NEWEST_CALL = 469;
