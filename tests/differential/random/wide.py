"""Random commands in the words that the other tables leave out: every option by its long name, every field of every list, every key of
an update, every clause of an entity, the files of a site (accounts, archives), and the tools beside a running job."""

# Long options by command: with what stands behind them, known values and unknown ones.
LONG = {
    "squeue": ("--account=physics", "--account physics,chem", "--account=nosuch", "--account=", "--all", "--array", "--array-unique",
               "--clusters=bench", "--clusters=nosuch", "--clusters=all", "--iterate=0", "--iterate=x", "--jobs={job}", "--jobs=x",
               "--jobs={job},{job}", "--jobs", "--licenses=lic", "--licenses=lic,lic2", "--long", "--nodelist=n1", "--nodelist=n[1-2],n4",
               "--nodelist=nosuch", "--nodelist=", "--noheader", "--partition=main", "--partition=nosuch", "--partition=", "--qos=high",
               "--qos=nosuch", "--qos=", "--states=pd", "--states=all", "--states=x", "--states=cg,cd", "--states=se,rs,si,so,st,nf,to",
               "--states=SPECIAL_EXIT", "--states=deadline,boot_fail,oom,pr,rv,rf,rh,rq", "--step", "--steps", "--steps={job}.0",
               "--steps=x", "--steps={job}", "--steps={job}.batch", "--hide", "--reservation=r1", "--reservation=", "--sort=i",
               "--sort=-u,i", "--sort=x", "--sort=e,i", "--sort=S,i", "--sort=V", "--user=alice", "--user=2001,root",
               "--user=nosuch,alice",
               "--users=alice", "--name=", "--name=wrap,x", "--me", "--start", "--noconvert", "--priority", "--only-job-state",
               "--expand-patterns",
               "--usage | head -1", "--helpformat"),
    "sinfo": ("--all", "--clusters=bench", "--clusters=nosuch", "--clusters=all", "--dead", "--exact", "--future", "--hide",
              "--iterate=0",
              "--iterate=x", "--list-reasons", "--list-reasons --long", "--long", "--nodes=n1", "--nodes=n[1-3]", "--nodes=nosuch",
              "--nodes=", "--Node", "--Node --long", "--noheader", "--noconvert", "--partition=main", "--partition=other,closed",
              "--partition=", "--partition=nosuch", "--reservation", "--responding", "--summarize", "--summarize --all",
              "--sort=P", "--sort=N", "--sort=-t,n", "--sort=z", "--sort=+D", "--sort=#P", "--sort='#N'", "--states=idle",
              "--states=drained,draining", "--states=blocked", "--states=inval", "--states=POWERED_DOWN",
              "--states=powering_up,powering_down",
              "--states=reboot_issued", "--states=reboot_requested", "--states=perfctrs", "--states=comp,completing",
              "--states=fail,failing,error",
              "--states=future", "--states=dynamic", "--states=mix,alloc", "--states=no_respond", "--states=allocated+", "--states=x",
              "--states=npc", "--usage | head -1", "--helpformat"),
    "sacct": ("--accounts=physics", "--accounts=nosuch", "--account=physics", "--allclusters", "--allusers", "--allocations",
              "--batch-script -j {job}",
              "--brief", "--clusters=bench", "--cluster=nosuch", "--completion", "--constraints=f1", "--constraints=f1,f2",
              "--delimiter=:: -P",
              "--duplicates", "--endtime=now", "--endtime=x", "--env-vars -j {job}", "--federation", "--file=/nosuch",
              "--flags=schedmain",
              "--flags=schedsubmit,startreceived", "--flags=none", "--format=jobid", "--gid=research", "--gid=nosuch", "--group=2001",
              "--helpformat | wc -l", "--jobs={job}", "--jobs={job}_1,{job}", "--local", "--long -P | cut -d'|' -f1-3", "--me",
              "--name=wrap",
              "--ncpus=1", "--ncpus=1-2", "--ncpus=x", "--nnodes=1", "--nnodes=1-4", "--nnodes=x", "--nodelist=n1", "--nodelist=n[1-4]",
              "--nodelist=",
              "--noconvert", "--noheader", "--parsable", "--parsable2", "--partition=main", "--qos=high", "--qos=1,2", "--qos=nosuch",
              "--reason=Priority", "--reason=x", "--start=now-1hour", "--starttime=now-2days", "--state=r,pd", "--state=PREEMPTED",
              "--state=x",
              "--state=bf,ca,cd,dl,f,nf,oom,pr,to", "--state=suspended --start=now-1hour", "--timelimit-max=60 --timelimit-min=1",
              "--timelimit-max=60",
              "--timelimit-min=x", "--truncate --start=now-1hour --endtime=now", "--uid=2001,2002", "--units=G", "--units=K", "--units=n",
              "--use-local-uid", "--user=alice,bob", "--user=", "--wckeys=w", "--whole-hetjob", "--whole-hetjob=no -j {job}",
              "--associations=1", "--associations=x", "--array -j {job}", "--expand-patterns", "--usage | head -1"),
    "scancel": ("--account=physics", "--account=nosuch", "--batch", "--clusters=bench", "--clusters=nosuch", "--ctld", "--full",
                "--hurry",
                "--interactive", "--jobname=one", "--name=nosuch", "--nodelist=n4", "--nodelist=nosuch", "--partition=other",
                "--partition=nosuch", "--qos=high", "--qos=nosuch", "--quiet", "--reservation=r1", "--reservation=nosuch", "--sibling=x",
                "--signal=USR1", "--signal=10", "--signal=SIGTERM", "--signal=0", "--signal=99", "--signal=sigusr2", "--signal=x",
                "--signal=SIG", "--state=PENDING", "--state=pd", "--state=R", "--state=suspended", "--state=s", "--state=completing",
                "--state=cd", "--state=x", "--user=carol", "--user=nosuch", "--user=2003", "--wckey=w", "--wckey=nosuch", "--me",
                "--cron",
                "--usage | head -1", "--verbose 99999", "--quiet"),
    "sprio": ("--cluster=bench", "--clusters=bench", "--clusters=nosuch", "--federation", "--format=%i", "--jobs={job}", "--jobs={job},x",
              "--jobs=", "--local", "--sibling", "--long --noheader | wc -w", "--noheader", "--norm", "--partition=main",
              "--partition=nosuch",
              "--user=alice", "--user=nosuch", "--user=", "--weights", "--weights --norm", "--sort=i", "--sort=-u,i", "--sort=x",
              "--format='%i %c %o %O %n %b %B'", "--format='%Y %y' --weights", "--format='%t %T' --weights", "--usage | head -1",
              "--helpformat"),
    "sshare": ("--accounts=physics", "--accounts=nosuch", "--accounts=", "--account=chem", "--all", "--clusters=bench",
               "--clusters=nosuch",
               "--helpformat | wc -w", "--helpformat | head -1", "--Users", "--long --noheader | wc -w", "--noheader", "--partition",
               "--parsable", "--parsable2", "--users=alice", "--users=nosuch", "--users=", "--user=bob", "--users=alice --accounts=chem",
               "--usage | head -1"),
    "sdiag": ("--all", "--reset", "--cluster=bench", "--cluster=nosuch", "--clusters=bench", "--sort-by-id", "--sort-by-time",
              "--sort-by-time2", "--usage", "--nosuch", "--all --sort-by-id"),
    "sstat": ("--allsteps --jobs={job}", "--jobs={job}", "--jobs={job}.0 --noheader", "--jobs={job}.batch --noheader", "--jobs=x",
              "--jobs=",
              "--jobs={job}.extern", "--jobs={job},{job}", "--fields=jobid --jobs={job}", "--format=jobid --jobs={job}",
              "--format=nosuch -j {job}",
              "--helpformat | wc -w", "--noconvert -j {job} -o jobid", "--parsable -j {job} -o jobid,ntasks",
              "--parsable2 -aj {job} -o jobid",
              "--pidformat --noheader --jobs={job} | wc -w", "--usage", "--allsteps"),
    "strigger": ("--set --backup_slurmctld_assumed_control -p /bin/true", "--set --backup_slurmctld_resumed_operation -p /bin/true",
                 "--set --front_end -p /bin/true", "--set --primary_database_resumed_operation -p /bin/true",
                 "--set --resume -p /bin/true",
                 "--set --primary_slurmctld_resumed_control -p /bin/true", "--get --noheader", "--clear --quiet --id=99",
                 "--usage | head -1",
                 "--set --drained --node=n1 -p /bin/true", "--set --fail --node=n[1-9] -p /bin/true",
                 "--set --idle --offset=5 -p /bin/true",
                 "--set --job_id={job} --fini -p /bin/true", "--set --jobid={job} --down -p /bin/true", "--clear --user=root",
                 "--clear --user=nosuch", "--clear --id=1 --quiet", "--clear --jobid=99999 -Q", "--get --user=alice --noheader",
                 "--get --jobid=x",
                 "--set --up --node -p '/bin/true a b'", "--set --draining -p /bin/true", "--get --node=n1", "--get --id=2 --noheader",
                 "--set --time --jobid={job} --offset=-60 -p /bin/true", "--set --reconfig --flags=PERM -p /bin/true", "--set --get",
                 "--get --clear --id=9", "--get --down", "--get --up --noheader", "--clear --id=0", "--clear --id=-1", "--clear --id=x"),
    "sattach": ("--layout {job}.0", "--label {job}.0", "--quiet {job}.0", "--input-filter=0 {job}.0", "--output-filter=x {job}.0",
                "--error-filter=9 {job}.batch", "--layout {job}.batch", "--layout 99999.0", "--layout x.0", "{job}.x", "--nosuch",
                "{job}.0 {job}.0",
                "--usage", "--layout {job}", "{job}.0+1"),
    "sbcast": ("--jobid={job} /etc/hostname $f", "--jobid=x /etc/hostname $f", "--jobid=99999 /etc/hostname $f",
               "--force /etc/hostname $f", "--size=x /etc/hostname $f", "--fanout=x /etc/hostname $f", "--timeout=x /etc/hostname $f",
               "--compress=x /etc/hostname $f", "--preserve /nosuch $f", "--send-libs=x /etc/hostname $f",
               "--exclude=nosuch /etc/hostname $f", "--jobid={job} /etc $f", "--jobid={job} /nosuch $f", "--usage", "a b c",
               "--jobid={job}.0 /etc/hostname $f", "--size=1k --jobid=99999 /etc/hostname $f",
               "--fanout=2 --jobid={job} /etc/hostname /nosuch/x"),
    "scontrol": ("--all show partition closed", "--details show job {job} | grep -c JobId", "--future show node n9",
                 "--future show node n1 | head -1",
                 "--oneliner show partition main", "--oneliner show lic", "--quiet update job={job} nice=x", "--quiet show node n9",
                 "--quiet hold 99999",
                 "--cluster=bench ping", "--clusters=bench show partition main", "--clusters=nosuch ping", "--hide show partition",
                 "--local show lic",
                 "--sibling show job {job} | head -1", "--federation show job {job} | head -1", "--uid=alice show partition main",
                 "--uid=nosuch show lic",
                 "-u alice hold {job}", "-M bench show lic", "-M nosuch show lic", "-F show node n9", "--usage | head -1", "--nosuch",
                 "--verbose x"),
    "sreport": ("--all_clusters cluster utilization", "--noheader cluster accountutilizationbyuser", "--parsable user topusage",
                "--quiet x",
                "--cluster=bench user topusage", "--clusters=bench cluster utilization", "--tres=cpu job sizesbyaccount",
                "--tres=1 cluster util",
                "--tres=gres/gpu cluster util", "--tres=energy cluster util -n", "--tres=billing cluster acc -n", "--usage | head -1",
                "-t seconds cluster util -n", "-t secper cluster acc -n", "-t SecPer user top -n", "-t minper cluster util -n",
                "-t Hours job sizes -n",
                "--local user top", "--federation cluster util", "-a cluster util -n", "-Q cluster x",
                "-n -P reservation utilization start=midnight"),
}
LONG_HEADS = {"squeue": ("", "-h", "-o '%i %T'", "-O jobid,state"), "sinfo": ("", "-h", "-o '%P %D %t'", "-O nodehost,statelong"),
              "sacct": ("-n -o jobid,state", "-P -o jobid,state,user", "-X -o jobid,state", "-n -a -o jobid"),
              "sshare": ("-n -o account,user", "-P -o account,user,rawshares"), "sprio": ("-h -o %i", "-o '%i %u'")}
ONE_OPTION = ("sstat", "strigger", "sattach", "sbcast", "scontrol", "sreport")

# Every field that a list knows, in the words of its --helpformat or page; those that tell an instant, a process or a load are left out.
FIELDS = {
    "squeue": ("admin_comment", "allocsid:3", "batchhost", "burstbuffer", "burstbufferstate", "clusterfeature", "cpufreq",
               "cpus-per-task", "delayboot", "derivedec", "exit_code", "ntperboard", "origin", "originraw", "preempttime",
               "prioritylong", "reasonlist", "resizetime", "resvport", "selectjobinfo", "siblingsactive", "siblingsactiveraw",
               "siblingsviable",
               "siblingsviableraw", "sperboard", "stderr", "stdin", "stdout", "system_comment", "wait4switch", "reboot", "requeue",
               "priority",
               "maxcpus", "mincpus", "nodes", "network", "power", "jobarrayid", "starttime:2", "endtime:2", "submittime:2",
               "eligibletime:2", "cluster", "container-id", "segment", "std_out", "threads", "gres", "accountx", "prefer",
               "deadline", "dependency", "group", "groupid", "mem", "minmemorycpu", "minmemorynode", "ntpersocket", "ntpercore",
               "partitionraw"),
    "steps": ("stepid", "stepname", "stepstate", "cpufreq", "tres-alloc", "mem-per-tres", "resvports", "tres-bind", "tres-freq",
              "tres-per-job",
              "tres-per-node", "tres-per-socket", "userid", "nodes", "arraytaskid", "jobarrayid", "numtasks", "timelimit", "numcpus",
              "submitline",
              "cluster", "endtime:2"),
    "sinfo": ("all", "allocnodes", "freemem:1", "nodeaddr", "nodehost", "preemptmode", "prioritytier", "reasontime",
              "statecomplete", "timestamp", "user", "userlong", "version:1", "weight", "reservation", "cluster", "comment", "extra",
              "features",
              "features_act", "available", "defaulttime", "disk", "groups", "root", "share", "oversubscribe", "size", "maxcpuspernode",
              "nodelist",
              "nodeaiot", "nodeai", "cpus", "sockets", "cores", "threads", "socketcorethread", "cpusstate", "gres", "gresused", "memory",
              "allocmem", "priorityjobfactor", "time", "partitionname", "partition", "statelong", "statecompact", "resumeafter",
              "blocks"),
    "sacct": ("admincomment", "allocgres", "avecpu", "avecpufreq", "avediskread", "averss", "avevmsize", "blockid", "cputimeraw%1",
              "container", "elapsedraw%1", "flags", "layout", "maxdiskread",
              "maxdiskreadnode", "maxdiskreadtask", "maxpages", "maxrssnode", "maxrsstask", "maxvmsize", "mincpu", "mincpunode",
              "mincputask",
              "nodelist", "reason", "reqcpufreq", "reqcpufreqmax", "reqgres", "reservationid", "submitline", "suspended%1",
              "systemcpu%1", "systemcomment", "timelimitraw", "totalcpu%1", "tresusageinave",
              "tresusageoutmax", "tresusageinmaxnode", "usercpu%1", "uid", "wckeyid", "mcslabel", "hetjobid", "constraints",
              "unknownfield", "prefer", "jobidraw", "alloctres%5"),
    "sstat": ("avecpu", "avecpufreq", "avediskread", "avediskwrite", "avepages", "averss", "avevmsize", "consumedenergy", "jobid",
              "maxdiskread",
              "maxdiskreadnode", "maxdiskreadtask", "maxpages", "maxpagesnode", "maxrss", "maxrssnode", "maxrsstask", "maxvmsize",
              "mincpu",
              "mincpunode", "mincputask", "nodelist", "ntasks", "pids", "reqcpufreq", "reqcpufreqmin", "reqcpufreqgov", "tresusageinave",
              "tresusageoutmin", "tresusageintot", "nosuch"),
    "sshare": ("account", "cluster", "grptresmins", "grptresraw", "normshares", "partition",
               "rawshares", "tresrunmins", "user", "nosuch", "acc%3", "grpcpumins"),
}
ENTITY = {
    "account": ("account", "coordinators", "description", "organization", "flags", "name", "acct", "desc", "org", "coord"),
    "assoc": ("account", "cluster", "defaultqos", "fairshare", "grptresmins", "grptresrunmins", "grptres", "grpjobs", "grpmemory",
              "grpnodes",
              "grpsubmitjob", "grpwall", "maxtresmins", "maxtres", "maxjobs", "maxnodes", "maxsubmitjobs", "maxwall", "qos",
              "parentid",
              "parentname", "partition", "user", "withrawqoslevel", "grpcpus", "grpcpumins", "maxcpus", "maxcpumins",
              "grpjobsaccrue",
              "maxjobsaccrue", "minpriothreshold", "maxtrespernode", "grpcpurunmins", "comment", "share", "priority"),
    "cluster": ("classification", "cluster", "clusternodes", "defaultqos", "fairshare", "flags", "grptresmins",
                "grptres", "grpjobs", "grpmemory", "grpnodes", "grpsubmitjob", "maxtresmins", "maxtres", "maxjobs", "maxnodes",
                "maxsubmitjobs",
                "maxwall", "nodecount", "pluginidselect", "features", "fedstateraw", "id", "nodenames", "qos"),
    "event": ("cluster", "clusternodes", "event", "eventraw", "nodename", "reason", "state", "stateraw", "tres", "user", "type", "host",
              "node"),
    "qos": ("description", "flags", "gracetime", "grpjobs", "grpsubmitjob", "grptres", "grptresmins", "grpwall", "maxjobs",
            "maxsubmitjobsperuser",
            "maxtresmins", "maxtresperjob", "maxtrespernode", "maxtresperuser", "maxwall", "name", "preempt", "preemptmode", "priority",
            "usagefactor", "usagethreshold", "maxtrespa", "maxjobspa", "maxsubmitjobspa", "maxjobsaccruepa", "maxjobsaccruepu",
            "grpcpus", "grpnodes",
            "maxcpus", "maxnodes", "maxcpusperuser", "maxnodesperuser", "minpriothreshold", "mintres", "limitfactor", "grpmem",
            "maxcpumins",
            "preemptexempttime", "grpjobsaccrue", "maxtresrunminspu", "maxtresrunminspa", "relative", "mincpus", "id"),
    "resource": ("cluster", "count", "countallowed", "countused", "description", "flags", "manager", "name", "percentallowed",
                 "percentused", "server",
                 "type", "allocated", "allowed", "lastconsumed", "id"),
    "reservation": ("assoc", "cluster", "flags", "name", "nodenames", "tres", "unusedwall%1", "id%1", "associations", "comment"),
    "runawayjobs": ("cluster", "id", "name", "partition", "state", "timestart", "timeend", "user"),
    "tres": ("id", "name", "type", "count"),
    "user": ("adminlevel", "coordinators", "defaultaccount", "defaultwckey", "user", "name", "account", "cluster", "partition",
             "fairshare",
             "grptres", "maxjobs", "qos", "defaultqos", "id", "parentname", "maxwall", "uid"),
    "wckey": ("cluster", "id", "name", "user", "wckeys", "default"),
    "federation": ("federation", "cluster", "fedstate", "features", "index", "fedstateraw", "flags", "name"),
    "problem": ("account", "cluster", "login", "user", "nosuch"),
}
ENTITY_WIDE = ("", "", "", "withassoc", "withdeleted", "wopi", "wopl", "woplimits", "wopinfo", "withrawqos", "withrawqoslevel",
               "withsubaccounts",
               "name=nosuch", "user=alice", "account=physics", "cluster=bench", "withclusters", "withcoordinators", "withfed", "tree",
               "where")
REPORTED = {
    "cluster AccountUtilizationByUser": ("accounts", "cluster", "login", "proper", "tresname", "used", "account", "energy", "user"),
    "cluster UserUtilizationByAccount": ("accounts", "cluster", "login", "proper", "tresname", "used"),
    "cluster UserUtilizationByWckey": ("cluster", "login", "proper", "tresname", "used", "wckey"),
    "cluster WCKeyUtilizationByUser": ("cluster", "login", "proper", "tresname", "used", "wckey"),
    "cluster Utilization": ("cluster", "allocated%1", "down%1", "planneddown%1", "idle%1", "planned%1", "reported%1", "trescount",
                            "tresname",
                            "overcommitted%1", "reserved%1"),
    "user TopUsage": ("account", "cluster", "login", "proper", "used", "tresname", "energy"),
    "reservation Utilization": ("allocated%1", "associations", "cluster", "end%1", "flags", "idle%1", "name", "nodes", "reservationid%1",
                                "start%1",
                                "totaltime%1", "trescount", "tresname", "trestime%1", "id%1"),
    "job SizesByAccount": ("account", "cluster", "nosuch"),
}

# Keys of updates that the tables of words.py and more.py leave out; a value that is wrong stands alone.
WIDE_JOB = ("submittime=now", "tasksperNode=1", "taskspernode=x", "threadspec=1", "threadspec=x", "delayboot=5", "delayboot=x",
            "reqprocs=2",
            "resetaccruetime", "resetaccruetime=1", "sitefactor=5", "sitefactor=x", "sitefactor=-5", "wait-for-switch=5",
            "wait-for-switch=x",
            "clusterfeatures=x", "clusters=nosuch", "starttime=", "starttime=tomorrow", "endtime=now+1hour", "endtime=x",
            "endtime=2010-01-01",
            "systemcomment=s", "jobname=n", "name='a b'", "stdin=/dev/null", "stderr=/dev/null", "stderr=",
            "mincpusnode=2 minmemorynode=50",
            "numnodes=1-2 numtasks=2", "timelimit=+1:00", "timelimit=-1:00", "timelimit=1-0:0:0", "timelimit+=5", "timelimit-=5",
            "timelimit=",
            "excnodelist=n1 reqnodelist=n2", "nodelist=n1", "nodelist=", "reqnodelist=n[1-4]", "batchfeatures=f1", "prefer=f1", "prefer=",
            "container=x", "extra=e", "tres=cpu=2", "tresperjob=gres/tool:1", "trespertask=gres/tool:1", "trespersocket=gres/tool:1",
            "cpuspertres=gres/gpu:2", "mempertres=gres/gpu:10", "oversubscribe=exclusive", "shared=ok", "burstbuffer=", "mcslabel=x",
            "power=level", "gres=tool:1,tool:1", "licenses=lic:1,lic2:1", "licenses=lic:1|lic2:1", "arraytaskthrottle=", "corespec=0",
            "corespec=x", "reboot=yes", "requeue=", "requeue=yes", "contiguous=1", "contiguous=0", "userid=alice comment=c",
            "userid=nosuch",
            "adminComment='two words'", "nice", "nice=", "nice=-1", "nice=2147483646", "priority=4294967295", "priority=",
            "priority=infinite",
            "killoninvaliddependent=no", "killoninvaliddependent=1", "minmemorynode=1G", "minmemorycpu=1M", "mintmpdisknode=x",
            "minmemorynode=-1", "ntaskspernode=1", "ntaskspersocket=1", "cpus-per-task=2", "qos=", "account=", "partition=", "wckey=",
            "comment+=x")
WIDE_NODE = ("acctgatherenergytype=x", "cpuload=1", "cpuspeclist=0", "freemem=5", "lastbusytime=x", "memspeclimit=5", "topology=x",
             "certtoken=x",
             "state=power_down_asap", "state=power_down_force", "state=cancel_reboot", "state=blocked", "state=invalid_reg",
             "state=planned",
             "state=reboot_requested", "state=error", "state=allocated", "state=mixed", "state=completing", "state=perfctrs",
             "state=no_respond",
             "state=drained reason=d", "state=draining reason=d", "state=failing reason=f", "state=idle+drain",
             "state=down,drain reason=r",
             "reasonuid=alice", "reason='it is \"quoted\"'", "instanceid=i", "instanceid=", "instancetype=t", "parameters=x", "weight=+1",
             "features=f1,f2", "features=", "availablefeatures=f1,f2 activefeatures=f1", "activefeatures=f2", "gres=tool:2,gpu:1",
             "gres=tool:a",
             "resumeafter=0", "resumeafter=-1", "resumeafter=1:00", "state=down reason=r resumeafter=60", "state=resume resumeafter=5",
             "comment=a extra=b", "extra='{\"a\": 1}'", "cpubind=none", "cpubind=ldom", "cpubind=core,thread", "nodeaddr=",
             "nodehostname=",
             "state", "reason", "state=drain,reason=why", "dynamicnorm=x", "energy=1")
WIDE_PART = ("allowallocnodes=n1", "allownodes=n1", "cpubind=cores", "cpubind=ldoms", "defcpupergpu=2", "defmempergpu=100",
             "defmempernode=1G",
             "defmempercpu=1M", "maxmempernode=1G", "maxmempercpu=unlimited", "maxcpuspersocket=2", "maxcpuspersocket=x", "topology=x",
             "exclusivetopo=yes", "exclusivetopo=no", "powerdownonidle=yes", "powerdownonidle=no", "powerdownonidle=x", "maxtime=1-0:0:0",
             "maxtime=1:00:00", "maxtime=-5", "defaulttime=1:00", "defaulttime=", "maxtime=", "gracetime=1:00", "gracetime=unlimited",
             "gracetime=", "overtimelimit=", "priority=2", "prioritytier=", "priorityjobfactor=x", "minnodes=unlimited", "maxnodes=",
             "minnodes=",
             "state=", "state=drain", "state=inact", "state=UPP", "nodes=n1,n3", "nodes=n[1-3],n4", "nodes=''", "nodes+=n4", "nodes-=n4",
             "alternate=nosuch",
             "qos=nosuch", "qos=high,low", "allowqos=nosuch", "allowqos=", "denyqos=ALL", "allowaccounts=PHYSICS",
             "denyaccounts=+physics",
             "allowgroups=nosuch", "allowgroups=root", "tresbillingweights=cpu=1", "tresbillingweights=gres/gpu=2,mem=1g",
             "tresbillingweights=cpu=x",
             "jobdefaults=defcpupergpu=x", "jobdefaults=nosuch=1", "preemptmode=within", "preemptmode=suspend,gang", "preemptmode=cancel",
             "oversubscribe=force:0", "oversubscribe=yes:x", "oversubscribe=yes", "shared=exclusive", "lln=1", "reqresv=", "hidden=x",
             "resumetimeout=5", "suspendtime=-1", "suspendtime=infinite", "suspendtimeout=5", "selecttypeparameters=cr_socket",
             "default=x",
             "rootonly=x", "exclusiveuser=x", "maxstepcount=5")
WIDE_RESV = ("reservation=r1 nodes=ALL flags=ignore_jobs,maint", "allowedpartitions=main", "comment=c", "comment=", "corecnt=x",
             "corecnt=2 nodecnt=1",
             "nodecnt=1 corecnt=1", "duration+=10", "duration-=10", "duration=+10", "duration=-10", "duration=1-0:0:0",
             "duration=2:00:00", "duration=",
             "duration=0", "endtime=tomorrow", "endtime+=10", "starttime+=10", "starttime-=10", "starttime=", "features=",
             "features='f1|f2'",
             "features=f1,f2", "flags=", "flags=hourly", "flags=time_float", "flags=weekend", "flags=weekly", "flags=daily,weekday",
             "flags=first_cores",
             "flags=part_nodes", "flags=replace_down", "flags=replace,replace_down", "flags=static", "flags=license_only",
             "flags=spec_nodes",
             "flags=no_hold_jobs_after", "flags=no_hold_jobs_after_end", "flags=purge_comp", "flags=purge_comp=1:00",
             "flags=purge_comp=-1",
             "flags=user_delete", "flags=ignore_job", "flags=magnet", "flags=maint,", "flags=-maint", "flags=+daily",
             "flags=-daily,-maint",
             "flags=gres_reqd", "flags=force_start", "flags=all_nodes nodes=ALL", "groups=research users=alice", "groups=-research",
             "groups=",
             "licenses=", "licenses=lic:2,lic2:1", "licenses=lic:0", "licenses=lic:-1", "maxstartdelay=x", "maxstartdelay=1:00",
             "maxstartdelay=",
             "nodecnt=1k", "nodecnt=-1", "nodecnt=0", "nodecnt=1,2", "nodes=n1,n1", "nodes=n[1-9]", "nodes=n4 nodecnt=1",
             "partition=main nodecnt=1",
             "partitionname=main", "partitionname=", "partitionname=main,other", "qos=high", "skip=1", "tres=cpu=1,node=1",
             "tres=gres/gpu=1",
             "tres=", "tres=cpu", "tres=mem=1G", "tres=bb/x=1", "tresperNode=gres/gpu:1", "users=", "users=ALICE", "users=2001",
             "users=alice,-bob",
             "users=-alice,-bob", "users=+nosuch", "accounts=", "accounts=physics,-chem", "accounts=PHYSICS", "watts=5", "watts=1k",
             "burstbuffer=",
             "x", "state=x")
WIDE_VERBS = ("holdu {job}", "uhold {job}_1", "cluster", "listpids {job}.0", "listpids {job}.batch x", "listpids x",
              "listpids 99999.0 n1",
              "setdebug 99", "setdebug -1", "setdebug quiet",
              "setdebug info",
              "setdebugflags +agent", "setdebugflags -agent", "setdebugflags +x", "setdebugflags +gres,-gres",
              "schedloglevel 1", "schedloglevel disable", "schedloglevel 2", "schedloglevel -1", "show hostlist /nosuch",
              "show hostlist n[1-3],m[1,3]",
              "show hostnames n[1-2]m[1-2]", "show hostnames n[8-11]", "show hostnames n[008-011]", "show hostlistsorted n11,n2,n1,a",
              "show hostlist n1 n2", "show hostnames ''", "show hostlist n[1-1000000]", "show hostnames n[3-1]", "show topology unit=x",
              "show topology switch=x", "show topology node=n1", "show burstbuffer x", "show powercap", "show layouts",
              "show jobs --future", "show partition ''", "show node ''", "show job ''", "show step ''", "show reservation ''",
              "show assoc_mgr flags=assoc accounts=nosuch", "show assoc_mgr flags=qos qos=nosuch",
              "show assoc_mgr users=alice,bob flags=users | grep -c UserName",
              "show assoc_mgr accounts=physics users=alice flags=assoc | grep -c UserName=alice", "show assoc_mgr flags=users,x",
              "show assoc_mgr x",
              "show assoc_mgr qos=high flags=qos -o | grep -c QOS=", "show job {job} -o | wc -l", "show job ALL | head -0", "show all x",
              "show entity",
              "show daemons", "show slurmd n1", "show aliases", "show aliases n9", "show sbatch",
              "show nodes n1 n2 n9 | grep -c NodeName=",
              "update partition=main,other maxtime=60", "update nodename=n1 nodename=n2 weight=2", "update job={job} job={job} nice=2",
              "update partitionname=main partitionname=other hidden=no", "update node=n1 partition=main", "update topology=x",
              "update slurmctldparameters=x",
              "update suspendexcparts=main", "update suspendexcstates=down", "update slurmctlddebug=info", "update debugflags=x",
              "update powersave=x",
              "update reservation", "update job", "update node", "update partition", "update step={job}.0 timelimit=x",
              "update stepid={job} timelimit=5", "update stepid={job}.0", "update stepid={job}.0 nosuch=1",
              "update stepid={job}.0 name=x",
              "update stepid={job}.0 network=x", "delete partition", "delete reservation", "delete partition=", "delete nodename=",
              "delete node=n9",
              "delete nodename=n1", "create res=", "create job=1",
              "create step=1",
              "reboot n[1-9]", "reboot ASAP nextstate=down reason='a b' n9", "reboot reason=x",
              "reboot nextstate=resume",
              "cancel_reboot x", "cancel_reboot n1 n2", "power up", "power down n1 reason=x", "power down_force n9",
              "power down force n9",
              "wait_job {job} x", "wait_job", "top {job} {job}", "notify {job} two words", "notify {job}.0 x", "token lifespan=1 x=1",
              "token username=alice", "token lifespan=-1", "token lifespan=infinite", "write batch_script {job} - x",
              "write batch_script x",
              "write batch_script {job}_1 -", "write config /nosuch/x", "requeue {job},{job}", "requeue {job} {job}",
              "requeuehold {job} state=x",
              "requeuehold state=specialexit", "requeue state=x {job}", "release {job},x", "hold {job},{job},x", "suspend {job} {job}",
              "resume {job},{job}",
              "hold name=wrap", "hold jobname=", "release jobname=nosuch", "uhold name=nosuch", "completing -o", "fsdampeningfactor -1",
              "fsdampeningfactor 65536", "errnumstr -1", "errnumstr 2000 2001", "errnumstr 1.5", "errnumstr 8000", "errnumstr 7000",
              "errnumstr 2100",
              "errnumstr 2200", "errnumstr 1001", "errnumstr 4001", "errnumstr 2018", "errnumstr 11", "help x | head -1",
              "details x", "oneliner x", "quiet x", "reconfigure n1", "takeover 9")
SITE = ("show stats x | head -1", "list stats | head -0", "clear stats x", "clear x", "clear", "show config | head -1",
        "show configuration | wc -l | head -0",
        "archive", "archive x", "archive dump x", "archive load", "-i archive load /nosuch",
        "archive load x=1",
        "-i archive dump directory=/nosuch", "-i archive dump directory=/tmp events jobs purgejobafter=x",
        "-i archive dump directory=/tmp purgeeventafter=12months purgetxnafter=1hours",
        "-i archive dump directory=/tmp jobs purgejobafter=10years",
        "-i archive dump directory=/tmp script=/nosuch", "-i archive dump nosuch=1",
        "-i archive dump directory=/tmp suspend steps resv usage txn",
        "-i archive dump directory=/tmp purgestepafter=5 steps", "-i archive dump directory=/tmp purgeresvafter=1x",
        "reconfigure | head -0", "version",
        "show problem", "show problem format=cluster,problem", "show runawayjobs -n | head -0",
        "-r modify user alice set maxjobs=3",
        "--readonly add account new", "--readonly delete qos q1", "--readonly list qos format=name",
        "--associations list user alice format=user,account",
        "-s list account physics format=account,user", "--noheader list qos format=name", "--oneliner list tres format=type",
        "--quiet list nosuch",
        "--immediate add qos q1", "--immediate delete qos q1", "--parsable list qos format=name",
        "--parsable2 list user format=user", "--usage | head -1", "--nosuch", "list account tree", "show tree",
        "-i modify user alice set account=chem", "-i modify user where user=alice account=physics cluster=bench set maxjobs=4",
        "-i modify user where name=bob account=chem,physics set maxjobs=-1",
        "-i modify user set maxjobs=2 where account=physics user=alice,bob",
        "-i modify account where name=physics parent=science cluster=bench set maxjobs=7",
        "-i modify account where organization=physics name=physics set grpjobs=8",
        "-i modify account physics set grpjobs=-1 maxjobs=-1 where cluster=bench",
        "-i modify qos where name=low set maxwall=5 priority=4",
        "-i modify qos low,high set maxwall=-1 where name=low",
        "-i modify user where user=alice set defaultaccount=physics where cluster=bench",
        "-i modify user alice where partition=main set maxjobs=3", "-i modify user where account=physics partition= set maxjobs=5",
        "-i modify user alice set qos=+high,-low", "-i modify user alice set qos=+high qos=-low",
        "-i modify user alice set qos+=high,low",
        "-i modify user alice set qos=normal", "-i modify account physics set qos=-high,-low",
        "-i modify account physics set qos+=nosuch,high",
        "-i modify user alice set maxjobs=3 maxjobs=4",
        "-i modify user alice set maxtres=cpu=3,cpu=4",
        "-i modify user alice set maxtres=", "-i modify user alice set grptresmins=cpu=5,mem=6",
        "-i modify user alice set grptresmins=cpu=-1,mem=-1",
        "-i modify user alice set maxtrespernode=cpu=1", "-i modify user alice set maxtrespernode=cpu=-1",
        "-i modify user alice set maxwall=1-2:3",
        "-i modify user alice set maxwall=unlimited", "-i modify user alice set maxwall=1:2:3:4",
        "-i modify user alice set maxjobs=unlimited",
        "-i modify user alice set fairshare=0", "-i modify user alice set fairshare=65536",
        "-i modify user alice set fairshare=2147483647",
        "-i modify user alice set fairshare=1.5", "-i modify user alice set priority=4294967295",
        "-i modify user alice set maxcpus=3 maxnodes=2",
        "-i modify user alice set grpcpus=-1 grpmem=-1", "-i modify user alice set newwckey=w",
        "-i modify user alice set adminlevel=administrator", "-i modify user alice set adminlevel=0",
        "-i modify user alice set adminlevel=adm",
        "-i modify account physics set parent=physics", "-i modify account science set parent=physics",
        "-i modify account root set parent=physics",
        "-i modify account physics set organization='a b' description='c d'", "-i modify account physics set flags=nousersarecoords",
        "-i modify account physics set flags=userscoordsx",
        "-i modify qos high set flags=overpartqos,partitionminnodes,partitiontimelimit",
        "-i modify qos high set flags+=usagefactorsafe",
        "-i modify qos high set flags=usagefactorsafe,x",
        "-i modify qos high set flags=partitionmaxnodes", "-i modify qos high set flags=noreserve flags=nodecay",
        "-i modify qos high set preempt=high",
        "-i modify qos high set preempt=low,normal", "-i modify qos low set preempt=high", "-i modify qos high set preempt=-low",
        "-i modify qos high set preemptmode=within", "-i modify qos high set preemptmode=suspend",
        "-i modify qos high set preemptmode=gang",
        "-i modify qos high set maxtrespa=cpu=5 maxjobspa=3", "-i modify qos high set maxtrespa=cpu=-1 maxjobspa=-1",
        "-i modify qos high set gracetime=1:00", "-i modify qos high set gracetime=x",
        "-i modify qos high set maxwall=1-0 maxjobs=4 maxsubmit=5",
        "-i modify qos high set maxwall=-1 maxjobs=-1 maxsubmit=-1", "-i modify qos high set usagethreshold=2",
        "-i modify qos high set usagefactor=-2",
        "-i modify qos high set mintres=cpu=2,mem=3", "-i modify qos high set mintres=cpu=-1,mem=-1",
        "-i modify qos high set maxtresrunminspu=cpu=9",
        "-i modify qos high set maxtresrunminspu=cpu=-1", "-i modify qos high set grptres=fs/disk=5",
        "-i modify qos high set grptres=energy=5", "-i modify qos high set grptres=energy=-1", "-i modify qos high set grptres=1=5",
        "-i modify qos high set grptres=1=-1",
        "-i add user dave account=chem defaultaccount=chem adminlevel=none", "-i add user dave,eve accounts=chem,physics",
        "-i add user dave account=physics partitions=main,other",
        "-i add user dave defaultaccount=physics", "-i add user alice account=physics partition=other",
        "-i delete user alice where partition=other",
        "-i delete user name=dave,eve", "-i delete user dave account=chem cluster=bench",
        "-i add user dave account=chem qos=high,low fairshare=3",
        "-i add user dave account=chem qos=nosuch", "-i add user dave account=chem maxjobs=x",
        "-i add user dave account=chem cluster=bench,nosuch",
        "-i add account new parent=physics description=n organization=m fairshare=3", "-i add account new,sub parent=new",
        "-i add account new cluster=bench",
        "-i add account sub parent=nosuch", "-i add account new qos=high defaultqos=high", "-i delete account new,sub",
        "-i delete account new where cluster=bench",
        "-i delete account where name=sub parent=new", "-i delete account parent=new",
        "-i add qos q1 priority=5 maxwall=10 flags=denyonlimit preempt=low",
        "-i add qos q1 flags=x", "-i add qos q1,q2 preemptmode=requeue", "-i add qos q2 nosuch=1", "-i delete qos q1,q2",
        "-i delete qos where name=q1,nosuch",
        "-i delete qos where description=q1", "-i add coordinator names=alice accounts=physics,chem", "-i add coord alice account=chem",
        "-i add coordinator alice,bob",
        "-i delete coordinator names=alice", "-i delete coordinator accounts=chem,physics names=alice,bob",
        "-i delete coord alice account=chem",
        "-i add wckey w2", "-i modify wckey where name=w1 set nosuch=1", "-i delete wckey w1",
        "-i add resource name=m type=license server=s count=5 cluster=bench percentallowed=50",
        "-i add resource name=m type=license server=s count=5 allowed=50 cluster=bench",
        "-i add resource name=m count=1 server=s,t type=license",
        "-i modify resource name=m server=s set count=9", "-i modify resource name=m set flags=absolute",
        "-i modify resource m where cluster=bench set percentallowed=20",
        "-i modify resource name=m server=s cluster=bench set percentallowed=101", "-i modify resource name=m set type=x",
        "-i delete resource name=m",
        "-i delete resource where name=m cluster=bench", "-i delete resource name=m server=s cluster=bench",
        "show resource withclusters format=name,server,count,countallowed,countused",
        "-i add federation fed1 clusters=nosuch", "-i delete federation nosuch", "-i modify federation fed1 set clusters+=nosuch",
        "show federation tree",
        "-i modify cluster bench set fedstate=drain+remove", "-i modify cluster bench set features=a,b",
        "-i modify cluster bench set features=",
        "-i modify cluster bench set features+=c", "-i modify cluster bench set features-=c", "-i modify job {job} set comment=c",
        "-i modify job where jobid={job} set derivedexitcode=5",
        "-i modify job jobid={job} set derivedec=x comment=''", "-i modify job where user=alice state=failed set comment=x",
        "-i update job {job} set systemcomment=s",
        "-i modify job {job} set extra=x admincomment=y", "-i modify job {job}_1 set comment=c", "-i modify job {job}.0 set comment=c",
        "-i modify job {job},{job} set comment=m")

LOADED = ("Cluster - bench", "Cluster - 'bench':Fairshare=1:QOS='normal'", "Cluster - 'bench':DefaultQOS='high'",
          "")
LOADED_LINES = ("Parent - 'root'\nAccount - 'loaded':Description='d':Organization='o'",
                "Parent - 'root'\nUser - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1",
                "Parent - 'science'\nAccount - 'new':Fairshare=5:GrpJobs=3", "Parent - 'nosuch'\nAccount - 'lost'",
                "Parent - 'physics'\nUser - 'dave':DefaultAccount='physics':MaxJobs=2",
                "Parent - 'physics'\nUser - 'alice':QOS='high,low':DefaultQOS='high'",
                "Parent - 'chem'\nUser - 'alice':Partition='main'", "User - 'alice'", "Account - 'x'",
                "Parent - 'chem'\nUser - 'eve':AdminLevel='x'", "Parent - 'chem'\nUser - 'eve':Coordinator='physics'",
                "Parent - 'physics'\nAccount - 'sub'\nParent - 'sub'\nUser - 'dave'",
                "Parent - 'science'\nAccount - 'new':QOS='nosuch'", "Parent - 'science'\nAccount - 'new':MaxJobs=x",
                "Parent - 'science'\nAccount - 'new':NoSuch=1",
                "# a comment\nParent - 'science'\n# another\nAccount - 'new'", "Parent - science\nAccount - new", "QOS - 'q9'",
                "Parent 'science'", "Parent -", "nosuch - 'x'",
                "Parent - 'chem'\nUser - 'dave':GrpTRES=cpu=5,mem=6:MaxWall=60:MaxSubmitJobs=4:Priority=3",
                "Parent - 'chem'\nUser - 'dave':GrpTRESMins=cpu=x",
                "Parent - 'science'\nAccount - 'physics':MaxJobs=9", "Parent - 'root'\nAccount - 'physics'",
                "Parent - 'chem'\nUser - 'dave:eve'", "Parent - 'chem'\nUser - ''",
                "Parent - 'science'\nAccount - 'new':Description='it is : here'", "Parent - 'science'\nAccount - \"new\"",
                "  Parent - 'science'\n  Account - 'new'")
BESIDE = ("srun --overlap --jobid=$id {o} true", "srun --overlap --jobid=$id {o} echo hello",
          "srun --overlap --jobid=$id {o} bash -c 'exit 3'",
          "srun --jobid=$id {o} bash -c 'echo $SLURM_STEP_ID $SLURM_NTASKS'",
          "sbcast -j $id /etc/hostname $f && srun --overlap --jobid=$id -n1 rm $f",
          "sbcast -f -j $id {b} /etc/hostname $f", "sbcast -j $id.0 /etc/hostname $f",
          "sbcast -j $id /etc/hostname /nosuch/x", "sattach --layout $id.0 | grep -c layout", "sattach --layout $id.batch",
          "sattach $id.extern", "sstat -nP -aj $id -o jobid,ntasks",
          "sstat -nP -j $id.0 -o jobid,ntasks,nodelist", "squeue -h -s -j $id -O stepname,numtasks,stepstate",
          "scontrol -o show step $id.0 | tr ' ' '\\n' | grep -E '^(State|Tasks|Name|CPUs|Partition|Network)='",
          "scontrol listpids $id.0 | wc -l", "scontrol update stepid=$id.0 timelimit=5", "scancel -s USR1 $id.0",
          "scancel --signal=0 $id.0", "scancel -b $id", "scancel $id.99",
          "scancel -f -s CONT $id", "scontrol notify $id hello", "scontrol wait_job $id", "sattach $id.99", "scontrol requeue $id",
          "scontrol suspend $id; scontrol resume $id",
          "strigger --set -j $id --fini -p /bin/true; strigger --get -n -j $id | wc -l; strigger --clear -j $id", "sprio -h -j $id",
          "scontrol update job=$id timelimit=+5; squeue -h -j $id -o %l",
          "sacct -nP -j $id -o jobid,state,ntasks", "scontrol show job $id | grep -oE 'StepId|NumTasks=[0-9]*'", "scontrol top $id",
          "scontrol hold $id")
STEP_LONG = ("--ntasks=2", "--nodes=1", "--cpus-per-task=1", "--exact", "--overlap", "--label", "--unbuffered", "--quiet", "--mpi=none",
             "--mpi=x", "--mpi=list", "--output=none",
             "--error=none", "--input=none", "--relative=1", "--relative=9", "--nodelist=n1", "--exclude=n1", "--nodelist=n9",
             "--job-name=s", "--kill-on-bad-exit", "--resv-ports", "--resv-ports=2",
             "--disable-status", "--epilog=/nosuch", "--prolog=/nosuch", "--task-epilog=/nosuch", "--task-prolog=/bin/true",
             "--preserve-env", "--quit-on-interrupt", "--slurmd-debug=x",
             "--send-libs=x", "--compress=x", "--bcast-exclude=NONE", "--partition=main", "--account=physics", "--qos=normal",
             "--oversubscribe", "--overcommit", "--constraint=f1", "--licenses=lic:1",
             "--power=x", "--bb=x", "--bbf=/nosuch", "--no-allocate", "--extra-node-info=1", "--clusters=bench", "--clusters=nosuch",
             "--usage", "--time=1", "--mem=5", "--chdir=/tmp", "--gres=none",
             "--distribution=block", "--cpu-bind=verbose,none", "--export=NONE", "--wait=5", "--threads=2", "--multi-prog", "--hint=x",
             "--accel-bind=x", "--accel-bind=g", "--pty", "--network=x",
             "--tres-bind=x", "--tres-per-task=cpu=1", "--interactive", "--whole", "--container=/nosuch", "--external", "--jobid=x",
             "--stepmgr")
SUBMIT_LONG = ("--account=physics", "--account=chem", "--account=", "--bb=x", "--bbf=/nosuch", "--clusters=bench", "--clusters=nosuch",
               "--constraint=f1", "--constraint=", "--cpus-per-task=2",
               "--cpus-per-task=0", "--error=/dev/null", "--exclude=n1", "--exclude=nosuch", "--extra-node-info=1:2",
               "--extra-node-info=x", "--licenses=lic:1", "--licenses=", "--nodelist=n2",
               "--nodelist=", "--output=none", "--overcommit", "--oversubscribe", "--partition=other", "--partition=", "--power=level",
               "--power=x", "--qos=high", "--qos=", "--quiet", "--quiet",
               "--usage", "--ntasks=3", "--ntasks=", "--minnodes=1", "--array=", "--job-name=", "--time=", "--mem=", "--mem-per-cpu=",
               "--begin=", "--deadline=", "--dependency=", "--nice=x", "--comment=",
               "--gres=", "--reservation=", "--signal=", "--mail-type=", "--mail-user=", "--distribution=", "--exclusive=", "--export=",
               "--requeue=x", "--priority=", "--priority=TOP", "--wckey=",
               "--tmp=", "--switches=", "--switches=1@x", "--network=x", "--uid=alice", "--uid=nosuch", "--gid=", "--umask=022",
               "--umask=x", "--container-id=x", "--extra=e", "--consolidate-segments",
               "--resv-ports=1", "--oom-kill-step", "--oom-kill-step=x", "--tres-per-task=cpu=2", "--tres-per-task=x", "--tres-bind=x",
               "--tres-bind=gres/gpu:none", "--mem-bind=local", "--mem-bind=verbose",
               "--wrap=", "--wait-all-nodes=x", "--batch=", "--ntasks-per-gpu=0", "--ntasks-per-node=0", "--ntasks-per-node=-1",
               "--ntasks-per-core=0", "--cores-per-socket=0", "--cores-per-socket=x",
               "--sockets-per-node=x", "--threads-per-core=x", "--core-spec=x", "--core-spec=-1", "--thread-spec=0", "--acctg-freq=",
               "--acctg-freq=task=x", "--acctg-freq=-1", "--profile=", "--propagate=", "--propagate=CORE,x",
               "--open-mode=", "--no-requeue=x", "--hold=x", "--test-only=x", "--spread-job=x", "--delay-boot=", "--cpu-freq=",
               "--cpu-freq=performance", "--cpu-freq=high-low", "--kill-on-invalid-dep=")


class Wide:
    """A part of a World."""

    def long_option(self):
        """A command in the long words of its page."""
        command = self.pick(sorted(LONG))
        words = self.chosen(LONG[command], 1, 1 if command in ONE_OPTION else 2)
        head = self.pick(LONG_HEADS.get(command, ("",)))
        if command == "sdiag" and "reset" not in words and "usage" not in words:
            words += " | head -1"
        if command == "sattach":
            words = f"{words} </dev/null"
        if command == "sbcast":
            return f"f=$(mktemp -u); sbcast {words} 2>&1 | sed \"s#$f#FILE#\"; rm -f $f"
        if command == "scancel" and not any(word in words for word in ("--interactive", "--usage", "99999")):
            words += " " + self.pick((self.job(), self.job(), f"{self.job()} {self.job()}", ""))
        if "| head" in words or "| wc" in words:
            head, words = "", words if words.count("|") == 1 else words.split(" ")[0]
        return f"{command} {head} {words}"

    def every_field(self):
        """The fields of a list that the other tables leave out."""
        which = self.pick(("squeue", "squeue", "steps", "sinfo", "sinfo", "sacct", "sacct", "sstat", "sshare"))
        fields = ",".join(self.rng.sample(FIELDS[which], self.rng.randint(1, 4)))
        if which in ("squeue", "steps"):
            what = "-s" if which == "steps" else self.pick(("-t all", "-a", ""))
            return f"squeue {what} -S i {self.pick(('-h', '', '-r'))} -O {fields}"
        if which == "sinfo":
            return f"sinfo {self.pick(('', '-N', '-a', '-h', '-N -n n1'))} -O {fields}"
        if which == "sacct":
            return f"sacct {self.pick(('-nP', '-P', '-n', '-nXP', '-X'))} -j {self.job()} -o {fields}"
        if which == "sstat":
            return f"sstat {self.pick(('-nP', '-P', '-n', ''))} -j {self.job()} -o {fields}"
        return f"sshare {self.pick(('-nP', '-P', '-n', ''))} {self.pick(('', '-a', '-u alice', '-A physics'))} -o {fields}"

    def every_entity_field(self):
        entity = self.pick(sorted(ENTITY))
        fields = ",".join(f + (self.pick(("", "", "%6", "%-9")) if "%" not in f else "")
                          for f in self.rng.sample(ENTITY[entity], min(len(ENTITY[entity]), self.rng.randint(1, 5))))
        return (f"sacctmgr {self.pick(('-nP', '-P', '-n', '', '-p'))} {self.pick(('list', 'show'))} {entity} {self.pick(ENTITY_WIDE)} "
                f"format={fields}")

    def every_report_field(self):
        report = self.pick(sorted(REPORTED))
        fields = ",".join(self.some(REPORTED[report], 1, 4))
        more = self.pick(("", "start=midnight", "-T cpu", "-T ALL", "tree"))
        return (f"sreport {self.pick(('-n', '-nP', '-P', '', '-p'))} {report} {more} "
                f"format={fields} | grep -v '^Cluster Util\\|^Usage reported\\|^Top\\|^Job Sizes\\|^Reservation\\|^Cluster/'")

    def wide_update(self):
        """A key of an update that the other tables leave out; two of them at times."""
        what = self.pick(("job", "job", "node", "partition", "reservation", "reservation"))
        if what == "job":
            words = self.chosen(WIDE_JOB, 1, 2)
            return f"scontrol update jobid={self.job()} {words}"
        if what == "node":
            return f"scontrol update nodename={self.pick(('n1', 'n2', 'n4', 'n[1-2]'))} {self.chosen(WIDE_NODE, 1, 1)}"
        if what == "partition":
            return (f"scontrol {self.pick(('update', 'update', 'create'))} partitionname={self.pick(('other', 'new1', 'new2'))} "
                    f"{self.chosen(WIDE_PART, 1, 2)}")
        if self.rng.random() < 0.5:
            self.resvs.append("r1")
            whose = self.pick(("users=alice", "accounts=physics", "users=root"))
            return (f"scontrol create reservationname=r1 starttime=now+1hour duration=60 {whose} "
                    f"{self.pick(('nodes=n1', 'nodecnt=1', 'nodes=ALL', ''))} {self.chosen(WIDE_RESV, 0, 2)}")
        return f"scontrol update reservationname=r1 {self.chosen(WIDE_RESV, 1, 2)}"

    def wide_verb(self):
        return f"scontrol {self.fill(self.pick(WIDE_VERBS))}"

    def site(self):
        return f"sacctmgr {self.fill(self.pick(SITE))}"

    def site_file(self):
        """Accounts that a site keeps in a file."""
        lines = [self.pick(LOADED), *self.rng.sample(LOADED_LINES, self.rng.choice((1, 1, 2)))]
        text = "\n".join(filter(None, lines)).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"').replace("%", "%%")
        return (f"f=$(mktemp); printf \"{text}\\n\" >$f; sacctmgr -i load {self.pick(('$f', 'file=$f'))}"
                f"{self.pick(('', '', '', ' cluster=bench', ' clean=x', ' nosuch=1'))} 2>&1 | sed \"s#$f#FILE#\"; rm -f $f")

    def beside(self):
        """An allocation or a batch job with a step, and the tools that reach into it."""
        steps = "; ".join(self.rng.sample(BESIDE, self.rng.choice((1, 2))))
        steps = steps.replace("{o}", self.pick(STEP_LONG)).replace("{b}", self.pick(("-p", "-C", "--fanout=1", "--size=4k", "--timeout=5")))
        size = self.pick(("-n2", "-n1", "-N2 -n2", "-n4"))
        return (f"f=$(mktemp -u); id=$(sbatch --parsable -o /dev/null {size} -J beside --wrap 'srun --overlap -n1 sleep 60') || exit; "
                "for i in $(seq 60); do squeue -h -s -j $id -o %i | grep -q '[.]0$' && break; sleep 0.1; done; "
                f"{steps}; rm -f $f; scancel -Q $id")

    def submit_long(self):
        self.jobs += 1
        return f"sbatch -o /dev/null {self.chosen(SUBMIT_LONG, 1, 2)} --wrap '{self.pick(('sleep 600', 'true'))}'"

    def step_long(self):
        return f"srun -I1 {self.chosen(STEP_LONG, 1, 2)} {self.pick(('true', 'echo hello', 'false'))} </dev/null"

    WIDE_KINDS = (("long_option", 24), ("every_field", 16), ("every_entity_field", 16), ("every_report_field", 5), ("wide_update", 22),
                  ("wide_verb", 22), ("site", 34), ("site_file", 5), ("beside", 5), ("submit_long", 10), ("step_long", 4))
    WIDE_ADMINISTRATIVE = ("wide_update", "wide_verb", "site", "site_file")
