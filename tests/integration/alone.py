"""The tests of the folder answers see no process but their own: what is listed of the machine (scontrol listpids, liststeps,
listjobs) is then what was recorded, whatever other clusters run beside."""

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "answers"
ALONE = "PENSTOCK_TESTS_ALONE"  # set: we are


def pytest_configure(config):
    """Begin again as the only processes there are.  Without root, and where more than that folder is run, all is as it was."""
    mine = all(FOLDER in (path := Path(arg.split("::")[0]).resolve()).parents or path == FOLDER for arg in config.args)
    if ALONE in os.environ or os.geteuid() != 0 or not mine:
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.stop_global_capturing()  # the output is the new one's
    os.environ[ALONE] = "1"
    # The shell collects whom a daemon leaves; a signal for us comes to all of the process group.
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", '"$@"; exit $?', "alone",
                          sys.executable, "-m", "pytest", *config.invocation_params.args])
