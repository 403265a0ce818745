"""Commands that somebody types at, or sends signals to, while they run: @keys and @signals of plays.py.

    after 2 s '^C', after 0.3 s 'exit\\n'     what is typed at the command's terminal: ^C is one key
    after 2 s SIGTERM                        sent to the command's process group
    after 2 s SIGTERM alone                  ... to its first process

Each pause counts from the one before, the first from the command's start."""

import os
import re
import select
import signal
import subprocess
import time

DEFAULT = ["env", "--default-signal"]  # whoever runs the tests in the background ignores SIGINT
ACT = re.compile(r"after ([\d.]+) s (?:'([^']*)'|(SIG[A-Z0-9]+)( alone)?)(?:, |$)")


def parse(text):
    """[(pause in seconds, bytes to type or None, signal or None, whether it is for the first process alone)]."""
    acts = [(float(pause), None if name else keys_of(keys), getattr(signal, name) if name else None, bool(alone))
            for pause, keys, name, alone in ACT.findall(text)]
    assert acts and ACT.sub("", text) == "", f"no list of keys or signals: {text}"
    return acts


def keys_of(text):
    text = text.replace("^\\\\", "\x1c").replace("\\n", "\r")
    return re.sub(r"\^([A-Z])", lambda m: chr(ord(m.group(1)) - 64), text).encode()


def gather(fd, until):
    """What comes from fd until then; (bytes, whether that was all)."""
    got = b""
    while (left := until - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        try:
            piece = os.read(fd, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            piece = b""
        if not piece:
            return got, True
        got += piece
    return got, False


def status(returncode):
    return returncode if returncode >= 0 else 128 - returncode


def at_terminal(command, acts, timeout_s, **options):
    """Run it by bash at a terminal of its own; (what the terminal shows, status), 124 when it does not end."""
    master, slave = os.openpty()
    options["env"] = {**options["env"], "TERM": "dumb"}  # else readline adds marks of its own
    process = subprocess.Popen([*DEFAULT, "setsid", "-c", "bash", "-c", command], stdin=slave, stdout=slave, stderr=slave,
                               **options)
    os.close(slave)
    shown, ended = b"", False
    for pause, keys, *_ in acts:
        piece, ended = gather(master, time.monotonic() + pause)
        shown += piece
        if not ended:
            os.write(master, keys)
    if not ended:
        piece, ended = gather(master, time.monotonic() + timeout_s)
        shown += piece
    os.close(master)  # hangs up on what is left
    try:
        rc = process.wait(timeout_s if ended else 2)
    except subprocess.TimeoutExpired:
        process.kill()
        rc = process.wait() and 124
    return shown.decode(errors="replace").replace("\r", ""), status(rc) if ended else 124


def signalled(command, acts, timeout_s, **options):
    """Run it by bash without a terminal; (stdout, stderr, status), 124 when it does not end."""
    process = subprocess.Popen([*DEFAULT, "bash", "-c", command], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, errors="replace", start_new_session=True, **options)
    for pause, _, number, alone in acts:
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            (os.kill if alone else os.killpg)(process.pid, number)
    try:
        out, err = process.communicate(timeout=timeout_s)
        rc = status(process.returncode)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        rc = 124
    return out, err, rc
