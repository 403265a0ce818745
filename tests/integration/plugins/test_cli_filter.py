"""CliFilterPlugins: cli_filter.lua and ~/.slurm/defaults."""
import json
import textwrap

import pytest

from conftest import Cluster

NOTHING = """
function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end
function slurm_cli_pre_submit(options, offset) return slurm.SUCCESS end
function slurm_cli_post_submit(offset, job, step) return slurm.SUCCESS end
"""


def write_script(c, text):
    (c.dir / "etc" / "cli_filter.lua").write_text(NOTHING + textwrap.dedent(text))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    c = Cluster(tmp_path_factory.mktemp("site"), nodes=1, conf="CliFilterPlugins=cli_filter/lua,user_defaults")
    c.env["HOME"] = str(c.work)
    (c.work / ".slurm").mkdir()
    write_script(c, "")
    try:
        yield c.start()
    finally:
        problems = c.stop()
    assert not problems, problems


@pytest.fixture
def home(site):
    path = site.work / ".slurm" / "defaults"
    yield path
    path.unlink(missing_ok=True)


def test_defaults_are_the_weakest(site):
    write_script(site, """
        function slurm_cli_setup_defaults(options, early)
            options['job-name'] = "site"
            options.comment = early and "first" or "second"
            options['time'] = 7
            return slurm.SUCCESS
        end""")
    row = site.job(site.sbatch("-H", wrap="true"))
    assert (row["JobName"], row["Comment"], row["TimeLimit"]) == ("site", "second", "00:07:00")
    row = site.job(site.sbatch("-H", "-t3", script="#SBATCH -J script\ntrue", env={"SBATCH_COMMENT": "env"}))
    assert row["JobName"] == "script" and row["TimeLimit"] == "00:03:00"


def test_the_last_word(site):
    write_script(site, """
        function slurm_cli_pre_submit(options, offset)
            local seen = {}
            for k, v in pairs(options) do seen[k] = v end
            assert(seen.wrap == "true" and seen.hold == "set" and options.hold == "set" and seen.time == "5")
            assert(options['no such'] == nil and options.account == nil)
            slurm.cli_store("seen", seen.time)
            options.time = "9"
            options['mail-user'] = nil
            options['requeue'] = true
            slurm.log_info("program %s of %d", slurm.program, offset)
            return slurm.SUCCESS
        end
        function slurm_cli_post_submit(offset, job, step)
            assert(step == slurm.NO_VAL)
            slurm.log_user(("job %d asked for %s"):format(job, slurm.cli_retrieve("seen")))
            return slurm.SUCCESS
        end""")
    done = site.run("sbatch", "-H", "-t", "5", "--mail-user=nobody", "--wrap", "true")
    job = int(done.out.split()[-1])
    assert done.err == f"sbatch: program sbatch of 0\nsbatch: job {job} asked for 5\n"
    row = site.job(job)
    assert row["TimeLimit"] == "00:09:00" and row["Requeue"] == "1" and "MailUser" not in row


def test_refusals(site):
    write_script(site, """
        function slurm_cli_pre_submit(options)
            if options.comment == "nil" then return nothing.here end
            if options.comment == "bad" then options.nodes = "many" end
            if options.comment == "none" then options.colour = "red" end
            if options.comment == "no" then slurm.log_error("say why") return slurm.ERROR end
            return slurm.SUCCESS
        end""")
    end = "error: cli_filter plugin terminated with error\n"
    assert site.refused("sbatch", "--comment=no", "--wrap", "true") == f"sbatch: error: say why\nsbatch: {end}"
    assert site.refused("srun", "--comment=no", "true") == f"srun: error: say why\nsrun: {end}"
    assert site.refused("salloc", "--comment=no", "true") == f"salloc: error: say why\nsalloc: {end}"
    assert "attempt to index a nil value" in site.refused("sbatch", "--comment=nil", "--wrap", "true")
    assert "there is no option colour here" in site.refused("sbatch", "--comment=none", "--wrap", "true")
    assert "many" in site.refused("sbatch", "--comment=bad", "--wrap", "true")
    write_script(site, "x =")
    assert "cli_filter.lua:" in site.refused("sbatch", "--wrap", "true")
    write_script(site, "")
    site.run("srun", "true")


def test_json(site):
    write_script(site, """
        function slurm_cli_pre_submit(options)
            print(slurm.json_cli_options(options))
            print(slurm.json_env())
            return slurm.SUCCESS
        end""")
    done = site.run("sbatch", "-H", "-J", 'a "b"', "--wrap", "true", env={"ODD": 'x"\\\n\ty'})
    first, second, _ = done.out.split("\n", 2)
    assert json.loads(first)["job-name"] == 'a "b"' and json.loads(first)["hold"] == "set"
    assert json.loads(second)["ODD"] == 'x"\\\n\ty'


def test_steps(site):
    write_script(site, """
        function slurm_cli_post_submit(offset, job, step)
            io.stderr:write(("step %d\\n"):format(step))
            return slurm.SUCCESS
        end""")
    assert site.run("srun", "true").err == "step 0\n"


def test_defaults_of_a_user(site, home):
    write_script(site, "")
    home.write_text("# mine\n\n  time = 4\nsalloc:comment=of salloc\nsbatch:comment = of sbatch\n*:test:nice=5\n"
                    "sbatch:elsewhere:account=nobody\nexclusive\nsrun:label\n")
    done = site.run("sbatch", "-H", "--wrap", "true")
    assert done.err == ""
    row = site.job(int(done.out.split()[-1]))
    assert (row["TimeLimit"], row["Comment"], row["Nice"], row["OverSubscribe"]) == ("00:04:00", "of sbatch", "5", "NO")
    assert site.job(site.sbatch("-H", "-t1", wrap="true"))["TimeLimit"] == "00:01:00"
    home.write_text("colour=red\nnodes=many\ntime\n=3\n:::\n")
    done = site.run("sbatch", "-H", "--wrap", "true")
    where = f"sbatch: warning: {home}"
    lines = done.err.splitlines()
    assert lines[0] == f"{where}:1: there is no option colour"
    assert lines[1].startswith(f"{where}:2: ") and "many" in lines[1]
    assert lines[2] == f"{where}:3: time takes a value: time=VALUE"
    assert len(lines) == 4


def test_wrong_configuration(make_cluster):
    c = make_cluster(nodes=1, conf="CliFilterPlugins=syslog")
    assert c.refused("sbatch", "--wrap", "true") == (
        "sbatch: fatal: CliFilterPlugins: there is no syslog; there are lua and user_defaults\n")
    c.write_conf(c.conf_text().replace("=syslog", f"=lua\nCliFilterParameters=cli_filter_lua_path={c.dir}/own.lua"))
    assert f"{c.dir}/own.lua: No such file or directory" in c.refused("sbatch", "--wrap", "true")
    (c.dir / "own.lua").write_text(NOTHING)
    c.sbatch(wrap="true")
