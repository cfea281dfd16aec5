"""What the attempts of escapes.md use."""
import base64, ctypes, os, platform, signal, socket, struct, sys, time, urllib.parse

globals().update({name: os.environ.get(name, "") for name in
                  "X W VICTIM SOCKET ABSTRACT PORT UDP SHARED QUEUE LISTED TERMINAL".split()})
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": dict(open=2, ioctl=16, creat=85, chmod=90, fchmod=91, mknod=133, openat=257, mkdirat=258, mknodat=259, fchmodat=268, ptrace=101, setpriority=141, mount=165, reboot=169, kexec_load=246,
                   add_key=248, keyctl=250, unshare=272, perf_event_open=298, open_by_handle_at=304,
                   setns=308, process_vm_readv=310, process_vm_writev=311, finit_module=313, bpf=321, userfaultfd=323),
    "aarch64": dict(ioctl=29, mknodat=33, mkdirat=34, fchmod=52, fchmodat=53, openat=56, ptrace=117, setpriority=140, mount=40, reboot=142, kexec_load=104,
                    add_key=217, keyctl=219, unshare=97, perf_event_open=241, open_by_handle_at=265,
                    setns=268, process_vm_readv=270, process_vm_writev=271, finit_module=273, bpf=280, userfaultfd=282),
}[platform.machine()]
NUMBERS.update(io_uring_setup=425, open_tree=428, fsopen=430, clone3=435, openat2=437, pidfd_getfd=438, fchmodat2=452)


def call(name, *args):
    """A system call by its name; its error is raised."""
    plain = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    answer = libc.syscall(ctypes.c_long(NUMBERS[name]), *plain)
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer


def own_mode(name, *args):
    """A call that would give the file `tool` the owner's rights, whoever runs it. What came of it is
    looked at, whatever the call says."""
    try:
        if name in NUMBERS: call(name, *args)
        else: print("[Errno 38] no such call on this machine")
    finally:
        if os.path.exists("tool"):
            if os.stat("tool").st_mode & 0o6000: print("ESCAPED %o" % os.stat("tool").st_mode)
            os.rename("tool", "tool.%s" % name)
    print("not permitted: the bits are not there")


def exchange(one, other):
    """Two names change places."""
    numbers = dict(x86_64=316, aarch64=276)
    answer = libc.syscall(numbers[platform.machine()], -100, one.encode(), -100, other.encode(), 2)
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def gate():
    """A connection to the proxy, and what proves that it is ours."""
    at = urllib.parse.urlsplit(os.environ["http_proxy"])
    proof = ""
    if at.username:
        word = base64.b64encode(("%s:%s" % (at.username, at.password)).encode()).decode()
        proof = "Proxy-Authorization: Basic %s\r\n" % word
    return socket.create_connection((at.hostname, at.port), 20), proof


def ask(line, fields="", body=""):
    """Sends a request to the proxy; prints and returns the first line of what it answers."""
    to, proof = gate()
    to.sendall(("%s\r\n%s%s\r\n%s" % (line, proof, fields, body)).encode())
    answer = b""
    while True:
        piece = to.recv(4096)
        if not piece: break
        answer += piece
    first = answer.split(b"\r\n")[0].decode()
    print(first)
    return answer.decode()
