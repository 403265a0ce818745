"""Plugins of the site (plugstack.conf): built as a site builds them, against the installed headers alone."""
import os
import pwd
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, let_in, wait_until
from test_auth import USER, as_user
from test_namespace_linux import place, site as spaces  # noqa: F401 (fixtures)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts tasks of others")
PROGRAMS, EXAMPLES = ROOT / "tests/integration/programs", ROOT / "examples/plugins"
UID = pwd.getpwnam(USER).pw_uid
REMOTE = ["init", "init_post_opt", "user_init", "task_init_privileged", "task_init", "task_exit", "exit"]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """A function that compiles a plugin once; gives its path."""
    folder, made = tmp_path_factory.mktemp("plugins"), {}
    for path in (folder, *list(folder.parents)[:2]):
        path.chmod(path.stat().st_mode | 0o055)  # other users' commands load them
    compiler = shutil.which("cc") or shutil.which("gcc")

    def compile_one(source, *options, name=None):
        path = folder / f"{name or source.stem}.so"
        if path not in made:
            subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", f"-I{ROOT}/src/spank", *options,
                            "-o", path, source], check=True)
            made[path] = True
        return path
    return compile_one


@pytest.fixture
def site(build, make_cluster):
    """A cluster whose plugstack.conf is given; `said()` is what recording plugins wrote down."""
    class Site:
        def recorder(self, name="record", *options):
            return build(PROGRAMS / "spank_record.c", f"-DRECORD={name}", *options, name=name)

        def start(self, plugstack, nodes=1, conf="", start=True):
            self.c = make_cluster(start=False, nodes=nodes, conf=conf)
            self.log = self.c.dir / "log" / "record"
            self.log.touch()
            self.log.chmod(0o666)
            self.stack(plugstack)
            let_in(self.c.dir / "etc")
            let_in(self.c.dir / "log")
            self.c.work.chmod(0o777)
            return self.c.start() if start else self.c

        def stack(self, text):
            (self.c.dir / "etc" / "plugstack.conf").write_text(text.replace("LOG", f"log={self.log}") + "\n")

        def said(self, *words):
            """(plugin, context, callback, facts) of the lines that have all these words."""
            rows = []
            for line in self.log.read_text().splitlines():
                if set(words) <= set(line.split()):
                    plugin, context, call, *facts = line.split()
                    rows.append((plugin, context, call, dict(f.split("=", 1) for f in facts)))
            return rows

        def calls(self, *words):
            return [row[2] for row in self.said(*words)]
    return Site()


# ---- where, when, as whom, told what -----------------------------------------------------------------

@needs_root
def test_callbacks_of_a_step(site):
    c = site.start(f"required {site.recorder()} LOG", nodes=2)
    done = as_user(c, "srun", "-N2", "-n3", "sh", "-c", 'echo $SLURM_PROCID $$ "$SEEN_init$SEEN_task_init$SEEN_task_post_fork"',
                   env={"FROM_USER": "word"})
    tasks = dict((int(r), int(pid)) for r, pid, _ in re.findall(r"^(\d) (\d+) (yesyes)$", done.stdout, re.M))
    assert sorted(tasks) == [0, 1, 2], done.stdout + done.stderr
    assert site.calls("local") == ["init", "init_post_opt", "local_user_init", "exit"]
    made = site.said("local", "local_user_init")[0][3]
    assert (made["job"], made["step"], made["nodes"], made["total"], made["argv"]) == ("1", "0", "2", "3", "3:sh")
    assert {row[3]["uid"] for row in site.said("local")} == {str(UID)}
    wait_until(lambda: len(site.said("remote", "exit")) == 2, "both step daemons are over")
    for node, local in (("0", 2), ("1", 1)):
        rows = site.said("remote", f"node={node}")
        whole = [row for row in rows if not row[2].startswith("task_")]
        assert [row[2] for row in whole] == ["init", "init_post_opt", "user_init", "exit"]
        assert [row[3]["uid"] for row in whole] == ["0", "0", str(UID), "0"]
        assert {(row[3]["job"], row[3]["step"], row[3]["jobuid"], row[3]["nodes"], row[3]["local"], row[3]["total"],
                 row[3]["user"], row[3]["argv"], row[3]["task"]) for row in whole} == {
                     ("1", "0", str(UID), "2", str(local), "3", "word", "3:sh", "!2")}
        assert rows[-1][2] == "exit"
        for task in range(local):
            mine = [row for row in rows if row[2].startswith("task_") and row[3]["task"] == str(task)]
            rank = int(mine[0][3]["rank"])
            inside = [row for row in mine if row[3]["self"] == "1"]
            assert [row[2] for row in inside] == ["task_init_privileged", "task_init"]
            assert [row[3]["uid"] for row in inside] == ["0", str(UID)]
            order = [row[2] for row in mine]
            assert sorted(order) == sorted(["task_post_fork", "task_init_privileged", "task_init", "task_exit"])
            assert order.index("task_post_fork") < order.index("task_init") and order[-1] == "task_exit"
            assert {row[3]["rank"] for row in mine} == {str(rank)}
            assert {int(row[3]["pid"]) for row in mine} == {tasks[rank]}
            assert mine[-1][3]["status"] == "0" and mine[0][3]["status"] == "!9"


def test_status_of_a_task(site):
    c = site.start(f"required {site.recorder()} LOG")
    assert c.run("srun", "sh", "-c", "exit 7", check=False).rc == 7
    assert c.run("srun", "sh", "-c", "kill -9 $$", check=False).rc == 137
    assert c.run("srun", "/no/such/program", check=False).rc == 2
    wait_until(lambda: site.calls("remote").count("exit") == 3, "the steps are over")
    assert [row[3]["status"] for row in site.said("task_exit")] == [str(7 << 8), "9", str(2 << 8)]


def test_batch_script_and_allocator(site):
    c = site.start(f"required {site.recorder()} LOG")
    job = c.sbatch("--array=3", script="env | grep SEEN_ | sort; srun true")
    wait_until(lambda: site.calls("remote").count("exit") == 2, "script and step are over")
    assert site.calls("allocator") == ["init", "init_post_opt", "exit"]
    batch = [row for row in site.said("remote") if row[3]["step"] == str(4294967291 - 2 ** 32)]
    assert [row[2] for row in batch if row[2] != "task_post_fork"] == REMOTE
    assert re.fullmatch(r"1:/.*/slurm_script", batch[0][3]["argv"])
    out = (c.work / f"slurm-{job}_3.out").read_text()
    assert out.splitlines() == [f"SEEN_{name}=yes" for name in sorted(REMOTE[:5])]
    assert c.run("salloc", "true").err
    assert site.calls("allocator")[3:] == ["init", "init_post_opt", "exit"]


def test_slurmd_and_scripts(site):
    c = site.start(f"required {site.recorder()} LOG", conf="Prolog={dir}/prolog\nEpilog={dir}/epilog", start=False)
    for name in ("prolog", "epilog"):
        script = c.dir / "etc" / name
        script.write_text(f"#!/bin/sh\necho script {name} uid=$SPANK_RECORD.$SLURM_JOB_ID >> {site.log}\n")
        script.chmod(0o755)
    c.write_conf(c.conf_text().replace("{dir}", str(c.dir / "etc")))
    c.start()
    assert site.calls("slurmd") == ["init"]
    c.run("srun", "true")
    wait_until(lambda: "script epilog" in site.log.read_text(), "the epilog has run")
    lines = [" ".join(line.split()[1:4]) for line in site.log.read_text().splitlines() if "script" in line]
    assert lines == [f"job_script job_prolog uid={os.geteuid()}", "prolog uid=told.1",
                     f"job_script job_epilog uid={os.geteuid()}", "epilog uid=told.1"]
    assert [row[3]["job"] for row in site.said("job_script")] == ["1", "1"]
    c.run("scontrol", "reconfigure")
    wait_until(lambda: site.calls("slurmd") == ["init", "slurmd_exit", "init"], "slurmd loads its plugins again")
    assert c.slurmds["node1"].stop() == 0
    assert site.calls("slurmd")[3:] == ["slurmd_exit"]


def test_order_and_files(site):
    a, b, d = site.recorder("first"), site.recorder("second", "-DNO_SCRIPTS"), site.recorder("third")
    c = site.start(f"""# what the site has
        required {a} LOG
        include plugstack.conf.d/*.conf
        optional {d.name} 'LOG'   # by PluginDir
        optional /no/such/plugin.so
        include nothing/*""", conf=f"PluginDir=/nowhere:{d.parent}", start=False)
    folder = c.dir / "etc" / "plugstack.conf.d"
    folder.mkdir()
    (folder / "b.conf").write_text(f'required "{b}" "log={site.log}"\n')
    c.start()
    c.run("srun", "true")
    wait_until(lambda: len(site.said("remote", "exit")) == 3, "the step is over")
    assert [row[0] for row in site.said("remote", "task_init")] == ["first", "second", "third"]
    assert [row[0] for row in site.said("local", "exit")] == ["first", "second", "third"]
    wait_until(lambda: len(site.said("job_epilog")) == 2, "the epilogs have run")
    assert [row[0] for row in site.said("job_epilog")] == ["first", "third"]


def test_plugins_come_and_go(site):
    """Steps follow plugstack.conf as it is; without one, they are started by the plain step daemon."""
    c = site.start("# none")
    exe = "readlink /proc/$PPID/exe"
    assert c.run("srun", "sh", "-c", exe).out.strip().endswith("/slurmstepd")
    site.stack(f"required {site.recorder()} LOG")
    assert c.run("srun", "sh", "-c", exe).out.strip().endswith("/slurmstepd-plug")
    assert "task_init" in site.calls("remote")
    (c.dir / "etc" / "plugstack.conf").unlink()
    assert c.run("srun", "sh", "-c", exe).out.strip().endswith("/slurmstepd")


@needs_root
def test_namespaces_of_the_job(spaces, build, folder):  # noqa: F811
    """The step daemon and its plugins are in the job's folders, tasks in its other namespaces from their beginning."""
    if subprocess.run(["unshare", "-mp", "-f", "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces cannot be made here")
    log, outside = folder / "record", folder / "plugstack.conf"
    c = spaces.start(conf=f"PlugStackConfig={outside}")
    outside.write_text(f"required {build(PROGRAMS / 'spank_record.c', name='spaces')} log={log}\n")
    done = c.run("srun", "sh", "-c", f"echo $$; ls {spaces.private}; readlink /proc/self/ns/pid")
    inner, space = done.out.split()
    rows = [dict(f.split("=", 1) for f in line.split()[3:]) | {"call": line.split()[2]}
            for line in log.read_text().splitlines() if " remote task_" in line]
    by_call = {row["call"]: row for row in rows}
    assert by_call["task_init_privileged"]["pid"] == by_call["task_init"]["pid"] == inner
    assert by_call["task_post_fork"]["pid"] == by_call["task_exit"]["pid"] != inner
    assert space != os.readlink("/proc/self/ns/pid")
    hidden = spaces.private / "plugstack.conf"
    hidden.write_text(outside.read_text())
    outside.unlink()
    outside.symlink_to(hidden)
    error = c.run("srun", "true", check=False)
    assert error.rc != 0 and f"cannot read {outside}: No such file or directory" in error.err
    wait_until(lambda: state_of_node(c).startswith(f"drained spank: cannot read {outside}"), "the node is drained")


# ---- options -----------------------------------------------------------------------------------------

def nice_of(done):
    return [int(word) for word in done.out.split()]


@needs_root
def test_options(site, build):
    c = site.start(f"optional {build(EXAMPLES / 'renice.c')} min_prio=3", nodes=2)
    assert re.search(r"\nOptions provided by plugins:\n      --renice=priority +run the tasks with this nice value\n",
                     c.run("srun", "--help").out)
    base = nice_of(c.run("srun", "nice"))[0]
    assert nice_of(c.run("srun", "-N2", "--renice=7", "nice")) == [7, 7]
    assert nice_of(c.run("srun", "--renice", "1", "nice")) == [3], "min_prio holds"
    assert c.refused("srun", "--renice=many", "true") == (
        "srun: error: renice: a priority is a number from -20 to 19\n"
        "srun: error: Invalid --renice argument: many\n")
    assert "requires an argument" in c.refused("srun", "--renice", rc=255)
    assert "unrecognized option '--renicer=1'" in c.refused("srun", "--renicer=1", "true", rc=255)
    job = c.sbatch(script="#SBATCH --renice=5\nnice; srun nice; env | grep -c SPANK_OPTION")
    c.wait_end(job)
    assert c.out(job).split() == ["5", str(base), "0"], "the option is the script's, and not that of steps within"
    job = c.sbatch("--renice=6", script="#SBATCH --renice=5\nnice")
    c.wait_end(job)
    assert c.out(job).split() == ["6"], "the command line wins"
    assert nice_of(c.run("salloc", "--renice=8", "srun", "nice")) == [8], "steps of an allocation have its options"
    assert nice_of(c.run("salloc", "--renice=8", "srun", "--renice=9", "nice")) == [9]
    assert "renice" not in c.run("squeue", "--help").out


@needs_root
def test_options_of_a_crontab(site, build):
    c = site.start(f"optional {build(EXAMPLES / 'renice.c')}\noptional {site.recorder()} LOG",
                   conf="ScronParameters=enable")
    table = c.dir / "crontab"
    table.write_text("#SCRON --renice=many\n* * * * * true\n")
    assert "line 2: Invalid --renice argument: many" in c.refused("scrontab", table)
    table.write_text("#SCRON --renicer=1\n* * * * * true\n")
    assert "Invalid option found in #SCRON line: --renicer=1" in c.refused("scrontab", table)
    table.write_text("#SCRON --renice=4\n@yearly true\n@yearly false\n")
    c.run("scrontab", table)
    assert site.calls("allocator")[-3:] == ["init", "init_post_opt", "exit"]
    jobs = c.run("squeue", "-h", "-o", "%A").out.split()
    assert len(jobs) == 2
    c.run("scrontab", "-r")


def test_options_in_job_submit(site, build):
    """What plugins of sbatch have to say is there for job_submit.lua."""
    c = site.start(f"optional {build(EXAMPLES / 'renice.c')}\noptional {site.recorder()} LOG",
                   conf="JobSubmitPlugins=lua", start=False)
    (c.dir / "etc" / "job_submit.lua").write_text("""
        function slurm_job_submit(desc, parts, uid)
            slurm.log_user("renice %s, %s", desc.spank_job_env["_SLURM_SPANK_OPTION_renice_renice"] or "none",
                           desc.spank_job_env.RECORD)
            return slurm.SUCCESS
        end
        function slurm_job_modify(desc, rec, parts, uid)
            return slurm.SUCCESS
        end""")
    c.start()
    assert "sbatch: renice 4, told\n" in c.run("sbatch", "--renice=4", "--wrap", "true").err
    assert "sbatch: renice none, told\n" in c.run("sbatch", "--wrap", "true").err


@needs_root
def test_options_beside_scripts(site, build):
    """Prolog, PrologSlurmctld and plugins beside them are told what was asked for."""
    c = site.start("", conf="Prolog={dir}/told\nPrologSlurmctld={dir}/told", start=False)
    script = c.dir / "etc" / "told"
    script.write_text(f"#!/bin/sh\necho $SLURM_SCRIPT_CONTEXT $SPANK__SLURM_SPANK_OPTION_asked_own >> {site.log}\n")
    script.chmod(0o755)
    source = c.dir / "asked.c"
    source.write_text("""#include <slurm/spank.h>
        SPANK_PLUGIN(asked, 1)
        struct spank_option spank_options[] = {
            { (char *)"own", NULL, (char *)"own", 1, 0, NULL }, SPANK_OPTIONS_TABLE_END };
        int slurm_spank_job_prolog(spank_t sp, int ac, char **av)
        {
            char *text = 0;
            uint32_t job;

            (void)ac;
            (void)av;
            if (spank_option_getopt(sp, &spank_options[0], &text) == 0 && spank_get_item(sp, S_JOB_ID, &job) == 0)
                slurm_info("job %u was given %s", job, text);
            return 0;
        }
        """)
    site.stack(f"required {build(source)}")
    c.write_conf(c.conf_text().replace("{dir}", str(c.dir / "etc")))
    c.start()
    job = c.sbatch("--own=word", wrap="true")
    c.wait_end(job)
    assert sorted(site.log.read_text().splitlines()) == ["prolog_slurmctld word", "prolog_slurmd word"]
    assert f"job {job} was given word" in (c.dir / "log" / "slurmd-node1.log").read_text()


@needs_root
def test_image(site, build):
    """The way of container plugins: the task's own mount namespace and root, made before its program."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("mount namespaces cannot be made here")
    c = site.start("", start=False)
    images = c.dir / "images"
    root = images / "small"
    for name in ("usr", "lib", "lib64", "bin", "etc", "srv", "tmp"):
        (root / name).mkdir(parents=True)
    for path in (images, root, root / "etc", root / "srv"):
        path.chmod(0o755)
    (root / "etc" / "inside").write_text("small\n")
    site.stack(f"required {build(EXAMPLES / 'image.c')} {images}")
    c.start()
    mounts = ",".join(f"/{name}:/{name}" for name in ("usr", "lib", "lib64", "bin") if os.path.isdir(f"/{name}"))
    options = ["--container-image=small", f"--container-mounts={mounts}", "--container-workdir=/srv"]
    done = as_user(c, "srun", *options, "sh", "-c", "pwd; cat /etc/inside; echo $CONTAINER_IMAGE $PATH; id -u; ls /")
    assert done.stdout.split("\n")[:4] == ["/srv", "small", "small /usr/local/bin:/usr/bin:/bin", str(UID)], done.stderr
    assert set(done.stdout.split()[5:]) >= {"etc", "srv"} and "proc" not in done.stdout.split()
    c.work.chmod(0o777)
    job = int(as_user(c, "sbatch", "--parsable", *options, "--wrap", "pwd; srun sh -c 'pwd; cat /etc/inside'").stdout)
    c.wait_end(job)
    assert c.out(job).split() == [str(c.work), "/srv", "small"]
    bad = as_user(c, "srun", "--container-image=none", "true", check=False)
    assert bad.returncode == 1 and "slurmstepd: error: image: there is no" in bad.stderr
    assert as_user(c, "srun", "cat", "/etc/inside", check=False).returncode != 0, "only who asks is in it"
    bad = as_user(c, "srun", "--container-image=../small", "true", check=False)
    assert bad.returncode == 1 and "Invalid --container-image argument: ../small" in bad.stderr
    assert not [line for line in open("/proc/self/mounts") if str(images) in line], "nothing stays mounted"


# ---- failures ----------------------------------------------------------------------------------------

def state_of_node(c):
    return c.run("sinfo", "-h", "-N", "-o", "%T %E").out.strip()


def failing(site, call, kind="required", code=-1, **options):
    return site.start(f"{kind} {site.recorder()} LOG fail={call} code={code}", **options)


@pytest.mark.parametrize("call", ["init", "init_post_opt", "local_user_init"])
def test_command_ends(site, call):
    c = site.start("")
    site.stack(f"required {site.recorder()} LOG fail={call}")
    said = f"srun: error: required plugin record: slurm_spank_{call}() failed with -1\n"
    assert said in c.refused("srun", "true")
    assert "remote" not in site.log.read_text()
    for command in (["sbatch", "--wrap", "true"], ["salloc", "true"]) if call != "local_user_init" else ():
        assert c.refused(*command) == said.replace("srun", command[0])
    wait_until(lambda: not c.run("squeue", "-h").out, "no job is left")
    c.wait_nodes()
    site.stack(f"optional {site.recorder()} LOG fail={call}")
    done = c.run("srun", "echo", "done")
    assert done.out == "done\n"
    assert f"srun: optional plugin record: slurm_spank_{call}() failed with -1\n" in done.err


def test_step_cannot_begin(site):
    """slurm_spank_init in the step daemon: the node is at fault, unless the plugin says that the job is."""
    c = site.start("")
    plugin = build_remote_only(site)
    site.stack(f"required {plugin} LOG fail=init")
    job = c.sbatch(wrap="true")
    wait_until(lambda: state_of_node(c) == "drained spank: required plugin remote: slurm_spank_init() failed with -1",
               "the node is drained")
    assert c.job(job)["Reason"] == "launch_failed_requeued_held"
    c.run("scancel", job)
    c.run("scontrol", "update", "NodeName=node1", "State=RESUME")
    site.stack(f"required {plugin} LOG fail=init_post_opt code=3012")
    job = c.sbatch(wrap="true")
    assert c.wait_end(job)["JobState"] == "FAILED"
    done = c.run("srun", "true", check=False)
    assert done.rc != 0 and "required plugin remote: slurm_spank_init_post_opt() failed with 3012" in done.err
    c.wait_nodes()
    site.stack(f"required {plugin} LOG fail=user_init")
    done = c.run("srun", "true", check=False)
    assert done.rc != 0 and "required plugin remote: slurm_spank_user_init() failed with -1" in done.err
    c.wait_nodes()
    site.stack(f"optional {plugin} LOG fail=init")
    assert "slurmstepd: optional plugin remote: slurm_spank_init() failed with -1\n" in c.run("srun", "true").err
    c.wait_nodes()


def build_remote_only(site):
    return site.recorder("remote", "-DREMOTE_ONLY")


@pytest.mark.parametrize("call", ["task_init_privileged", "task_init", "task_post_fork"])
def test_task_cannot_begin(site, call):
    c = failing(site, call)
    done = c.run("srun", "echo", "ran", check=False)
    assert done.rc != 0 and done.out == ""
    assert f"required plugin record: slurm_spank_{call}() failed with -1" in done.err
    wait_until(lambda: "exit" in site.calls("remote"), "the step is over")
    site.stack(f"optional {site.recorder()} LOG fail={call}")
    assert c.run("srun", "echo", "ran").out == "ran\n"
    c.wait_nodes()


@pytest.mark.parametrize("call", ["task_exit", "exit"])
def test_end_is_only_told_of(site, call):
    c = failing(site, call)
    done = c.run("srun", "echo", "ran")
    assert done.out == "ran\n" and f"required plugin record: slurm_spank_{call}() failed with -1" in done.err


@pytest.mark.parametrize("call", ["job_prolog", "job_epilog"])
def test_node_is_drained(site, call):
    c = failing(site, call)
    c.run("srun", "true", check=call == "job_epilog")
    reason = "Prolog error" if call == "job_prolog" else "Epilog error"
    wait_until(lambda: state_of_node(c) == f"drained {reason}", "the node is drained")
    log = (c.dir / "log" / "slurmd-node1.log").read_text()
    assert f"required plugin record: slurm_spank_{call}() failed with -1" in log


def test_slurmd_does_not_start(site):
    c = failing(site, "init", start=False)
    c.start_slurmd("node1")
    c.slurmds["node1"].process.wait(20)
    c.slurmds["node1"].expected = 1
    assert "required plugin record: slurm_spank_init() failed with -1" in c.logs("slurmd-node1")


ODD = """#include <signal.h>
    #include <slurm/slurm.h>
    #include <slurm/spank.h>
    #include <string.h>
    #include <sys/wait.h>
    SPANK_PLUGIN(odd, 1);
    static int asked(int ac, char **av, const char *word)
    {
        return ac > 0 && strcmp(av[0], word) == 0;
    }
    static int crash(void)
    {
        (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer would catch it and write a report */
        return raise(SIGSEGV);
    }
    int slurm_spank_init(spank_t sp, int ac, char **av)
    {
        return spank_remote(sp) == 1 && asked(ac, av, "crash") ? crash() : ESPANK_SUCCESS;
    }
    int slurm_spank_user_init(spank_t sp, int ac, char **av)
    {
        int status = -1;

        if (asked(ac, av, "child")) {
            pid_t pid = fork();

            if (pid == 0)
                _exit(5);
            (void)waitpid(pid, &status, 0);
            slurm_spank_log("child %d", WEXITSTATUS(status));
        }
        return ESPANK_SUCCESS;
    }
    int slurm_spank_task_init(spank_t sp, int ac, char **av)
    {
        const char *words[] = { "sh", "-c", "echo before; exec \\"$@\\"", "sh" };

        if (asked(ac, av, "crash-task"))
            return crash();
        if (asked(ac, av, "slow"))
            return (int)sleep(600);
        return asked(ac, av, "words") ? spank_prepend_task_argv(sp, 4, words) : ESPANK_SUCCESS;
    }
    """


def test_odd_plugins(site, build):
    """A plugin that starts processes, puts words before the command, takes its time, or crashes."""
    c = site.start("")
    source = c.dir / "odd.c"
    source.write_text(ODD)
    plugin = build(source)
    site.stack(f"required {plugin} child")
    done = c.run("srun", "echo", "ran")
    assert (done.out, done.err) == ("ran\n", "child 5\n")
    site.stack(f"required {plugin} words")
    assert c.run("srun", "echo", "ran").out == "before\nran\n"
    job = c.sbatch(script='echo $(basename $0) "$1"', args=("one",))
    c.wait_end(job)
    assert c.out(job) == "before\nslurm_script one\n"
    site.stack(f"required {plugin} crash-task")
    assert c.run("srun", "true", check=False).rc == 139
    site.stack(f"required {plugin} slow")
    with c.popen("srun", "true", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as srun:
        wait_until(lambda: c.run("squeue", "-h", "-s").out, "the step runs")
        c.run("scancel", "--state=RUNNING")
        assert srun.wait(60) != 0
    site.stack(f"required {plugin} crash")
    assert c.run("srun", "true", check=False).rc != 0
    c.wait_nodes()
    site.stack("")
    c.run("srun", "true")


def test_mistakes(site, build):
    c = site.start("")
    for text, said in (("required /no/such/plugin.so", "required plugin /no/such/plugin.so cannot be loaded: "),
                       ("wanted x.so", 'plugstack.conf line 1: a line begins with required, optional or include, not "wanted"'),
                       ("optional", "plugstack.conf line 1: optional wants the file of a plugin"),
                       ("\noptional 'x.so", "plugstack.conf line 2: a quote is not closed"),
                       ("include plugstack.conf", "too many files include each other"),
                       (f"required {ROOT}/README.md", "cannot be loaded")):
        site.stack(text)
        error = c.refused("srun", "true")
        assert error.startswith("srun: error: ") and error.count("\n") == 1 and said in error, error
    source = c.dir / "nothing.c"
    source.write_text("int nothing = 1;\n")
    site.stack(f"required {build(source)}")
    assert c.refused("srun", "true").endswith("does not declare itself as a plugin (SPANK_PLUGIN)\n")
    source = c.dir / "double.c"
    source.write_text("""#include <slurm/spank.h>
        SPANK_PLUGIN(twice, 1)
        struct spank_option spank_options[] = {
            { (char *)"nodes", NULL, (char *)"mine", 1, 0, NULL },
            { (char *)"own", NULL, (char *)"own", 2, 0, NULL }, SPANK_OPTIONS_TABLE_END };
        int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
        {
            char *text = (char *)"";
            int r = spank_option_getopt(sp, &spank_options[1], &text);

            if (r == ESPANK_SUCCESS)
                slurm_spank_log("own %s %d", text ? text : "-", spank_remote(sp));
            return spank_option_register(sp, &spank_options[1]) == ESPANK_NOT_AVAIL ? 0 : -1;
        }
        """)
    site.stack(f"required {build(source)}")
    clash = "srun: error: plugin twice: there is an option --nodes already\n"
    assert c.run("srun", "true").err == clash
    assert "own - 0\nown - 1\n" in c.run("srun", "--own", "true").err.replace(clash, "")
    assert "own x 0\nown x 1\n" in c.run("srun", "--own=x", "true").err.replace(clash, "")
