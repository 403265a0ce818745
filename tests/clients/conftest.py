"""Private clusters for clients that others wrote: four nodes, real daemons, real tasks.

Fixtures:
  c        the module's cluster, empty before and after the test, with a work folder of its own
  client   client(NAME, SCRIPT, *words): run scripts/SCRIPT with the Python that has NAME and give what it
           printed; skips when NAME is not installed

The clusters are those of tests/integration/conftest.py."""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def integration_conftest():
    """The module beside the integration tests; `conftest` is our own name here."""
    path = HERE.parent / "integration" / "conftest.py"
    sys.path.append(str(path.parent))  # behind ours: `conftest` stays this file
    spec = importlib.util.spec_from_file_location("integration_conftest", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["integration_conftest"] = module
    spec.loader.exec_module(module)
    return module


cluster_module = sys.modules.get("integration_conftest") or integration_conftest()
folder, shared, c = cluster_module.folder, cluster_module.shared, cluster_module.c
pytest_runtest_makereport = cluster_module.pytest_runtest_makereport
NODE = Path(os.environ.get("PENSTOCK_CLIENTS_NODE", cluster_module.BUILD / "clients" / "node"))
VENV = Path(os.environ.get("PENSTOCK_CLIENTS_VENV", cluster_module.BUILD / "clients" / "venv"))


def integration(name):
    """A helper of the integration tests (restd, dashboard), which takes its own from a conftest: this one has theirs then."""
    for key, value in vars(cluster_module).items():
        if not key.startswith("_"):
            globals().setdefault(key, value)
    return importlib.import_module(name)


def has_distribution(name):
    probe = f"import importlib.metadata as m; m.version({name!r})"
    python = VENV / "bin" / "python"
    return python.exists() and subprocess.run([python, "-c", probe], capture_output=True).returncode == 0


def run_client(c, argv, timeout=120):
    tmp = c.work / "tmp"  # clients leave things there; the cluster's own TMPDIR must stay empty
    tmp.mkdir(exist_ok=True)
    env = {**c.env, "PATH": f"{VENV}/bin:{c.env['PATH']}", "WORK": str(c.work), "HOME": str(c.work), "TMPDIR": str(tmp)}
    done = subprocess.run(list(map(str, argv)), cwd=c.work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout)
    assert done.returncode == 0, f"{argv}: exit {done.returncode}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done


@pytest.fixture
def client(c):
    def run(name, script, *words, timeout=120):
        if not has_distribution(name):
            pytest.skip(f"{name} is not installed: the package index was not reachable, or has no build of it for this system")
        return run_client(c, [VENV / "bin" / "python", HERE / "scripts" / script, *words], timeout).stdout
    run.argv = lambda name, *argv, **kwargs: (
        run_client(c, argv, **kwargs) if has_distribution(name) else pytest.skip(f"{name} is not installed"))
    return run


@pytest.fixture
def need():
    """need(PROGRAM): skips the test where a Debian package is missing."""
    def check(program, package):
        if not shutil.which(program):
            pytest.skip(f"{program} of the Debian package {package} is not installed")
    return check
