"""Random questions: lists of sacct, sprio, sshare, squeue, sinfo and sacctmgr with fields, widths, orders and filters."""

SACCT_FIELDS = ("account", "admincomment", "alloccpus", "allocnodes", "alloctres", "cluster", "comment", "constraints",
                "container", "derivedexitcode", "exitcode", "gid", "group", "jobid", "jobidraw", "jobname", "ncpus",
                "nnodes", "ntasks", "partition", "priority", "qos", "qosraw", "reqcpufreqmin", "reqcpufreqgov",
                "reqcpus", "reqmem", "reqnodes", "reqtres", "reservation", "reservationid", "state", "timelimit",
                "timelimitraw", "uid", "user", "wckey", "wckeyid", "workdir", )
SACCT_FILTERS = ("-u alice", "-u 2001", "-u nosuch", "-A physics", "-A nosuch", "-r main", "-r other", "-q high", "-q nosuch", "-s PD",
    "-s R",
                 "-s CA,F", "-s pending", "-s x", "-N n1", "-N n[1-2]", "-N n9", "--name one", "--name=wrap,two", "-S now-1hour", "-S x",
                 "-S 2010-01-01 -E 2010-01-02", "-E now", "-E x", "-a", "-L", "-M bench", "-M nosuch", "-T", "--noconvert",
                 "--units=M", "--units=x", "-W w", "-g 2001", "-g nosuch", "-c", "-k 0:10 -K 2:00", "-k x", "-i 1", "-i 2-3", "-I 1",
                 "-x 1", "-R Resources", "--state=CD -E now -S now-1hour", "--uid=root", "-C f1", "--federation",
                 "-h x", "--local", "-n -n", "-o", "--delimiter=", )
SACCT_SHAPES = ("-n", "-P", "-nP", "-p", "-np", "-P --delimiter=;", "", "-n --parsable2")
WIDTHS = ("", "", "", "%8", "%-12", "%20", "%3", "%0", "%x")

SPRIO_LETTERS = "aAfFijJnNopPqQrSTuy"
SSHARE_FIELDS = ("account", "user", "rawshares", "normshares", "partition", "cluster", "nosuch",
                 "acc")
MORE_SQUEUE = ("alloc_nodes", "arraytaskid",                "container", "cpus-per-tres",                "groupid", "hetjobidset",
    "hetjoboffset", "jobid", "mcslabel",
               "mem-per-tres", "minmemory", "mintime", "ntpersocket", "numcpus", "oversubscribe",                "profile", "reboot",
               "reqswitch", "requeue", "schednodes", "sct", "sockets",                "statecompact", "timelimit",
               "tres-bind", "tres-freq", "tres-per-job", "tres-per-node", "tres-per-socket", "tres-per-step", "tres-per-task", "tres-alloc",
               "state", "name", "userid", )
STEP_FIELDS = ("stepid", "stepname", "partition", "username", "nodes", "numtasks", "arrayjobid", "jobid", "cpus-per-tres", "stepstate",
               "timelimit", "tres-per-step", "network", "nosuch", "container", "tres-per-task")
MORE_SINFO = ("allocnodes", "cluster", "nodehost", "socketcorethread", "time",
              "userlong", "maxcpuspernode", "cpusstate", "nodes", "nodeaiot", "gres", "gresused", "oversubscribe",
              "partition", "groups", )

ENTITY_FIELDS = {
    "account": ("account", "description", "organization", "coordinators", "cluster", "parentname", "user", "share", "grpjobs", "qos",
    "nosuch"),
    "user": ("user", "defaultaccount", "adminlevel", "defaultwckey", "coordinators", "cluster", "account", "partition", "share", "qos",
             "defaultqos", "maxjobs", "nosuch"),
    "qos": ("name", "priority", "gracetime", "preempt", "preemptmode", "preemptexempttime", "flags", "usagethres", "usagefactor",
    "limitfactor",
            "grptres", "grptresmins", "grptresrunmins", "grpjobs", "grpjobsaccrue", "grpsubmit", "grpwall", "maxtres", "maxtrespernode",
            "maxtresmins", "maxwall", "maxtrespu", "maxjobspu", "maxjobsaccruepu", "maxsubmitpu", "maxtrespa", "maxjobspa", "maxsubmitpa",
            "mintres", "mintrespj", "nosuch", "description", "id"),
    "assoc": ("cluster", "account", "user", "partition", "share", "priority", "grpjobs", "grptres", "grpsubmit", "grpwall", "grptresmins",
              "maxjobs", "maxtres", "maxtrespernode", "maxsubmit", "maxwall", "maxtresmins", "qos", "defaultqos", "parentname", "parentid",
              "id",
              "lft", "rgt", "grptresrunmins", "grpjobsaccrue", "maxjobsaccrue", "nosuch", "rawqos", "qoslevel", "comment", "flags"),
    "tres": ("type", "name", "id", "nosuch"), "wckey": ("name", "cluster", "user", "id", "nosuch"),
    "coordinator": ("account", "user"), "resource": ("name", "server", "type", "count", "cluster", "percentallowed", "flags", "nosuch"),
    "cluster": ("cluster", "classification", "flags", "federation", "id", "fedstate", "qos", "share", "user", "nosuch"),
    "event": ("cluster", "node", "reason", "state", "user", "nosuch"), "transaction": ("action", "actor", "nosuch"),
    "federation": ("federation", "cluster"),
    "reservation": ("name", "cluster", "assoc"), "nosuch": ("x",),
}
ENTITY_WORDS = ("", "", "withassoc", "wopi", "wopl", "wolimits", "withcoord", "withsubaccounts", "tree", "withdeleted", "onlydefaults",
    "withraw",
                "withclusters", "withoutassoc", "withfed", "rawqos", "wopinfo withassoc", "nosuch")
ENTITY_WHERE = ("", "", "where user=alice", "user=alice,bob", "account=physics", "where account=physics user=alice", "name=high",
    "names=low,high",
                "accounts=chem", "where name=alice", "cluster=bench", "where cluster=nosuch", "parent=science", "user=root", "id=1,2",
                "account=", "users=nosuch", "where", "alice", "physics", "where physics", "high", "description=d", "organization=o",
                "defaultaccount=physics", "adminlevel=operator", "state=down", "all_clusters", "partition=main", "start=2010-01-01")

REPORTS = ("cluster utilization", "cluster accountutilizationbyuser", "cluster userutilizationbyaccount", "cluster userutilizationbywckey",
           "cluster wckeyutilizationbyuser", "job sizesbyaccount", "job sizesbyaccountandwckey", "job sizesbywckey", "user topusage",
           "reservation utilization", "cluster util", "cluster acc", "cluster u", "job s", "user", "cluster", "x topusage", "user x")
REPORT_WORDS = ("", "start=2010-01-01 end=2010-02-01", "start=x", "end=x", "users=alice", "accounts=physics", "nosuch=1", "nosuch",
    "-t hours",
                "-t x", "-t percent", "-P", "-n", "-p", "tree", "cluster=nosuch", "--tres=cpu,mem", "--tres=nosuch", "-T x", "topcount=1",
                "topcount=x", "group", "grouping=1,2", "grouping=x", "flatview", "partitions=main", "format=nosuch", "format=login,used",
                "format=cluster,account%5", "wckeys=w", "gid=2001", "gid=nosuch", "jobs=1", "nodes=n1", "printjobcount", "acctasparent",
                "all_clusters", "-M bench", "-M nosuch", "start=now-1hour", "sort=x", "users=nosuch", "flatview -n -P", "-v", "--local")
SHOWN = ("job", "job {job}", "job {job} -d", "jobs", "step", "step {job}", "step {job}.0", "step {job}.batch", "steps", "node",
    "node n[1-4]",
         "node n9", "node n1,n2", "partition", "partition main", "partition main,other", "partitions", "reservation", "reservation nosuch",
         "licenses", "licenses lic", "licenses nosuch", "lic", "topology", "topology nosuch",
         "assoc_mgr flags=x",
         "assoc_mgr nosuch=1", "hostlist n[1-3],n4", "hostlist n1,n1", "hostnames n[1-2,4]", "hostlistsorted n3,n1",
         "config | head -1 | cut -c1-13", "config nosuch | head -1", "slurmd", "x", "", "nodes", "aliases", "job {job} {job}", "node n1 n2",
         "partition main other", "reservation r1 r2", "licenses lic lic2", "step {job}.0 {job}.1", "node n1 | head -3",
         "assoc_mgr users=nosuch")


class Queries:
    """A part of a World: commands that change nothing."""

    def some(self, values, least, most):
        return self.rng.sample(values, min(len(values), self.rng.randint(least, most)))

    def sacct(self):
        fields = ",".join(f + self.pick(WIDTHS) for f in self.some(SACCT_FIELDS, 1, 5))
        how = self.pick((f"-o {fields}", f"-o {fields}", f"--format={fields}", f"-o jobid -o {fields.split(',')[0]}", f"-o {fields}"))
        jobs = self.pick((f"-j {self.job()}", f"-j {self.job()},{self.job()}", f"-j {self.job()} -X", "-X", "", "-a -X"))
        return f"sacct {self.pick(SACCT_SHAPES)} {jobs} {how} {self.pick(('', '', self.pick(SACCT_FILTERS)))}"

    def sprio(self):
        fmt = " ".join(f"%{self.pick(('', '', '.9', '6', '.2'))}{letter}" for letter in self.some(SPRIO_LETTERS, 1, 4))
        how = self.pick((f'-o "{fmt}"', f'-o "{fmt}"', "", "-l", "-n", "-w", "-nw"))
        rest = self.pick(("", "-h", "-u alice", "-u nosuch", "-p other", "-p nosuch", f"-j {self.job()}", f"-j {self.job()},{self.job()}",
        "-S i",
                          "-S -y,i", "-S x", "-M bench", "-M nosuch", "-v x", "-j", "x", "-w -j 1"))
        return f"sprio {how} {rest}"

    def sshare(self):
        fields = ",".join(f + self.pick(WIDTHS) for f in self.some(SSHARE_FIELDS, 1, 4))
        how = self.pick((f"-o {fields}", f"-o {fields}", "-l -P -n | cut -d'|' -f1-4"))
        rest = self.pick(("", "-a", "-u alice", "-u nosuch", "-A physics", "-A nosuch", "-m", "-U", "-n", "-h", "-M bench", "-M nosuch",
                          "-A physics -u alice", "-a -A chem", "x", "-u", "-e | head -3", "-u alice,bob", "-A science -a"))
        return f"sshare {rest} {how}" if "|" in how else f"sshare {how} {rest}"

    def squeue_more(self):
        width = self.pick(("", ":10", ":.12", ":3", ":0", ":x"))
        fields = ",".join(f + width for f in self.some(MORE_SQUEUE, 1, 5))
        rest = self.pick(("", "-h", f"-j {self.job()}", "-t all", "-t all -h", "-u alice -t all", "-r -t all", "-a", "-P", "-S -i -t all"))
        return f"squeue -S i -O {fields} {rest}" if "-S" not in rest else f"squeue -O {fields} {rest}"

    def squeue_steps(self):
        how = self.pick((f"-O {','.join(self.some(STEP_FIELDS, 1, 4))}", '-o "%i %j %P %u"', '-o "%.10i|%8j|%A|%b|%N"', "-h"))
        return f"squeue -s {how} {self.pick(('', f'-j {self.job()}', f'-s {self.job()}.0', '-u alice', '-u nosuch', '-p main', '-S i'))}"

    def sinfo_more(self):
        width = self.pick(("", ":10", ":.12", ":3", ":0", ":x"))
        fields = ",".join(f + width for f in self.some(MORE_SINFO, 1, 4))
        rest = self.pick(("", "-h", "-N", "-n n1", "-p other", "-t idle", "-t drain", "-d", "-r", "-S -n", "-t '~idle'", "-t idle,x",
        "-a -N", "-T",
                          "-F", "-i x", "-l | tail -n +2", "-o %n -N", "-s", "-M bench", "-S x", "-e"))
        return f"sinfo -O {fields} {rest}"

    def list_entity(self):
        entity = self.pick(sorted(ENTITY_FIELDS))
        fields = ",".join(f + self.pick(WIDTHS) for f in self.some(ENTITY_FIELDS[entity], 1, 5))
        fmt = self.pick((f"format={fields}", f"format={fields}", f"Format={fields}", f"fo={fields}", f"-o {fields}", "")) if fields else ""
        shape = self.pick(("", "-n", "-P", "-nP", "-p", "-Q", "-np"))
        return f"sacctmgr {shape} {self.pick(('list', 'show', 'list'))} {entity} {self.pick(ENTITY_WORDS)} {self.pick(ENTITY_WHERE)} {fmt}"

    def sreport(self):
        words = " ".join(self.pick(REPORT_WORDS) for _ in range(self.pick((1, 1, 2))))
        return f"sreport {self.pick(REPORTS)} {words} | grep -v '^Cluster Util\\|^Usage reported\\|^Top\\|^Job Sizes\\|^Reservation'"

    def show_more(self):
        return f"scontrol {self.pick(('', '', '-o ', '-d ', '-a ', '--hide ', '-Q '))}show {self.fill(self.pick(SHOWN))}"

    def other_tools(self):
        job = self.job()
        return self.pick((f"sstat -j {job}", f"sstat -j {job}.batch -o jobid,ntasks", f"sstat -a -j {job} -n -o jobid", "sstat",
        "sstat -o nosuch -j 1",
                          f"sattach {job}.0", "sattach x", "sattach", f"sattach {job}", "strigger --get",
                          "strigger --set --node --program=/bin/true",
                          "strigger --set", f"strigger --get --jobid={job}", "strigger --clear --id=99", "strigger --clear",
                          "strigger --set --down",
                          f"strigger --set --jobid={job} --fini --program=/bin/true", "strigger --get --user=nosuch", "strigger",
                          "strigger --set --time --program=/bin/true", "strigger --get --id=x", "sbcast", "sbcast /etc/hostname", "sdiag x",
                          "sbcast /nosuch /tmp/x", f"scontrol token username=nosuch", "sdiag -h | head -1", "sinfo x",
                          "squeue x", "scancel", "scancel x", "sbatch /nosuch", "sbatch -x", "srun", "salloc -N9 true", "srun -N9 true",
                          "sacctmgr",
                          "sacctmgr -i", "sacctmgr nosuch", "sacctmgr show", "sacctmgr -i add", "sacctmgr -i modify", "sacctmgr -i delete",
                          "sacctmgr -i modify user", "sacctmgr -i delete user", "sacctmgr -i add user", "sacctmgr version x",
                          "sacctmgr -i add nosuch x",
                          "sreport", "sreport x", "sprio x", "sshare --x", "sacct x", "sacct --helpformat | head -2", "scontrol",
                          "scontrol x"))
