"""More random commands: heterogeneous jobs, throttled arrays, dependencies of every kind, scripts with steps, limits of TRES,
typed GRES, licences, operators of features, dumps of accounts, and the questions that the other tables leave out."""

# Parts of --dependency: kinds with jobs, with delays, with tasks, and what joins them.
DEPENDENCY_KINDS = ("after", "afterany", "afterok", "afternotok", "aftercorr", "afterburstbuffer", "expand", "AFTEROK", "before", "")
LIMITED = {
    "-n": ("1", "2", "4"), "-N": ("1", "2", "1-3"), "-c": ("1", "2"), "--mem=": ("10", "200", "1500"), "--ntasks-per-node=": ("1", "2"),
    "--exclusive": ("", "=user", "=mcs", "=exclusive", "=x", "=user"), "-s": ("",), "-O": ("",), "--spread-job": ("",),
    "--use-min-nodes": ("",), "--contiguous": ("",), "-m": ("block", "cyclic", "plane=2"), "--mincpus=": ("1", "2"),
    "-w": ("n1", "n[1-2]", "n4"), "-x": ("n1", "n[2-3]"), "-p": ("main", "other"), "-t": ("5", "90", "2-0"), "-q": ("high", "low"),
    "-A": ("physics", "chem"),
}
FEATURES = ("f1&f2", "f1|f2", "[f1|f2]", "[f1*1&f2*1]", "[f1*2&f2*1]", "f1*2&f2", "f1*2", "[f1*5]", "(f1|f2)&f1", "f1&(f2|f1)", "f1,f2",
            "[f1|f2", "f1|", "&f1", "f1&&f2", "f1*x", "f1*0", "[f1&f2]", "(f1", "f1)", "f1|nosuch", "[f1|nosuch]", "f1&nosuch", "[]", "!f1",
            "f1 & f2", "[f1*1&f2*2]", "f1|f2|f1", "F1", "f1*1|f2*1", "f1=1", "f-1", "[(f1|f2)*1&f2*1]")
LICENCES = ("lic:1", "lic:2,lic2:1", "lic:4", "lic2:2", "lic:1,lic:2", "lic2:3", "lic:0", "lic:-1", "lic=1", "lic:1:2", "lic,lic2", ",lic",
            "lic:1,", "lic:1;lic2:1", "lic:1|lic2:1", "LIC:1", "lic:4294967296", "nosuch:0")
TYPED = ("tool", "tool:1", "tool:a", "tool:a:1", "tool:b:2", "tool:a:3", "tool:a:1,tool:b:1", "tool:c:1", "tool:3", "tool:5", "gpu:1",
    "gpu:2",
         "gpu:3", "gpu:1,tool:1", "tool:a:0", "tool:0", "tool:1,tool:1", "tool:a:1,tool:1", "gpu:x:1", "tool:1K", "tool:-1", "tool:", ":1",
         "gres:tool:1", "gres/tool:1", "gres/tool=1", "tool=1", "none", "tool:a:x", "none,tool:1")
TRES_LIMITS = ("cpu=1", "cpu=2,mem=300", "mem=1G", "node=1", "gres/gpu=1", "license/lic=1", "billing=2", "cpu=0", "cpu=-1,mem=-1,node=-1",
               "license/lic=-1", "cpu=4,node=2,mem=800", "mem=150M", "cpu=1K", "energy=5", "cpu", "=1", "cpu=1,cpu=2", "gres/nosuch=1",
               "license/nosuch=1", "fs/disk=1", "cpu:2", "node=x", "pages=1", "1=3", "2=500", "cpu=1,x=2")
TRES_KEYS = {
    "qos": ("GrpTRES", "MaxTRES", "MaxTRESPerJob", "MaxTRESPerUser", "MaxTRESPerAccount", "MaxTRESPerNode", "MinTRESPerJob", "GrpTRESMins",
            "MaxTRESMins", "MaxTRESMinsPerJob", "GrpTRESRunMins", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA", "MaxTRESPU", "MaxTRESPA"),
    "account": ("GrpTRES", "MaxTRES", "MaxTRESPerJob", "MaxTRESPerNode", "GrpTRESMins", "MaxTRESMins", "GrpTRESRunMins",
        "MaxTRESMinsPerJob"),
}
TRES_KEYS["user"] = TRES_KEYS["account"]
NUMBER_KEYS = {
    "qos": ("GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs", "GrpWall", "MaxJobsPerUser", "MaxJobsPerAccount", "MaxSubmitJobsPerUser",
        "MaxWall",
            "MaxSubmitJobsPerAccount", "MaxWallDurationPerJob", "MinPrioThresh", "MinPrioThreshold", "Priority", "GraceTime", "UsageFactor",
            "MaxJobsAccruePerUser", "MaxJobsAccruePerAccount", "PreemptExemptTime", "UsageThreshold", "LimitFactor"),
    "account": ("GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs", "GrpWall", "MaxJobs", "MaxJobsAccrue", "MaxSubmitJobs", "MaxWall", "Priority",
                "MinPrioThresh", "Fairshare"),
}
NUMBER_KEYS["user"] = NUMBER_KEYS["account"]
NUMBERS = ("0", "1", "2", "5", "-1", "-1", "100", "1:00", "x", "", "1.5", "4294967294", "4294967296", "-2", "2x")
WHERE = {
    "user": ("name=alice", "account=physics", "user=alice,bob account=physics", "cluster=bench user=carol", "user=nosuch",
        "adminlevel=None",
             "defaultaccount=physics", "user=bob account=chem", "user=alice cluster=nosuch", "user=alice partition=main", "account=nosuch",
             "user=alice qos=high", "fairshare=1"),
    "account": ("name=physics", "account=chem", "name=physics,chem", "cluster=bench", "parent=science", "organization=x", "name=nosuch",
                "description=chem", "account=physics cluster=nosuch", "account=physics user=alice"),
    "qos": ("name=high", "name=high,low", "id=1", "name=nosuch", "preemptmode=cluster", "flags=x", "description=high"),
}
PART_KEYS = {
    "AllocNodes": ("n1", "ALL", "n9", ""), "AllowAccounts": ("", "physics,chem", "+physics", "nosuch,physics"), "AllowQos": ("", "low",
        "nosuch",
    "high,low"), "DenyAccounts": ("nosuch", "physics,chem", "ALL"), "DenyQos": ("high,nosuch", "nosuch"), "AllowGroups": ("",
        "research,root"),
    "Nodes": ("n3", "n[1-4]", "n1,n1", "+n3", "-n1", "n[", "(null)"), "MaxCPUsPerNode": ("0", "4294967296", "-1"), "MinNodes": ("0", "9",
        "-1"),
    "MaxNodes": ("0", "9", "INFINITE", "-1"), "DefaultTime": ("UNLIMITED", "0", "2-0", "1:2", "-1"), "MaxTime": ("1:2:3", "INFINITE", "-1"),
    "OverTimeLimit": ("0", "-1", "70000"), "GraceTime": ("0", "-1", "1-0"), "PriorityTier": ("0", "65533", "65536", "-1"), "LLN": ("x",
        "0"),
    "PriorityJobFactor": ("0", "65536", "-1"), "Priority": ("3", "x"), "OverSubscribe": ("YES:0", "YES:2", "FORCE:x", "EXCLUSIVE", "", "x"),
    "PreemptMode": ("SUSPEND", "GANG", "CANCEL", "REQUEUE,GANG", ""), "QOS": ("", "low"), "TRESBillingWeights": ("CPU=1,Mem=0.25G", "",
        "cpu",
    "Nosuch=1"), "JobDefaults": ("DefMemPerGPU=10", "", "DefCpuPerGPU=x"), "Alternate": ("", "other"), "State": ("up", "Dow", "INACT", ""),
    "DefMemPerCPU": ("0", "UNLIMITED", "-1"), "MaxMemPerCPU": ("0", "UNLIMITED"), "MaxMemPerNode": ("UNLIMITED", "0"), "ReqResv": ("x",
        "1"),
    "CpuBind": ("thread", "off", "socket"), "DefMemPerNode": ("0", "x"), "Hidden": ("1", "y"), "Default": ("1", "yes"), "RootOnly": ("0",
        "y"),
    "DisableRootJobs": ("x", "yes"), "PartitionName": ("x",), "SelectTypeParameters": ("CR_Core", "NONE"), "SuspendTime": ("5", "INFINITE",
        "x"),
    "SuspendTimeout": ("5", "x"), "ResumeTimeout": ("5", "x"), "ExclusiveUser": ("1", "y"), "TotalNodes": ("1",),
}
NODE_KEYS = {
    "State": ("POWER_DOWN", "POWER_UP", "POWER_DOWN_ASAP", "POWER_DOWN_FORCE", "FAILING", "NoResp", "cancel_reboot", "resu", "UNKNOWN",
              "ALLOC", "drai", "reboot", "maint", ""),
    "Reason": ("", "a=b", "'x  y'"), "Weight": ("0", "65536", "4294967296", "-1", ""), "Features": ("f1", ""), "AvailableFeatures": ("+f7",
        "-f1",
    "f1,f1", "f7&f8"), "ActiveFeatures": ("", "f1,f9"), "ResumeAfter": ("5", "x", "UNLIMITED"), "NodeHostName": ("localhost",), "Gres": ("",
        "x"),
    "NodeAddr": ("n[1-2]", ""), "CpuBind": ("off", "thread", ""), "Comment": ("'a b'", "x=y"), "Extra": ("a=b,c=d", ""), "CPUs": ("2",),
    "RealMemory": ("100",), "Port": ("7",), "BurstBuffer": ("x",),
}
RESV_KEYS = {
    "Flags": ("MAINT,OVERLAP", "REPLACE_DOWN", "DAILY,WEEKLY", "ANY", "MAGNETIC", "USER_DELETE", "NO_HOLD_JOBS", "PURGE_COMP",
        "PURGE_COMP=x",
              "WEEKEND", "+MAINT", "-MAINT", "", "REPLACE,STATIC", "ALL_NODES", "LICENSE_ONLY", "maint", "SKIP", "FORCE_START"),
    "EndTime": ("now+2hours", "2010-01-01", ""), "StartTime": ("now+10minutes", "tomorrow", "now-1hour", ""), "Duration": ("1-0",
        "UNLIMITED", "-5",
    "1:30"), "NodeCnt": ("0", "2,1", "-1", "1k"), "CoreCnt": ("0", "1,1", "-1"), "Nodes": ("", "n[2-3]", "n1,n1", "ALL"), "Licenses": ("",
        "lic:2,lic2:1",
    "lic:-1"), "Users": ("", "alice,nosuch", "+bob", "-alice", "bob,-alice"), "Accounts": ("", "physics,chem", "-physics", "+chem",
        "nosuch,physics"),
    "Groups": ("", "-research"), "PartitionName": ("", "closed"), "Features": ("", "f1|f2", "[f1*1&f2*1]", "f1*2"), "BurstBuffer": ("x",),
    "Watts": ("5", "x"), "MaxStartDelay": ("1:00", "-1", ""), "TRES": ("cpu=2,node=1", "license/lic=1", "mem=1G", ""), "Skip": ("",),
    "Comment": ("c",), "Users+": ("nosuch", ""), "Users-": ("nosuch", "root"), "Nodes+": ("n9", "n1"), "Nodes-": ("n9", "n4"),
        "EndTime+": ("10",),
    "StartTime+": ("10",), "Duration-": ("10", "x"), "Licenses+": ("lic:1",), "Accounts-": ("physics",), "PurgeComp": ("5",),
}
RESERVED_FOR = ("users=alice", "users=alice,bob", "accounts=physics", "users=root", "groups=research")
RESERVED = ("nodes=n1", "nodes=n[1-2]", "nodecnt=1", "nodecnt=2", "corecnt=2", "nodes=ALL")
SCRIPTED = ("srun {step} {run}", "srun {step} {run}; srun {step} {run}; srun {step} {run}", "srun {step} {run} & srun {step} {run} & wait",
            "srun -n1 {run}; exit 4", "srun {step} {run} || echo failed \\$?", "squeue -h -s -j \\$SLURM_JOB_ID -o %i | wc -l",
            "srun -J one true; srun -J two false; squeue -h -j \\$SLURM_JOB_ID -O state", "srun -l {step} hostname | wc -l",
            "env | grep -c SLURM_JOB_ID",
            "echo \\$SLURM_NTASKS \\$SLURM_NNODES \\$SLURM_CPUS_PER_TASK \\$SLURM_ARRAY_TASK_ID \\$SLURM_JOB_QOS",
            "srun bash -c \"exit 3\"; srun bash -c \"kill -9 \\\\\\$\\\\\\$\"; true",
            "scontrol show job \\$SLURM_JOB_ID | grep -c JobState=RUNNING")
WINDOWS = ("-S now-1hour", "-S now-1hour -E now", "-S now-1hour -E now+1hour", "-S now-5minutes -s R", "-s R", "-s PD -S now-1hour",
           "-s CD -S now-1hour -E now", "-s CA,F,TO -S now-1hour -E now", "-S midnight", "-S today", "-E now-1hour", "-S 00:00", "-S 2010",
           "-S 01/01/10", "-S now -E now-1hour", "-s NF -S now-1hour -E now", "-s RQ,RS -S now-1hour", "-s running,x", "-s 3",
           "-S noon -E x",
           "-s S -S now-1hour", "-s OOM -S now-1hour -E now", "-s CD,CD -S now-1hour -E now", "-s ''", "-S ''", "-s cd -S now-1hour -E now",
           "-S now-1hour -D", "-S now-1hour -D -s F -E now", "-S now-1weeks", "-S -1hour", "-S tomorrow", "-E now+1x")
DEP_SHAPES = ("{a}", "{a}", "{a},{b}", "{a}?{b}", "{a},{b}?{a}", "{a},{a}", "{a},", "{a}:", "?{a}")


class More:
    """A part of a World."""

    def words(self, table, least, most):
        options = self.rng.sample(sorted(table), self.rng.randint(least, most))
        return " ".join(o + (v if o.startswith("--") else f" {v}" if v else "") for o in options for v in [self.pick(table[o])])

    def program(self):
        return self.pick(("sleep 600", "sleep 600", "sleep 600", "true", "exit 3"))

    def het_job(self):
        """Components with placements of their own, by sbatch, salloc and srun, and what names a component afterwards."""
        parts = " : ".join(self.words({k: LIMITED[k] for k in ("-n", "-N", "-c", "--mem=", "-p", "-w", "--exclusive", "-t")}, 0, 2)
                           for _ in range(self.pick((2, 2, 3, 4))))
        how = self.pick(("sbatch", "sbatch", "sbatch", "salloc", "srun", "script"))
        if how == "sbatch":
            self.jobs += 1
            return f"sbatch -o /dev/null {parts} --wrap '{self.program()}'"
        if how == "script":
            self.jobs += 1
            lines = f"\\n#SBATCH {self.pick(('hetjob', 'packjob', 'hetjob x'))}\\n".join(f"#SBATCH {p}".strip() for p in parts.split(" : "))
            return f'printf "#!/bin/sh\\n{lines}\\nsleep 600\\n" | sbatch -o /dev/null'
        if how == "srun":
            return f"srun -I5 {parts} {self.pick(('true', 'echo hello', 'false'))}"
        inner = self.pick(("srun --het-group=0 echo zero", "srun --het-group=0,1 true", "srun --het-group=1 true : --het-group=0 true",
                           "srun --het-group=9 true", "echo $SLURM_HET_SIZE $SLURM_JOB_NUM_NODES_HET_GROUP_1", "srun true", "true",
                           "echo $SLURM_NTASKS_HET_GROUP_0 $SLURM_JOB_PARTITION_HET_GROUP_1 $SLURM_CPUS_PER_TASK_HET_GROUP_0"))
        return f"salloc -I5 -Q {parts} bash -c '{inner}'"

    def component(self):
        return self.job() + self.pick(("+0", "+1", "+1", "+2", "+9", "+x", "+"))

    def on_component(self):
        one = self.component()
        return self.pick((f"scontrol show job {one} | grep -c JobId=", f"scancel {one}", f"scontrol hold {one}", f"scontrol release {one}",
                          f"scontrol update job={one} comment=c", f"scontrol update job={one} timelimit=5",
                          f"squeue -h -j {one} -o '%i %T'",
                          f"sacct -nXP -j {one} -o jobid,state", f"scontrol requeue {one}", f"scontrol suspend {one}",
                          f"squeue -h -S i -o '%i %j %D'",
                          f"scontrol update job={one} numnodes=2", f"sprio -h -j {one} -o %i", f"scontrol write batch_script {one} -",
                          f"srun --jobid={one} -I1 true",
                          f"sbatch -o /dev/null -H -d afterany:{one} --wrap true") [: None if self.jobs else 3])

    def array(self):
        """Arrays with throttles, and their tasks named in every way."""
        if not self.jobs or self.rng.random() < 0.35:
            self.jobs += 1
            which = self.pick(("1-3%1", "0-5%2", "1-4%9", "1,3,5%1", "0-6:3", "1-2%x", "1-3%", "%1", "1-3%0", "0-0", "1-3%-1", "2-1",
            "1--3", "1-4:0",
                               "1-4:x", "01-03", "1-3,2-4", "1000", "1001", "0-1000", "1-3%1,5", "1-3 %1", "[1-3]"))
            return f"sbatch -o /dev/null {self.pick(('', '-H ', '-d singleton '))}-a '{which}' --wrap '{self.program()}'"
        job = f"${{J{self.rng.randint(1, self.jobs)}}}"
        tasks = job + self.pick(("_1", "_[1-2]", "_[1,3]", "_2", "_[1-9]", "_[0-4:2]", "_*", "_[3-1]", "_x", "_[", "_", "_[1-2]%1",
        "_[1-2,x]", "_1-2"))
        return self.pick((f"scancel {tasks}", f"scontrol hold {tasks}", f"scontrol release {tasks}", f"scontrol requeue {tasks}",
                          f"scontrol suspend {tasks}", f"scontrol update job={tasks} timelimit=5", f"scontrol update job={tasks} comment=c",
                          f"scontrol update job={job} arraytaskthrottle={self.pick(('0', '1', '2', 'x', '-1', '', '1.5'))}",
                          f"scontrol update job={tasks} arraytaskthrottle=1", f"scontrol update job={tasks} partition=other",
                          f"scontrol update job={tasks} dependency=afterany:{self.job()}", f"squeue -h -S i -j {tasks} -o '%i %T %r'",
                          f"squeue -h -r -S i -j {job} -o '%i %T'", f"scontrol show job {tasks} | grep -E 'JobId|JobState'",
                          f"sacct -nXP -j {tasks} -o jobid,state", f"scontrol update job={tasks} priority=5", f"scontrol uhold {tasks}",
                          f"scontrol update job={tasks} name=n nice=3", f"sprio -h -j {tasks} -o %i", f"scontrol top {tasks}"))

    def dependency_part(self):
        kind = self.pick(DEPENDENCY_KINDS)
        if self.rng.random() < 0.12:
            return self.pick(("singleton", "singleton:1", "SINGLETON", kind, f"{kind}:", f"{kind}:x"))
        ids = ":".join(self.job() + (self.pick(("", "", "+5", "+0", "+x", "+-1")) if kind == "after" else "") for _ in range(self.pick((1,
        1, 2))))
        return f"{kind}:{ids}"

    def depends(self):
        word = self.pick(DEP_SHAPES).format(a=self.dependency_part(), b=self.dependency_part())
        if self.rng.random() < 0.35 and self.jobs:
            return self.pick((f"scontrol update job={self.job()} dependency='{word}'", f"squeue -h -S i -o '%i %E %r'",
                              f"scontrol show job {self.job()} | grep -E 'Dependency|JobState'"))
        self.jobs += 1
        more = self.pick(("", "", "--kill-on-invalid-dep=yes ", "-a 1-3 ", "-H "))
        return f"sbatch -o /dev/null {more}-d '{word}' --wrap '{self.program()}'"

    def placed(self):
        """Where a job lands and what it takes there."""
        more = self.pick((f"-C '{self.pick(FEATURES)}'", f"-C '{self.pick(FEATURES)}'", f"-L '{self.pick(LICENCES)}'",
        f"--gres='{self.pick(TYPED)}'",
                          f"--gres='{self.pick(TYPED)}'", f"--prefer='{self.pick(FEATURES)}'", "",
                          f"--{self.pick(('gpus', 'gpus-per-node', 'gpus-per-task', 'gpus-per-socket'))}={self.pick(('1', '2', '4', '5', 'x:1', '0'))}",
                          f"--{self.pick(('tres-per-task', 'gres-flags', 'ntasks-per-gpu'))}={self.pick(('1', 'gres:tool:1', 'enforce-binding', 'cpu=2'))}"))
        words = f"{self.words(LIMITED, 0, 3)} {more}".strip()
        if self.rng.random() < 0.2:
            return f"{self.pick(('salloc -I1 -Q', 'srun -I1'))} {words} {self.pick(('true', 'echo x'))}"
        self.jobs += 1
        return f"sbatch -o /dev/null {words} --wrap '{self.program()}'"

    def placed_at(self):
        job = self.job()
        return self.pick((f"scontrol -d show job {job} | grep -E 'NumNodes|TRES|Tres|Licenses|Features|OverSubscribe|GRES'",
                          f"squeue -h -S i -j {job} -O numnodes,numcpus,minmemory,licenses,feature,oversubscribe,tres-per-node,tres-alloc:60",
                          "scontrol show lic | grep -E 'Name|Total'", "scontrol -o show lic",
                          "scontrol -o show node | grep -o 'AllocTRES=.*'",
                          "scontrol -d show node n1 | grep -E 'Gres|TRES'", "sinfo -h -N -O nodelist,gres,gresused,allocmem,cpusstate",
                          f"scontrol update job={job} features='{self.pick(FEATURES)}'",
                          f"scontrol update job={job} licenses='{self.pick(LICENCES)}'",
                          f"scontrol update job={job} gres='{self.pick(TYPED)}'",
                          f"scontrol update job={job} trespernode='gres:{self.pick(TYPED)}'",
                          f"sacct -nXP -j {job} -o alloctres,reqtres,constraints", f"scontrol update job={job} oversubscribe=exclusive",
                          f"scontrol show job {job} | grep -o 'TresPer.*\\|CpusPerTres.*'", "sinfo -h -o '%f %b %G' -N | sort | uniq -c"))

    def limits(self):
        """Limits of TRES and numbers, set by what stands behind where or by names, and asked for."""
        entity = self.pick(("qos", "account", "user"))
        sets = " ".join(f"{self.spelling(k)}={self.pick(v)}" for k, v in (
            (self.pick(TRES_KEYS[entity]), TRES_LIMITS), (self.pick(NUMBER_KEYS[entity]), NUMBERS))[self.pick((0, 1)):][:self.pick((1, 2))])
        where = self.pick((f"where {self.pick(WHERE[entity])}", f"where {self.pick(WHERE[entity])}", self.pick(WHERE[entity]),
                           {"qos": "high", "account": "physics", "user": "alice"}[entity]))
        return self.pick((f"sacctmgr -i modify {entity} {where} set {sets}",
        f"sacctmgr -i modify {entity} set {sets} where {self.pick(WHERE[entity])}"))

    def limit_taken_back(self):
        entity = self.pick(("qos", "account", "user"))
        name = {"qos": "high", "account": "physics", "user": "alice"}[entity]
        tres = " ".join(f"{k}=cpu=-1,mem=-1,node=-1,billing=-1,license/lic=-1" for k in self.rng.sample(TRES_KEYS[entity][:4], 2))
        return f"sacctmgr -i modify {entity} {name} set {tres} {self.pick(NUMBER_KEYS[entity])}=-1"

    def dump(self):
        lines = self.pick(("Cluster - 'bench'\\nParent - 'root'\\nAccount - 'new':Description='d':Organization='o'\\nParent - 'new'\\nUser - 'alice'\\n",
                           "Cluster - bench:MaxJobs=9\\nParent - root\\nAccount - science:Fairshare=5\\n",
                           "Cluster - 'nosuch'\\nParent - 'root'\\n",
                           "# words\\nCluster - 'bench'\\nParent - 'nosuch'\\nUser - 'alice'\\n", "Parent - 'root'\\n", "x\\n", "",
                           "Cluster - 'bench'\\nUser - 'x'\\n",
                           "Cluster - 'bench'\\nParent - 'physics'\\nUser - 'alice':Fairshare=7:MaxJobs=3:QOS='normal,high'\\n",
                           "Cluster - 'bench'\\nParent - 'physics'\\nUser - 'dave':DefaultAccount='physics':AdminLevel='Operator':NoSuch=1\\n",
                           "Cluster - 'bench'\\nParent - 'chem'\\nUser - 'carol':Coordinator='chem':MaxTRES=cpu=2\\n"))
        return self.pick((f"f=$(mktemp); printf \"{lines}\" >$f; sacctmgr -i load file=$f{self.pick(('', '', ' clean', ' cluster=nosuch', ' x'))} "
                          "| sed \"s#$f#FILE#\"; rm -f $f",
                          "f=$(mktemp -u).cfg; sacctmgr dump bench file=$f >/dev/null; sed '/^#/d' $f; rm -f $f",
                          "sacctmgr dump bench file=/nosuch/x", "sacctmgr dump nosuch file=/dev/null", "sacctmgr dump", "sacctmgr -i load",
                          "sacctmgr -i load file=/nosuch", "sacctmgr dump x y"))

    def scripted(self):
        """A batch script with steps, waited for; what it wrote, and what accounting has of it."""
        text = self.pick(SCRIPTED)
        while "{step}" in text:
            text = text.replace("{step}", self.pick(("-n1", "-n2", "-N1", "-n1 --exact", "--overlap -n1", "-n1 -c2", "-n3", "-w n1 -n1",
            "--mem=10")), 1)
        while "{run}" in text:
            text = text.replace("{run}", self.pick(("true", "false", "echo hello", "nosuch-program", "hostname", "sleep 0.1")), 1)
        words = self.words({k: LIMITED[k] for k in ("-n", "-N", "-c", "--exclusive", "-p", "-q")}, 0, 2)
        after = self.pick(("", "",
        "; sacct -nP -j $(squeue -h -t all --me -S -i -o %A | head -1) -o jobname,state,exitcode,ntasks,alloccpus"))
        return f"f=$(mktemp); timeout 12 sbatch -W -Q -o $f {words} --wrap \"{text}\"; echo $?; sort $f | sed 's/^n[1-4]$/NODE/'; rm -f $f{after}"

    def held_allocation(self):
        """salloc without a shell, steps into it from outside, and its end."""
        steps = "; ".join(f"srun --jobid=$id {self.pick(('', '-n1 ', '-n2 ', '-N1 ', '--overlap ', '--exact -n1 ', '-n9 ', '-w n9 '))}"
                          f"{self.pick(('true', 'echo hello', 'false', 'nosuch-program'))}" for _ in range(self.pick((1, 2))))
        end = self.pick(("scancel $id", "scancel -Q $id; squeue -h -j $id -o %T", "scontrol update job=$id timelimit=+5; scancel $id",
                         "scontrol show step $id | grep -c StepId; scancel $id", "scancel $id.0; scancel $id"))
        return (f"salloc -I2 -Q --no-shell -J held {self.words({k: LIMITED[k] for k in ('-n', '-N', '-c', '--exclusive', '-p')}, 0, 2)} || exit; "
                f"id=$(squeue -h -n held -u $USER -t R -S -i -o %A | head -1); {steps}; {end}")

    def windows(self):
        fields = self.pick(("jobid,jobname,state,exitcode", "jobid,user,partition,state", "jobid,state,reason,flags",
        "jobid,submitline,state",
                            "jobid,priority,timelimit,state", "jobid,nnodes,alloccpus,reqmem", "jobid,eligible,start,end"))
        return f"sacct {self.pick(('-nXP', '-nX', '-XP', '-nXp'))} {self.pick(('', '-a', '-u alice', '-a'))} {self.pick(WINDOWS)} -o {fields}"

    def every_key(self):
        """Every documented key of partitions, nodes and reservations, with values at the edge."""
        what = self.pick(("partition", "node", "reservation"))
        if what == "partition":
            return f"scontrol update partition={self.pick(('main', 'other', 'other', 'new1', *self.parts))} {self.assignments(PART_KEYS, 1, 2)}"
        if what == "node":
            return f"scontrol update node={self.pick(('n1', 'n2', 'n4', 'n[3-4]'))} {self.assignments(NODE_KEYS, 1, 2)}"
        if self.rng.random() < 0.4:
            self.resvs.append("r3")
            return (f"scontrol create reservation{self.pick(('name=r3', '=r3', '', 'name=r3'))} starttime=now+2hours duration=30 "
                    f"{self.pick(('users=alice', 'accounts=physics', 'users=root'))} {self.pick(('nodes=n3', 'nodecnt=1', 'nodes=ALL', 'corecnt=2'))} "
                    f"{self.pick(('', self.assignments({k: RESV_KEYS[k] for k in ('Flags', 'Features', 'Licenses', 'PartitionName', 'Comment')}, 1, 1)))}")
        return f"scontrol update reservation={self.pick(['r3', 'r1', *self.resvs])} {self.assignments(RESV_KEYS, 1, 2)}"

    def rest_of_questions(self):
        job = self.job()
        return self.pick((
            "sdiag -r", "sdiag --reset", "sdiag | head -1", "sdiag -i | head -1", "sdiag -t | head -1", "sdiag -M nosuch", "sdiag -r x",
            "sdiag -a | wc -l",
            f"sstat -n -P -j {job} -o {self.pick(('jobid', 'jobid,ntasks', 'avecpu', 'nosuch', 'jobid%5,ntasks%3', 'maxrss,maxrssnode'))}",
            f"sstat -a -P -j {job} -o jobid", f"sstat -i -j {job}", f"sstat -j {job}.0,{job}.batch -n -o jobid", "sstat -e | head -1",
            "sstat -V | cut -c1-5",
            f"sprio -h -S i -o '%{self.pick('iurFAPJQNTY')} %{self.pick('iuFAPJQ')}' -j {job}", "sprio -n -h -S i -o '%i %F'",
            "sprio -w -o '%A %F %J %P %Q %T'",
            "sprio -h -S i -o '%5i %.8u %10r'", "sprio -l -w -h | wc -w", "sprio -V | cut -c1-5", "sprio -u alice,bob -h -S i -o '%i %u'",
            "sshare -n -P -o account,user,rawshares", "sshare -n -P -a -o account%5,user%3",
            "sshare -P -A physics,chem -o account,user,rawshares",
            "sshare -n -P -o grptresmins,tresrunmins | head -1", "sshare -p -n -U -o user", "sshare -n -a -u alice -P -o user,partition",
            f"scontrol -o show {self.pick(('partition', 'reservation', 'lic', 'topology', 'federation', 'burstbuffer', 'powercap', 'frontend', 'bbstat'))}",
            f"scontrol show {self.pick(('daemons', 'federation', 'burst', 'dwstat', 'topo', 'topology n1', 'frontend x', 'config x', 'hostnames n[1-2]b'))}",
            f"scontrol -o show job {job} | tr ' ' '\\n' | grep -E '^(JobState|Reason|NumNodes|NumCPUs|NumTasks|Nice|Priority)='",
            "scontrol -o show step | wc -l", "scontrol -o show node n1 | tr ' ' '\\n' | grep -E '^(State|Weight|Gres|Partitions|Reason)='",
            "scontrol -a show partition closed -o", "scontrol show partition other,main -o | wc -l", "scontrol -d -o show node n9",
            "scontrol -o show assoc_mgr users=alice flags=users | head -2 | cut -c1-40",
            "scontrol show assoc_mgr flags=qos qos=high | grep -E 'MaxWall|Priority='",
            "strigger --set -a 2>&1 | head -2", f"strigger --set --jobid={job} --time --offset=60 --program=/bin/true", "strigger --get -n",
            "strigger --set --idle --program=/nosuch", "strigger --set -u --node=n1 --program=/bin/true", f"strigger --clear --jobid={job}",
            f"strigger --set --fini --program=/bin/true -j {job} --flags=perm",
            "strigger --set --primary_slurmctld_failure --program=/bin/true",
            "strigger --get --flags=x", "strigger --clear --user=alice", "strigger --set --node=n9 --down --program=/bin/true",
            "strigger --get -v -n",
            "strigger --set --reconfig --program=relative", "strigger --set --drained --offset=x --program=/bin/true",
            "strigger --get --id=1",
            f"sreport {self.pick(('cluster AccountUtilizationByUser', 'cluster UserUtilizationByAccount', 'user TopUsage', 'job SizesByAccount'))} "
            f"-n -P {self.pick(('start=midnight', 'start=now-2days end=now', '-T cpu', '-T ALL', '-t minper', '-t hourper', '-t secper', 'start=2010', ''))}",
            f"sreport -n -P {self.pick(('job SizesByAccount grouping=2,4 flatview', 'job SizesByWckey', 'reservation utilization names=r1', 'cluster util -T mem'))}",
            f"sreport {self.pick(('-V', '--version'))} | cut -c1-5", "sreport cluster UserUtilizationByWckey tree -nP",
            "sreport user top topcount=2 -nP group"))

    def reserved(self):
        """A reservation that runs, jobs in it, and what becomes of both; drawn with --kinds reserved=N alone."""
        name = self.pick(("v1", "v1", "v2"))
        if self.rng.random() < 0.25:
            verb, for_whom = self.pick(("create", "create", "update")), self.pick(RESERVED_FOR)
            more = self.pick(("", "", " flags=ignore_jobs", " flags=maint", " flags=flex", " flags=magnetic", " flags=overlap", " licenses=lic:2"))
            return (f"scontrol {verb} reservation={name} starttime=now duration={self.pick(('60', '60', '1'))} {for_whom} "
                    f"{self.pick(RESERVED)}{more}")
        if self.rng.random() < 0.45:
            self.jobs += 1
            names = name + self.pick(("", "", "", ",v2", ",nosuch"))
            return f"sbatch -o /dev/null --reservation={names} {self.words(LIMITED, 0, 2)} --wrap '{self.program()}'"
        job, change = self.job(), self.pick(("users=-alice", "users=+carol", "nodes=n[1-2]", "duration=90", "nodes+=n3"))
        return self.pick((f"srun -I1 --reservation={name} true", f"salloc -I1 -Q --reservation={name} -n 2 srun true",
                          f"scontrol update job={job} reservationname={self.pick((name, '', 'nosuch'))}",
                          f"scontrol delete reservation={name}", f"scontrol update reservation={name} {change}",
                          f"scontrol update reservation={name} {self.assignments(RESV_KEYS, 1, 1)}", f"scancel -R {name}",
                          f"squeue -h -S i -R {name} -o '%i %T %v %r'", "sinfo -h -T", f"scontrol requeue {job}",
                          f"sacct -nXP -j {job} -o jobid,reservation,state", f"scontrol show job {job} | grep -E 'JobState|Reservation'",
                          f"scontrol -o show reservation={name} | grep -o 'Nodes=.*CoreCnt=[0-9]*'", f"scontrol hold {job}",
                          f"scontrol release {job}", "sinfo -h -N -o '%N %T'"))

    MORE_KINDS = (("het_job", 4), ("on_component", 4), ("array", 8), ("depends", 7), ("placed", 9), ("placed_at", 6), ("limits", 7),
                  ("limit_taken_back", 3), ("dump", 2), ("scripted", 3), ("held_allocation", 3), ("windows", 5), ("every_key", 9),
                  ("rest_of_questions", 8))
