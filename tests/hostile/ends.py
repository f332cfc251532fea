"""Submissions that end their process, never end, exhaust something, crash or linger."""

from hostile.case import DOUBLE, TOTAL, Case, at_start, in_call

EXITED, DIED, ERROR, LATE, MEMORY = ("exited",), ("died",), ("error",), ("out of time",), ("out of memory",)
TOO_MUCH, MISSING = ("too much output",), ("no such function",)
HARMLESS = ("passed",)
# A refused or failing call raises in the student's code, unless a limit is reached first.
BOUNDED = ("error", "out of memory", "out of time", "too much output", "died")

_CALLBACK = "jax.pure_callback({}, jax.ShapeDtypeStruct((), 'float32')).block_until_ready()"

ENDS = [
    Case("os-exit-zero", "ends the process", in_call("os._exit(0)"), EXITED, quick=True, says="(exit code 0)"),
    Case("os-exit-in-a-cell", "ends the process", at_start("os._exit(3)", "os._exit(3)\n" + DOUBLE), EXITED),
    Case("sys-exit", "ends the process", in_call("sys.exit(0)"), EXITED, says="sys.exit() (exit code 0)"),
    Case("sys-exit-in-a-cell", "ends the process", at_start("", "sys.exit('enough')\n" + DOUBLE), EXITED),
    Case("exit-of-a-subclass", "ends the process", in_call("raise type('Quit', (SystemExit,), {})(0)"), ERROR),
    Case("keyboard-interrupt", "ends the process", in_call("raise KeyboardInterrupt"), ERROR),
    Case(
        "exit-in-a-thread",
        "ends the process",
        in_call("threading.Thread(target=os._exit, args=(0,)).start()\ntime.sleep(60)"),
        EXITED,
    ),
    Case("exit-in-a-callback", "ends the process", in_call(_CALLBACK.format("lambda: os._exit(0)")), EXITED),
    Case("another-program", "ends the process", in_call("os.execv('/bin/true', ['true'])"), ERROR),
]

NEVER_ENDS = [
    Case("python-loop", "never ends", in_call("while True: pass"), LATE, says="4 seconds of computing"),
    Case("xla-while", "never ends", in_call("jax.lax.while_loop(lambda c: c > -1, lambda c: c * 0, 0)"), LATE),
    Case(
        "native-sleep-with-gil",
        "never ends",
        in_call("ctypes.PyDLL(None).sleep(1000)"),
        LATE,
        quick=True,
        says="of waiting",
    ),
    Case(
        "deadlock-in-a-callback",
        "never ends",
        in_call(f"lock = threading.Lock()\nlock.acquire()\n{_CALLBACK.format('lambda: lock.acquire() and 1.0')}"),
        LATE,
        says="of waiting",
    ),
    Case(
        "ignored-signals",
        "never ends",
        in_call("""
            for number in signal.valid_signals():
                try: signal.signal(number, signal.SIG_IGN)
                except OSError: pass
            while True: pass
        """),
        LATE,
    ),
    Case(
        "everything-caught",
        "never ends",
        in_call("""
            while True:
                try:
                    while True: pass
                except BaseException: pass
        """),
        LATE,
    ),
    Case("slow-pattern", "never ends", in_call("re.match('(a+)+$', 'a' * 60 + 'b')"), LATE),
    Case("sleeps-in-bits", "never ends", in_call("while True: time.sleep(0.001)"), LATE),
    Case("loop-in-a-cell", "never ends", at_start("while True: pass"), HARMLESS),
]

EXHAUSTS = [
    Case("python-memory", "exhausts memory", in_call("a = []\nwhile True: a.append(bytes(10**7))"), MEMORY),
    Case(
        "numpy-memory",
        "exhausts memory",
        in_call("np.ones(3 * 2**30, np.uint8)"),
        MEMORY,
        quick=True,
        says="more than 1 GB of memory",
    ),
    Case("xla-memory", "exhausts memory", in_call("jnp.ones(3 * 2**30, jnp.int8).at[0].set(3).sum()"), MEMORY),
    Case("huge-integer", "exhausts memory", in_call("1 << 10**11"), MEMORY),
    Case("mapped-memory", "exhausts memory", in_call("mmap.mmap(-1, 2**33)"), ("error", "out of memory")),
    Case(
        "endless-recursion",
        "exhausts memory",
        in_call("sys.setrecursionlimit(10**9)\nf = lambda n: f(n + 1) + 1\nf(0)"),
        BOUNDED,
    ),
    Case(
        "fills-the-disk",
        "exhausts disk",
        in_call("""
            for number in range(600):
                with open(f'f{number}', 'wb') as file: file.write(b'x' * 2**20)
        """),
        TOO_MUCH,
        says="files take more than 64 MB",
        quick=True,
    ),
    Case(
        "space-beyond-the-output",
        "exhausts disk",
        in_call("ctypes.CDLL(None).fallocate(1, 1, ctypes.c_long(0), ctypes.c_long(2**30))\ntime.sleep(60)"),
        TOO_MUCH,
    ),
    Case(
        "nameless-files",
        "exhausts disk",
        in_call("""
            builtins.files = files = []  # open when the call has ended, too: to write them takes no time
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
            for number in range(100):
                files.append(open('f', 'wb', 0)); os.unlink('f'); files[-1].write(b'x' * 2**20)
        """),
        TOO_MUCH,
    ),
    Case(
        "mapped-files",
        "exhausts disk",
        in_call("""
            libc = ctypes.CDLL(None)
            libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
            for number in range(100):
                with open('f', 'w+b', 0) as file:
                    file.write(b'x' * 2**20); os.unlink('f'); libc.mmap(None, 4096, 1, 1, file.fileno(), 0)
            time.sleep(60)
        """),
        TOO_MUCH,
    ),
    Case(
        "locked-files",
        "exhausts disk",
        in_call("""
            for number in range(100):
                os.mkdir(f'd{number}'); open(f'd{number}/f', 'wb', 0).write(b'x' * 2**20); os.chmod(f'd{number}', 0)
        """),
        TOO_MUCH,
    ),
    Case(
        "folders-turned-into-links",
        "exhausts disk",
        at_start("""
            def swap():
                while True:
                    try: os.mkdir('a', 0)
                    except OSError: pass
                    try: os.rmdir('a'); os.symlink({home!r}.rpartition('/')[0], 'a'); os.unlink('a')
                    except OSError: pass
            threading.Thread(target=swap, daemon=True).start()
        """),
        ("passed", "out of time"),
        ("passed", "out of time"),
    ),
    Case("sparse-file", "exhausts disk", in_call("open('big', 'wb').truncate(10**12)"), ERROR),
    Case(
        "many-files",
        "exhausts disk",
        # A few more than allowed, each created with as little work as possible, so that time does not run out first.
        in_call("for number in range(16_500): os.close(os.open(f'f{number}', os.O_CREAT | os.O_WRONLY))"),
        TOO_MUCH,
    ),
    Case(
        "deep-folders",
        "exhausts disk",
        in_call("""
            for number in range(2_100):  # deeper than any path may be long
                os.mkdir('d'); os.chdir('d')
        """),
        ("too much output", "passed"),
    ),
    Case(
        "locked-folders",
        "exhausts disk",
        in_call("""
            if not os.path.exists('a'):
                os.makedirs('a/b/c'); open('a/b/c/f', 'w').close()
                os.chmod('a/b/c', 0); os.chmod('a/b', 0); os.chmod('a', 0)
        """),
        ("passed", "error"),
    ),
    Case("opens-everything", "exhausts descriptors", in_call("a = [open('/dev/null') for _ in range(10**6)]"), ERROR),
    Case("pipes", "exhausts descriptors", in_call("a = [os.pipe() for _ in range(10**6)]"), ERROR),
    Case("fork-bomb", "exhausts processes", in_call("while True: os.fork()"), ERROR, quick=True),
    Case(
        "thread-bomb",
        "exhausts processes",
        in_call("for _ in range(10**5): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"),
        BOUNDED,
    ),
    Case("shell", "exhausts processes", in_call("subprocess.run('sleep 1000 & sleep 1000', shell=True)"), ERROR),
    Case(
        "process-pool",
        "exhausts processes",
        in_call("import multiprocessing\nmultiprocessing.get_context('fork').Process(target=print).start()"),
        ERROR,
    ),
    Case(
        "prints-200-mb",
        "exhausts output",
        in_call("for _ in range(200): print('x' * 10**6)"),
        TOO_MUCH,
        says="printing more than 8 MB",
        quick=True,
    ),
    Case("prints-for-ever", "exhausts output", in_call("while True: print('spam' * 1000)"), TOO_MUCH),
    Case("prints-in-cells", "exhausts output", at_start("while True: sys.stderr.write('spam' * 1000)"), HARMLESS),
    Case(
        "native-output",
        "exhausts output",
        in_call("for _ in range(200): os.write(1, b'x' * 2**20); os.write(2, b'y' * 2**20)"),
        TOO_MUCH,
    ),
    Case("returns-too-much", "exhausts output", in_call("return [0] * 250_000"), ERROR, says="too large"),
    Case("long-message", "exhausts output", in_call("raise ValueError('x' * 10**8)"), ERROR),
]

CRASHES = [
    Case("null-pointer", "crashes natively", in_call("ctypes.string_at(0)"), DIED, says="SIGSEGV"),
    Case("abort", "crashes natively", in_call("os.abort()"), DIED, says="crash (signal SIG", quick=True),
    Case("x32-call", "crashes natively", in_call("ctypes.CDLL(None).syscall(2**30 + 39)"), DIED, says="SIGSYS"),
    Case("crash-in-a-cell", "crashes natively", at_start("ctypes.string_at(0)"), HARMLESS),
    Case(
        "crash-in-a-thread",
        "crashes natively",
        in_call("threading.Thread(target=ctypes.string_at, args=(0,)).start()\ntime.sleep(60)"),
        DIED,
    ),
]

# Each would end the process by a signal that looks as if it came from outside.
KILLS = [
    Case("stops-itself", "kills itself", in_call("os.kill(os.getpid(), signal.SIGSTOP)"), ERROR),
    Case("kills-itself", "kills itself", in_call("os.kill(os.getpid(), 9)"), ERROR, says="not permitted", quick=True),
    Case("kills-its-thread", "kills itself", in_call("signal.pthread_kill(threading.get_ident(), 9)"), ERROR),
    Case("raises-a-signal", "kills itself", in_call("signal.raise_signal(signal.SIGTERM)"), ERROR),
    Case("kills-in-a-cell", "kills itself", at_start("os.kill(os.getpid(), 9)"), HARMLESS),
    Case(
        "kills-by-raw-calls",
        "kills itself",
        in_call("""
            call, me, info = ctypes.CDLL(None).syscall, os.getpid(), ctypes.create_string_buffer(128)
            info[0], info[8] = 9, 255  # SIGKILL, SI_QUEUE
            call(62, me, 9), call(200, me, 9), call(234, me, me, 9)  # kill, tkill, tgkill
            call(129, me, 9, info), call(297, me, me, 9, info)  # rt_sigqueueinfo, rt_tgsigqueueinfo
            call(424, call(434, me, 0), 9, None, 0)  # pidfd_send_signal, pidfd_open
        """),
        HARMLESS,
    ),
    Case(
        "kills-by-a-timer",
        "kills itself",
        in_call("""
            libc, event, timer = ctypes.CDLL(None), ctypes.create_string_buffer(64), ctypes.c_void_p()
            event[8] = 9  # SIGKILL
            if libc.timer_create(0, event, ctypes.byref(timer)) == 0:
                libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 1), None)
                time.sleep(60)
        """),
        HARMLESS,
    ),
    Case("limits-its-time", "kills itself", in_call("resource.setrlimit(resource.RLIMIT_CPU, (0, 0))"), ERROR),
    Case(
        "limits-its-time-by-raw-calls",
        "kills itself",
        in_call("""
            for number, arguments in ((302, (0, 0)), (160, (0,))):
                if ctypes.CDLL(None).syscall(number, *arguments, bytes(16), None) == 0:
                    while True: pass
        """),
        HARMLESS,
    ),
    Case(
        "told-by-a-lease",
        "kills itself",
        in_call("""
            import fcntl
            open('leased', 'w').close()
            fcntl.fcntl(file := os.open('leased', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
            os.open('leased', os.O_WRONLY | os.O_NONBLOCK)
        """),
        ERROR,
    ),
    Case(
        "told-of-changes",
        "kills itself",
        in_call("""
            import fcntl
            fcntl.fcntl(os.open('.', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)
            open('new', 'w').close()
            time.sleep(60)
        """),
        ERROR,
    ),
    Case(
        "filters-its-own-calls",
        "kills itself",
        in_call("""
            import struct
            code = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x80000000))  # kill at any call
            program = struct.pack('<HxxxxxxQ', 1, ctypes.addressof(code))
            ctypes.CDLL(None).prctl(22, 2, program, 0, 0), ctypes.CDLL(None).syscall(317, 1, 0, program)
        """),
        HARMLESS,
    ),
]

MISSING_FUNCTIONS = [
    Case("renamed", "has no function", f"# %%\n{DOUBLE.replace('double', 'doubel')}\n# %%\n{TOTAL}", MISSING),
    Case("value-for-a-function", "has no function", f"# %%\ndouble = 2\n\n# %%\n{TOTAL}", MISSING),
    Case("deleted", "has no function", f"# %%\nstart('attacked')\n\n# %%\n{TOTAL}", MISSING),
    Case("never-begun", "has no function", f"# %%\n{TOTAL}", ("not attempted",)),
    Case("deletes-itself", "has no function", at_start("", DOUBLE + "del double\n"), ("passed", "not attempted")),
]

LINGERS = [
    Case("daemon", "lingers", in_call("if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)"), ERROR),
    Case(
        "thread-that-stays",
        "lingers",
        in_call("""
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            atexit.register(time.sleep, 1000)
            threading.Thread(target=time.sleep, args=(1000,)).start()
        """),
        HARMLESS,
        quick=True,
    ),
    Case(
        "thread-that-computes",
        "lingers",
        at_start("def spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()"),
        ("passed", "out of time"),
        ("passed", "out of time"),
    ),
    Case(
        "leaves-its-parent",
        "lingers",
        in_call("ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\nctypes.CDLL(None).setsid()"),
        HARMLESS,
    ),
]
