"""JobSubmitPlugins: job_submit.lua and the small filters."""
import os
import textwrap

import pytest

from conftest import wait_until

NOTHING = "function slurm_job_submit(d, p, uid) return slurm.SUCCESS end\n"


def write_script(c, text):
    """The script of a cluster, replaced at once as editors do."""
    fresh = c.dir / "etc" / "job_submit.new"
    fresh.write_text(textwrap.dedent(text))
    os.replace(fresh, c.dir / "etc" / "job_submit.lua")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    from conftest import Cluster
    c = Cluster(tmp_path_factory.mktemp("site"), nodes=1,
                conf="JobSubmitPlugins=lua\nPartitionName=long Nodes=ALL MaxTime=2:00:00 PriorityTier=3")
    write_script(c, NOTHING)
    try:
        yield c.start()
    finally:
        problems = c.stop()
    assert not problems, problems


def log_of(c):
    return (c.dir / "log" / "slurmctld.log").read_text()


def test_a_script_gates_expedited_requeue(site):
    text = site.conf.read_text()
    site.write_conf(text + "SlurmctldParameters=enable_expedited_requeue\n")
    write_script(site, """
        function slurm_job_submit(d, parts, uid)
            if d.name == "gated" and d.bitflags & slurm.EXPEDITED_REQUEUE ~= 0 then
                d.bitflags = 0
            elseif d.name == "given" then
                d.bitflags = d.bitflags | slurm.EXPEDITED_REQUEUE
            end
            return slurm.SUCCESS
        end""")
    site.run("scontrol", "reconfigure")
    try:
        gated = site.sbatch("-H", "-J", "gated", "--requeue=expedite", wrap="true")
        given = site.sbatch("-H", "-J", "given", wrap="true")
        assert "ExpeditedRequeue" not in site.job(gated)
        assert (site.job(given)["ExpeditedRequeue"], site.job(given)["Requeue"]) == ("Yes", "1")
        site.run("scancel", gated, given)
    finally:
        site.write_conf(text)
        write_script(site, NOTHING)
        site.run("scontrol", "reconfigure")


def test_a_script_changes_a_job(site):
    write_script(site, """
        function slurm_job_submit(d, parts, uid)
            assert(d.user_id == uid and type(d.user_name) == "string")
            assert(d.time_limit == slurm.NO_VAL and d.num_tasks == slurm.NO_VAL and d.comment == nil)
            assert(d.cpus_per_task == 2, d.cpus_per_task)
            assert(d.pn_min_memory == 100 | slurm.MEM_PER_CPU)
            assert(parts.long.max_time == 120 and parts.main.flag_default == 1 and parts.long.priority_tier == 3)
            assert(d.script:sub(1, 10) == "#!/bin/sh\\n")
            d.time_limit = 7
            d.comment = "by the site"
            d.partition = "long"
            d.nice = slurm.NICE_OFFSET + 33
            d.name = d.name .. "-x"
            d.environment.ADDED = "yes"
            d.environment.GONE = nil
            slurm.log_info("job of %d named %s", uid, d.name)
            slurm.log_user("hello %s", "there")
            slurm.log_user("second line")
            return slurm.SUCCESS
        end""")
    done = site.run("sbatch", "-c2", "--mem-per-cpu=100", "-J", "abc", "--wrap", 'echo "$ADDED ${GONE-none} $LC_ALL"',
                    env={"GONE": "1"})
    assert done.err == "sbatch: hello there\nsbatch: second line\n"
    job = int(done.out.split()[-1])
    row = site.wait_end(job)
    assert (row["TimeLimit"], row["Comment"], row["Partition"], row["JobName"]) == (
        "00:07:00", "by the site", "long", "abc-x")
    assert row["Nice"] == "33"
    assert site.out(job) == "yes none C.UTF-8\n"
    assert "job_submit.lua: job of" in log_of(site)
    quiet = site.run("sbatch", "-Q", "-c2", "--mem-per-cpu=100", "--wrap", "true")
    assert quiet.err == ""


def test_a_script_refuses(site):
    write_script(site, """
        function slurm_job_submit(d, parts, uid)
            if d.account == "gone" then return slurm.ESLURM_INVALID_ACCOUNT end
            slurm.log_user("give a reason\\nfor what you do")
            return slurm.ERROR
        end""")
    before = site.run("scontrol", "-o", "show", "jobs").out.count("JobId=")
    err = site.refused("sbatch", "--wrap", "true")
    assert err == ("sbatch: error: give a reason\nsbatch: error: for what you do\n"
                   "sbatch: error: Batch job submission failed: Unspecified error\n")
    err = site.refused("sbatch", "-A", "gone", "--wrap", "true")
    assert err == ("sbatch: error: Batch job submission failed: "
                   "Invalid account or account/partition combination specified\n")
    err = site.refused("srun", "true")
    assert "srun: error: give a reason\n" in err and err.endswith("Unspecified error\n")
    assert site.run("scontrol", "-o", "show", "jobs").out.count("JobId=") == before


def test_messages_reach_srun_and_salloc(site):
    write_script(site, "function slurm_job_submit(d) slurm.log_user('welcome') return 0 end")
    done = site.run("srun", "echo", "hi")
    assert (done.out, done.err) == ("hi\n", "srun: welcome\n")
    done = site.run("salloc", "true")
    assert done.err.startswith("salloc: welcome\n") and done.err.count("welcome") == 1


def test_the_functions_below_the_friendly_ones(site):
    """user_msg() and log() are what log_user() and log_info() of other sites' scripts are made of."""
    write_script(site, """
        function slurm_job_submit(d)
            slurm.user_msg("no 100% promise")
            slurm.log(0, "plain %s word")
            slurm.log(-1, "least")
            slurm.log(99, "most")
            return slurm.SUCCESS
        end""")
    assert site.run("srun", "true").err == "srun: no 100% promise\n"
    log = log_of(site)
    assert "plain %s word" in log and "least" in log and "most" not in log
    write_script(site, "function slurm_job_submit(d) slurm.log('x', 'y') return 0 end")
    site.refused("sbatch", "--wrap", "true")


def test_a_broken_script_refuses_and_is_mended(site):
    """What is wrong at run time refuses; what does not load leaves the script before it in force."""
    write_script(site, "function slurm_job_submit(d) return d.account .. nothing end")
    err = site.refused("sbatch", "--wrap", "true")
    assert err.startswith("sbatch: error: the site's job_submit.lua failed") and "nil" not in err
    assert "attempt to concatenate a nil value" in log_of(site)
    write_script(site, "function slurm_job_submit(d) d.colour = 1 return 0 end")
    site.refused("sbatch", "--wrap", "true")
    assert "job_desc has no field colour" in log_of(site)
    write_script(site, "function slurm_job_submit(d) d.user_id = 0 return 0 end")
    site.refused("sbatch", "--wrap", "true")
    assert "job_desc.user_id cannot be set" in log_of(site)
    write_script(site, "function slurm_job_submit(d) d.num_tasks = -3 return 0 end")
    site.refused("sbatch", "--wrap", "true")
    assert "num_tasks: -3 is out of range" in log_of(site)
    write_script(site, "function slurm_job_submit(d) d.comment = 'kept' return 0 end")
    site.sbatch(wrap="true")
    write_script(site, "function slurm_job_submit(d return 0 end")
    job = site.sbatch(wrap="true")
    assert site.job(job)["Comment"] == "kept"
    assert "the script that was there before goes on" in log_of(site)


def test_a_script_that_does_not_end_is_broken_off(site):
    write_script(site, "function slurm_job_submit(d) while true do end end")
    err = site.refused("sbatch", "--wrap", "true")
    assert "job_submit.lua failed" in err
    assert "it ran for more than 2000 ms" in log_of(site)
    assert site.up()


def test_a_description_does_not_outlive_its_call(site):
    write_script(site, """
        function slurm_job_submit(d)
            if kept then return kept.name and 0 end
            kept = d
            return 0
        end""")
    site.sbatch(wrap="true")
    site.refused("sbatch", "--wrap", "true")
    assert "this job_desc belongs to an earlier call" in log_of(site)


def test_changes_of_jobs(site):
    write_script(site, """
        function slurm_job_submit(d) return 0 end
        function slurm_job_modify(d, j, parts, uid)
            assert(d.job_id == nil and j.user_id == uid and parts.main)
            if d.time_limit ~= slurm.NO_VAL and d.time_limit > 60 then
                slurm.log_user("not longer than an hour for " .. j.name)
                return slurm.ESLURM_INVALID_TIME_LIMIT
            end
            d.comment = "was " .. tostring(j.comment)
            slurm.log_user("as you like")
            return 0
        end""")
    job = site.sbatch("-H", "-J", "waits", "--comment=c0", "-t", "9", wrap="true")
    done = site.run("scontrol", "update", f"JobId={job}", "TimeLimit=50")
    assert done.err == "scontrol: as you like\n"
    assert site.job(job)["TimeLimit"] == "00:50:00" and site.job(job)["Comment"] == "was c0"
    done = site.run("scontrol", "update", f"JobId={job}", "TimeLimit=90", check=False)
    assert done.rc == 1 and "not longer than an hour for waits" in done.err
    assert site.job(job)["TimeLimit"] == "00:50:00"
    site.run("scancel", job)


def test_what_else_a_script_sees(site):
    write_script(site, "function slurm_job_submit(d) return 0 end")
    first = site.sbatch("-H", "-J", "first", wrap="true")
    write_script(site, """
        function slurm_job_submit(d)
            local n = 0
            for id, job in pairs(slurm.jobs) do
                assert(job.job_id == id)
                n = n + 1
            end
            assert(n >= 1 and slurm.jobs[999999] == nil)
            assert(slurm.jobs[%d].name == "first" and slurm.jobs["%d"].priority == 0)
            assert(slurm.reservations.none == nil)
            for name in pairs(slurm.reservations) do error(name) end
            assert(slurm.get_qos_priority("no such") == nil)
            local seen = {}
            for k, v in pairs(d) do seen[k] = v end
            assert(seen.name == "wrap" and seen.min_nodes == nil)
            assert(d.priority == 0)
            d.priority = nil
            d.array_inx = "0-3"
            return 0
        end""" % (first, first))
    job = site.sbatch("-H", wrap="true")
    wait_until(lambda: site.sacct("-X", "-j", str(job), "-o", "State") == [["COMPLETED"]] * 4, "four tasks")
    site.run("scancel", first)


def test_wrong_configuration(make_cluster):
    c = make_cluster(nodes=1, start=False, conf="JobSubmitPlugins=lua,colours")
    write_script(c, NOTHING)
    done = c.run("slurmctld", "-D", "-f", c.conf, check=False)
    assert done.rc == 1 and "JobSubmitPlugins: there is no colours; there are all_partitions, " in done.err
    c.write_conf(c.conf_text().replace("lua,colours", "lua"))
    (c.dir / "etc" / "job_submit.lua").unlink()
    done = c.run("slurmctld", "-D", "-f", c.conf, check=False)
    assert done.rc == 1 and "job_submit.lua: No such file or directory" in done.err
    write_script(c, "x =")
    done = c.run("slurmctld", "-D", "-f", c.conf, check=False)
    assert done.rc == 1 and "job_submit.lua:1:" in done.err
    write_script(c, NOTHING)
    c.start()
    good = c.conf.read_text()
    c.write_conf(good.replace("JobSubmitPlugins=lua", "JobSubmitPlugins=nope"))
    assert c.run("scontrol", "reconfigure", check=False).rc == 1
    c.sbatch(wrap="true")
    c.write_conf(good.replace("JobSubmitPlugins=lua", "JobSubmitPlugins=require_timelimit"))
    c.run("scontrol", "reconfigure")
    assert "a time limit is required" in c.refused("sbatch", "--wrap", "true")
    c.sbatch("-t", "1", wrap="true")


def test_the_top_level_runs_once(make_cluster):
    c = make_cluster(nodes=1, start=False, conf="JobSubmitPlugins=lua")
    write_script(c, "slurm.log_info('read anew')\n" + NOTHING)
    c.start()
    c.sbatch(wrap="true")
    assert log_of(c).count("read anew") == 1
    c.run("scontrol", "reconfigure")
    c.sbatch(wrap="true")
    assert log_of(c).count("read anew") == 2
    good = c.conf.read_text()  # refused: the script that was checked is not used
    c.write_conf(good.replace("JobSubmitPlugins=lua", "JobSubmitPlugins=lua,nope"))
    assert c.run("scontrol", "reconfigure", check=False).rc == 1
    c.sbatch(wrap="true")
    c.write_conf(good.replace("JobSubmitPlugins=lua", "JobSubmitPlugins=require_timelimit"))
    c.run("scontrol", "reconfigure")
    c.sbatch("-t", "1", wrap="true")


def test_partitions_by_filters(make_cluster):
    c = make_cluster(nodes=1, conf="JobSubmitPlugins=job_submit/partition,logging\n"
                     "PartitionName=quick Nodes=ALL MaxTime=10 PriorityTier=9\n"
                     "PartitionName=shut Nodes=ALL RootOnly=NO State=DRAIN PriorityTier=99")
    assert c.job(c.sbatch("-H", "-t", "5", wrap="true"))["Partition"] == "quick"
    assert c.job(c.sbatch("-H", "-t", "50", wrap="true"))["Partition"] == "main"
    assert c.job(c.sbatch("-H", "-t", "5", "-p", "main", wrap="true"))["Partition"] == "main"
    assert "submission by uid" in log_of(c)
    c.write_conf(c.conf.read_text().replace("job_submit/partition,logging", "all_partitions"))
    c.run("scontrol", "reconfigure")
    assert c.job(c.sbatch("-H", "-t", "5", wrap="true"))["Partition"] == "quick,main"


def test_a_script_sees_the_entries_of_a_crontab(make_cluster):
    """Each entry is a submission; the request that brought them is of another type, and was read as one."""
    c = make_cluster(nodes=1, conf="ScronParameters=enable")
    write_script(c, """
        function slurm_job_submit(d, parts, uid)
            assert(d.script == "#!/bin/sh\\ntrue\\n", d.script)
            assert(d.environment.HOME and d.array_inx == nil)
            d.comment = "of the site"
            return slurm.SUCCESS
        end
        function slurm_job_modify(d, job, parts, uid) return slurm.SUCCESS end""")
    c.extra_conf += "\nJobSubmitPlugins=lua"
    c.write_conf()
    c.restart_ctld()
    c.run("scrontab", "-", input="@yearly true\n", env={"SHELL": "/bin/sh"})
    assert c.run("squeue", "-h", "-o", "%k").out == "of the site\n"
