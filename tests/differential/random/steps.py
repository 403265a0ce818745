"""Random steps and allocations: srun in a job that was made before or in an allocation of its own, and what runs in it."""

STEP = {
    "-n": ("1", "2", "3", "4", "5", "0", "x"), "-N": ("1", "2", "1-2", "3", "x"), "-c": ("1", "2", "5", "x"), "-w": ("n1", "n2", "n9"),
    "-x": ("n1", "n9"), "-r": ("0", "1", "9", "x"), "--mem=": ("10", "1", "9999", "x"), "-J": ("st", "'a b'"), "-t": ("1", "x", "999"),
    "--exact": ("",), "--overlap": ("",), "--exclusive": ("",), "-l": ("",), "-K": ("", "0"), "-Q": ("",), "-u": ("",), "-O": ("",),
    "--ntasks-per-node=": ("1", "2", "9", "x"), "-m": ("block", "cyclic", "x", "plane=1", "arbitrary"), "-i": ("none", "0", "/nosuch"),
    "-o": ("/dev/null", "none", "0"), "-e": ("/dev/null",), "-D": ("/tmp", "/nosuch"), "--gres=": ("tool:1", "tool:9", "none", "nosuch:1",
    "gpu:1"),
    "--cpu-bind=": ("none", "cores", "x", "rank"), "--mem-bind=": ("none", "x"), "--input=": ("none",), "--multi-prog": ("",),
    "--export=": ("NONE", "ALL", "A=1"), "-I": ("1",), "--no-kill": ("",), "--kill-on-bad-exit=": ("1", "0", "x"),
    "--wait=": ("1", "x"), "-C": ("f1", "nosuch"), "-d": ("singleton", "x"), "-L": ("lic:1",), "--gpus=": ("1", "x"), "--nosuch": ("",),
    "--gpus-per-task=": ("1",), "--mem-per-cpu=": ("1", "x"), "--threads-per-core=": ("1", "x"), "--task-prolog=": ("/nosuch",),
    "--immediate=": ("1",), "--begin=": ("now",), "-A": ("physics",), "-q": ("high",), "-p": ("main", "nosuch"), "--whole": ("",),
    "--spread-job": ("",), "--bcast=": ("/nosuch/x",), "--het-group=": ("0", "1", "x"), "--open-mode=": ("append", "x"),
    "--signal=": ("USR1@1",),
}
RUN = ("true", "true", "false", "bash -c 'exit 7'", "bash -c 'echo $SLURM_PROCID $SLURM_NTASKS $SLURM_STEP_NUM_NODES'", "nosuch-program",
    "/etc/passwd",
       "bash -c 'kill -9 $$'", "bash -c 'kill -TERM $$'", "bash -c 'echo $SLURM_CPUS_PER_TASK $SLURM_NPROCS $SLURM_JOB_NAME'",
       "bash -c 'echo $SLURM_TASKS_PER_NODE $SLURM_STEP_TASKS_PER_NODE'", "bash -c 'exit $SLURM_PROCID'", "echo hello",
       "bash -c 'echo err >&2'")
INSIDE = ("srun {step} {run}", "srun {step} {run}; srun {step} {run}", "srun {step} {run} & srun {step} {run}; wait",
          "echo $SLURM_NTASKS $SLURM_JOB_NUM_NODES $SLURM_TASKS_PER_NODE",
          "echo $SLURM_JOB_CPUS_PER_NODE $SLURM_CPUS_ON_NODE $SLURM_MEM_PER_NODE $SLURM_MEM_PER_CPU $SLURM_JOB_PARTITION",
          "squeue -h -s -j $SLURM_JOB_ID -o %j", "scontrol -o show step $SLURM_JOB_ID | grep -c StepId", "exit 3", "kill -TERM $$",
          "srun {step} {run}; sacct -n -P -j $SLURM_JOB_ID -o jobname,ntasks,exitcode | head -0", "scancel $SLURM_JOB_ID; sleep 5",
          "scontrol update job=$SLURM_JOB_ID numnodes=1; srun -l true; rm -f slurm_job_*_resize.*",
          "srun -l {step} bash -c \"echo \\$SLURM_LOCALID\" | sort")
ALLOC = {
    "-n": ("1", "2", "3", "4", "5", "8", "17", "0", "x"), "-N": ("1", "2", "2-3", "3-1", "5", "x"), "-c": ("1", "2", "5", "x"),
    "--mem=": ("10", "1G", "9G", "x"), "--mem-per-cpu=": ("10", "x"), "-t": ("1", "x", "0", "2-0"), "-p": ("main", "other", "closed",
    "nosuch"),
    "--ntasks-per-node=": ("1", "2", "x"), "-J": ("al", "''"), "-w": ("n1", "n[1-2]", "n9"), "-x": ("n1",), "-C": ("f1", "f2", "nosuch"),
    "--exclusive": ("", "=user"), "-O": ("",), "-s": ("",), "-L": ("lic:1", "lic:9"), "--gres=": ("tool:1", "tool:9", "nosuch"),
    "-A": ("physics",),
    "-q": ("high", "nosuch"), "--no-shell": ("",), "-k": ("",), "--bell": ("",), "-D": ("/tmp", "/nosuch"), "--gpus=": ("1", "2", "9", "x"),
    "--gpus-per-node=": ("1", "x"), "--gpus-per-task=": ("1",), "--begin=": ("now", "x"), "--nice=": ("5", "x"), "-H": ("",),
    "-d": ("singleton", "x"),
    "--signal=": ("USR1@30", "x"), "--mail-type=": ("NONE", "x"), "-K": ("", "TERM", "x"), "--get-user-env": ("",),
    "--wait-all-nodes=": ("1", "x"),
    "--nosuch": ("",), "-B": ("1", "2:2:2", "x", "1:4"), "--comment=": ("c",),
    "--deadline=": ("now+2hours",), "--priority=": ("5", "x"),
}


class Steps:
    """A part of a World: allocations that end by themselves, and steps in jobs."""

    def words_of(self, table, least, most):
        options = self.rng.sample(sorted(table), self.rng.randint(least, most))
        return " ".join(o + (v if o.startswith("--") else f" {v}" if v else "") for o in options for v in [self.pick(table[o])])

    def step_in_job(self):
        return f"srun --jobid={self.job()} {self.pick(('--overlap ', '--overlap ', ''))}-I1 {self.words_of(STEP, 0, 3)} {self.pick(RUN)}"

    def inside(self):
        """salloc with a script of its own, where steps run."""
        text = self.pick(INSIDE)
        while "{step}" in text:
            text = text.replace("{step}", self.words_of(STEP, 0, 2).replace("'", ""), 1)
        while "{run}" in text:
            text = text.replace("{run}", self.pick(RUN).replace("'", '"').replace("$$", "$BASHPID"), 1)
        text = text.replace("'", "")
        return f"salloc -I1 {self.pick(('-Q ', '-Q ', ''))}{self.words_of(ALLOC, 0, 2)} bash -c '{text}'"

    def srun_alone(self):
        return f"srun -I1 {self.words_of({**STEP, **ALLOC}, 0, 3)} {self.pick(RUN)}"
