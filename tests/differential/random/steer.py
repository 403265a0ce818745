"""Random commands of those who run a cluster: every entity of sacctmgr with every clause, questions asked before a change, nodes that
come and go, reservations, triggers, the interactive prompts, and lists with several filters at once."""

# What stands behind add, modify and delete: known and unknown names, several, none, and words in another place.
NAMES = {
    "account": ("physics", "chem", "science", "new", "sub", "nosuch", "physics,chem", "new,sub", "root", "''", "PHYSICS",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "9"),
    "user": ("alice", "bob", "carol", "dave", "nosuch", "alice,bob", "dave,eve", "root", "''", "ALICE", "2001"),
    "qos": ("high", "low", "normal", "q1", "q2", "nosuch", "high,low", "q1,q2", "''", "HIGH", "1"),
    "wckey": ("w1", "w2", "nosuch", "w1,w2", "''"),
    "resource": ("res1", "res2", "nosuch", "''", "res1,res2"),
    "federation": ("fed1", "fed2", "nosuch", "''"),
    "cluster": ("nosuch", "c2", "''", "c2,c3"),
    "coordinator": ("alice", "carol", "bob,alice", "nosuch", "''"),
    "transaction": ("x",),
    "event": ("n1",),
    "tres": ("cpu",),
    "assoc": ("alice", ""),
    "job": ("1", "x"),
    "x": ("x",),
    "runawayjobs": ("x",),
    "problem": ("x",),
    "reservation": ("r1",),
}
ENTITIES = ("account", "account", "account", "user", "user", "user", "user", "qos", "qos", "qos", "resource", "federation",
            "cluster", "coordinator", "assoc", "job", "tres", "event", "transaction", "x")
ABBREVIATIONS = {
    "account": ("acc", "acct", "accounts", "Account"),
    "user": ("us", "users", "u", "User"),
    "qos": ("QOS", "q"),
    "wckey": ("wck", "wckeys"),
    "resource": ("res", "resources"),
    "federation": ("fed", "federations"),
    "cluster": ("cl", "clusters"),
    "coordinator": ("coord", "coordinators", "co"),
    "assoc": ("association", "associations", "as"),
    "transaction": ("txn", "tr"),
    "event": ("events", "ev"),
    "tres": ("TRES", "tr"),
    "job": ("jobs", "j"),
}
# Words that Debian's Slurm knows in a list and not in that change: there is nothing to compare.
NOT_IN = {
    "list": ("federations", "resources", "res", "co"),
    "add": ("accounts", "users", "clusters", "coordinators", "federations", "resources", "jobs"),
    "modify": ("cl", "federations", "resources", "jobs"),
    "delete": ("q", "resources", "jobs"),
}
# Clauses of a change, good and bad ones.
SETS = {
    "account": ("description=d", "organization=o", "parent=science", "parent=root", "parent=nosuch", "parent=new", "fairshare=5",
                "fairshare=parent", "maxjobs=3", "maxjobs=-1", "maxsubmit=9", "maxwall=60", "maxwall=-1", "grptres=cpu=8",
                "grptres=cpu=-1", "qos=normal", "qos+=low", "qos-=low", "qos=", "defaultqos=high", "defaultqos=", "priority=7",
                "priority=-1", "rawusage=0", "rawusage=5", "comment=c", "description=", "organization=", "cluster=bench",
                "cluster=nosuch", "nosuch=1", "fairshare=-5", "fairshare=x", "qos=nosuch", "grpjobs=2", "grpjobs=-1", "grpsubmit=4",
                "maxtres=mem=500,cpu=2", "maxtres=mem=-1,cpu=-1", "name=chem", "maxjobs", "=5", "grpwall=1:00:00", "grpwall=-1",
                "maxwall=1-0", "lineage=x", "withassoc"),
    "user": ("account=physics", "account=chem", "account=new", "account=physics,chem", "account=nosuch", "defaultaccount=chem",
             "defaultaccount=physics", "defaultaccount=nosuch", "adminlevel=Admin", "adminlevel=none", "adminlevel=op", "adminlevel=x",
             "fairshare=3", "maxjobs=2", "maxjobs=-1", "partition=main", "partition=main,other", "partition=nosuch", "qos=high",
             "qos+=high", "qos-=high", "defaultqos=high", "defaultqos=low", "defaultqos=-1", "rawusage=0", "maxwall=5", "maxwall=-1",
             "maxsubmit=3", "grptres=node=2", "grptres=node=-1", "priority=2", "cluster=bench", "cluster=nosuch", "defaultwckey=w1",
             "wckey=w1", "newname=zed", "newname=", "coordinator=chem", "nosuch=1", "maxjobs=x", "fairshare=", "adminlevel=",
             "name=alice"),
    "qos": ("priority=3", "priority=-1", "description=d", "maxwall=30", "maxwall=-1", "flags=denyonlimit", "flags=-1", "flags=+nodecay",
            "flags=-denyonlimit", "flags=denyonlimit,nodecay", "flags=x", "flags=partitionmaxnodes,enforceusagethreshold",
            "flags=requiresreservation", "preempt=low", "preempt+=normal", "preempt-=low", "preempt=", "preemptmode=requeue",
            "preemptmode=cancel", "preemptmode=off", "preemptmode=x", "preemptmode=cluster", "gracetime=60", "gracetime=-1",
            "usagefactor=0.5", "usagefactor=-1", "usagethreshold=0.3", "usagethreshold=-1", "maxjobspu=2", "maxjobspu=-1",
            "maxtrespu=cpu=3", "maxtrespu=cpu=-1", "grptres=mem=1G,cpu=2", "grptres=mem=-1,cpu=-1", "mintres=cpu=1", "mintres=cpu=-1",
            "rawusage=0", "rawusage=x", "name=high", "newname=q9", "nosuch=1", "limitfactor=2", "limitfactor=-1", "grpjobs=x",
            "maxsubmitpu=5", "maxsubmitpu=-1", "preemptexempttime=60", "preemptexempttime=-1", "minpriothreshold=9",
            "minpriothreshold=-1", "id=1", "cluster=bench"),
    "wckey": ("cluster=bench", "user=alice", "users=alice,bob", "cluster=nosuch", "user=nosuch", "nosuch=1", "names=w1"),
    "resource": ("cluster=bench", "count=10", "count=5", "percentallowed=50", "allowed=20", "percentallowed=101", "percentallowed=x",
                 "server=s1", "server=", "type=license", "type=x", "servertype=flexlm", "manager=m", "description=d", "cluster=nosuch",
                 "flags=x", "count=x", "count=-1", "lastconsumed=3", "flags=absolute", "percentallowed=0", "nosuch=1"),
    "federation": ("flags=x", "nosuch=1", "clusters=nosuch", ""),
    "cluster": ("classification=capacity", "classification=x", "classification=", "fairshare=2", "nosuch=1", "maxjobs=9", "maxjobs=-1",
                "flags=x", "qos=normal", "defaultqos=normal", "federation=", "fedstate=x", "features=x", "maxwall=-1"),
    "coordinator": ("account=physics", "accounts=chem", "account=nosuch", "names=alice", "names=carol", "account=physics,chem",
                    "nosuch=1", "names=nosuch", "cluster=bench"),
    "assoc": ("maxjobs=1", "user=alice"),
    "job": ("comment=c", "admincomment=a", "derivedexitcode=3", "derivedexitcode=x", "jobid=1", "wckey=w1", "nosuch=1", "extra=e",
            "systemcomment=s", "comment="),
    "tres": ("name=x", ""),
    "event": ("reason=x", "node=n1", ""),
    "transaction": ("x=1", ""),
    "x": ("", "x=1"),
}
WHERES = {
    "account": ("name=physics", "account=chem", "name=physics,chem", "parent=science", "cluster=bench", "description=chem",
                "organization=chem", "name=nosuch", "qos=high", "user=alice", "cluster=nosuch", "name=", "nosuch=1", "names=new",
                "withdeleted"),
    "user": ("name=alice", "user=alice", "user=bob account=chem", "account=physics", "cluster=bench", "partition=main",
             "adminlevel=operator", "defaultaccount=physics", "name=nosuch", "user=alice cluster=nosuch", "name=", "nosuch=1",
             "user=carol,alice account=chem,physics", "account=nosuch", "withdeleted", "user=dave", "defaultqos=high", "qos=high"),
    "qos": ("name=high", "name=q1", "names=q1,q2", "id=2", "description=d", "name=nosuch", "name=", "nosuch=1", "id=99", "id=x",
            "withdeleted", "cluster=bench", "preemptmode=off"),
    "wckey": ("name=w1", "user=alice", "cluster=bench", "name=nosuch", "nosuch=1", "id=1"),
    "resource": ("name=res1", "server=s1", "cluster=bench", "type=license", "name=nosuch", "nosuch=1", "percentallowed=50", "id=1"),
    "federation": ("name=fed1", "name=nosuch", "nosuch=1", "cluster=bench"),
    "cluster": ("name=bench", "cluster=bench", "name=nosuch", "classification=x", "nosuch=1", "flags=x", "federation=fed1"),
    "coordinator": ("account=chem", "names=alice", "account=physics names=carol", "nosuch=1", "account=nosuch"),
    "assoc": ("user=alice", "account=physics"),
    "job": ("jobid={job}", "jobid={job},{job}", "user=alice", "cluster=bench jobid={job}", "jobid=x", "nosuch=1", "jobid=99999",
            "account=physics", "state=x", "starttime=now-1hour jobid={job}"),
    "tres": ("type=cpu", ""),
    "event": ("node=n1", ""),
    "transaction": ("action=x", ""),
    "x": ("x=1", ""),
}
LISTED = {
    "event": ("all_clusters", "all_time", "nodes=n1", "nodes=n[1-2]", "event=cluster", "event=node", "event=x", "state=drain", "state=x",
              "reason=why", "maxcpus=4", "mincpus=1", "maxcpus=x", "maxtres=cpu=4", "start=now-1hour", "start=2010-01-01", "end=now",
              "start=x", "cond=open", "nosuch=1", "users=root", "users=nosuch", "cluster=bench", "cluster=nosuch", "mintres=x",
              "cond_flags=open"),
    "transaction": ("actor=root", "actor=nosuch", "action=Add_Users", "action=add", "action=x", "start=now-1hour", "end=now-1hour",
                    "user=alice", "account=physics", "cluster=bench", "withassocinfo", "withassoc", "id=1", "nosuch=1", "start=x"),
    "account": ("withassoc", "withcoord", "withdeleted", "name=physics", "wopi", "parent=science", "cluster=bench", "user=alice",
                "qos=high", "organization=chem", "description=chem", "name=physics,chem", "names=", "flags=x", "withsubaccounts",
                "nosuch"),
    "user": ("withassoc", "withcoord", "withdeleted", "name=alice", "adminlevel=operator", "defaultaccount=physics", "account=physics",
             "partition=main", "cluster=bench", "wckey=w1", "name=alice,carol", "withassoc wopi", "withassoc wopl", "uid=2001", "nosuch",
             "name=dave"),
    "assoc": ("tree", "tree account=science", "user=alice", "account=physics,chem", "partition=main", "qos=high", "defaultqos=high",
              "wopinfo", "wolimits", "onlydefaults", "withsubaccounts account=science", "user=", "parent=science", "cluster=nosuch",
              "withraw", "withdeleted", "id=1-2", "id=1,2,3", "user=root", "names=x", "user=alice,bob wopi", "tree user=alice",
              "fairshare=1", "flags=x"),
    "qos": ("withdeleted", "name=high", "id=1,2", "name=normal,low", "preemptmode=cluster", "withclusters", "description=high", "names=",
            "nosuch"),
    "wckey": ("withdeleted", "user=alice", "name=w1", "cluster=bench", "id=1", "nosuch=1"),
    "resource": ("withclusters", "withdeleted", "name=res1", "server=s1", "cluster=bench", "type=license", "percentallowed=50",
                 "nosuch=1"),
    "federation": ("tree", "cluster=bench", "name=fed1", "nosuch=1"),
    "cluster": ("withfed", "name=bench", "classification=x", "wolimits", "withdeleted", "nosuch=1", "pluginids=x", "flags=x"),
    "tres": ("type=cpu", "id=1", "name=lic", "type=license", "withdeleted", "nosuch=1", "type=x", "id=1,2,4", "name=gpu"),
    "coordinator": ("account=chem", "user=carol", "nosuch=1"),
    "runawayjobs": ("cluster=bench", "nosuch=1", "format=id"),
    "problem": ("cluster=bench", "user=alice", "nosuch=1"),
    "reservation": ("name=r1", "nodes=n1", "id=1", "cluster=bench", "start=now-1hour", "nosuch=1", "names=r3"),
    "x": ("", "x"),
}
VERBS = {
    "add": ("add", "add", "create", "ad"),
    "modify": ("modify", "modify", "mod", "update"),
    "delete": ("delete", "remove", "del", "rem"),
}
PARTITION_WORDS = ("state=up", "state=inactive", "maxtime=30", "maxtime=infinite", "nodes=n[1-2]", "nodes=n4", "nodes=ALL", "default=no",
                   "hidden=yes", "hidden=no", "rootonly=yes", "rootonly=no", "prioritytier=4", "priorityjobfactor=9",
                   "allowaccounts=physics", "allowaccounts=ALL", "denyaccounts=chem", "denyaccounts=", "allowqos=high", "allowqos=ALL",
                   "denyqos=low", "maxnodes=2", "maxnodes=unlimited", "minnodes=1", "defaulttime=10", "defaulttime=none",
                   "oversubscribe=force:2", "oversubscribe=exclusive", "oversubscribe=no", "preemptmode=requeue", "preemptmode=off",
                   "qos=high", "qos=", "gracetime=30", "maxcpuspernode=3", "maxcpuspernode=unlimited", "overtimelimit=5", "lln=yes",
                   "alternate=main", "alternate=none", "jobdefaults=defcpupergpu=2", "tresbillingweights=cpu=2,mem=0.5g", "allocnodes=n1",
                   "allocnodes=ALL", "exclusiveuser=yes", "exclusiveuser=no", "reqresv=yes", "reqresv=no", "defmempercpu=50",
                   "maxmempercpu=100", "maxmempernode=900", "defmempernode=200", "disablerootjobs=yes", "disablerootjobs=no",
                   "allowgroups=research", "allowgroups=ALL")
NODE_WORDS = ("state=drain reason=why", "state=drain", "state=down reason=broken", "state=resume", "state=undrain", "state=fail reason=f",
              "state=idle", "state=future", "state=power_down", "state=power_up", "state=down", "reason=because", "weight=3", "weight=1",
              "availablefeatures=f1,f5", "activefeatures=f1", "comment=c", "comment=", "extra=e", "extra=", "gres=tool:1",
              "cpubind=socket", "resumeafter=60", "state=drain reason=why weight=2", "reason=''", "nodehostname=x", "nodeaddr=x")
NODE_NAMES = ("n1", "n2", "n[1-2]", "n3,n4", "ALL", "n9", "n[1-9]", "n1,n9", "", "n1,n1", "N1")
VERB_WORDS = ("errnumstr 2015", "errnumstr 2040", "errnumstr x", "errnumstr 0", "errnumstr 1", "errnumstr", "ping", "ping x", "version x",
              "listpids", "setdebug info", "setdebug x", "setdebug 3", "setdebug", "setdebugflags +backfill", "setdebugflags -backfill",
              "setdebugflags x", "setdebugflags", "setdebugflags backfill", "schedloglevel 0", "schedloglevel enable", "schedloglevel x",
              "schedloglevel", "reconfigure", "reconfigure x", "takeover x", "reboot", "reboot n1", "reboot n9", "reboot asap n1",
              "reboot nextstate=resume n2", "reboot nextstate=x n2", "reboot reason=why n3", "reboot ALL", "cancel_reboot",
              "cancel_reboot n1", "cancel_reboot n9", "cancel_reboot n[1-4]", "power up n1", "power down n1", "power down n9",
              "power x n1", "power", "power up", "power asap n1", "power down_asap n2", "power up n[1-4]", "power down ALL",
              "fsdampeningfactor 3", "fsdampeningfactor x", "fsdampeningfactor 0", "fsdampeningfactor", "details", "oneliner", "all",
              "hide", "quiet", "verbose", "exit", "quit", "!!", "help | head -1", "cluster bench", "cluster nosuch", "write", "write x",
              "write config", "write batch_script", "write batch_script 99999", "write batch_script {job} /nosuch/x", "getaddrs n1",
              "getaddrs n9", "token x", "token lifespan=x", "token", "notify {job} hello", "notify {job}", "notify x hello", "notify",
              "notify 99999 hello", "wait_job {job}", "callerid", "callerid 1", "checkpoint x", "pidinfo", "pidinfo x", "pidinfo 1",
              "pidinfo 99999999", "show", "create", "create x", "create x=1", "delete", "delete x", "delete x=1", "delete jobid=1",
              "delete nodename=n9", "update", "update x", "update x=1", "update slurmctlddebug=x", "update suspendexcnodes=n1",
              "update stepid={job}.0 timelimit=5", "update stepid=x timelimit=5", "update step={job}.0", "create nodename=n1",
              "create nodename=n7 cpus=2 state=future", "create nodename=n7 cpus=2 state=x", "create nodename=n7 nosuch=1",
              "create nodename=", "create frontend=x", "completing", "completing x", "show config x y", "top", "top {job}",
              "top {job},{job}", "top x", "release", "hold", "suspend", "resume", "requeue", "requeuehold", "uhold", "requeue x",
              "resume x", "suspend x", "requeue incomplete {job}", "requeuehold state=specialexit {job}", "requeuehold state=x {job}",
              "requeue {job} x", "hold x", "release x", "release {job} {job}", "update jobid={job}", "update jobid=",
              "update jobid={job} x", "update job {job} nice=1", "update nice=1 job={job}", "update jobid={job},x nice=1",
              "update partition=main", "update nodename=n1", "update nodename=n1 x", "update reservationname=nosuch",
              "show jobs {job},{job}", "show -o job {job}", "show job={job}", "show node=n1", "show partition=main", "show users",
              "show assoc", "show assoc_mgr flags=users users=alice | grep -c UserName=",
              "show assoc_mgr accounts=chem flags=assoc | grep -c ClusterName=", "show assoc_mgr qos=high flags=qos | grep QOS=",
              "show dwstat", "show bbstat x", "show slurmd x", "show daemons x", "show federation x", "show hostlist",
              "show hostlist n[3,1]", "show hostnames", "show hostnames n[1-3]-x", "show licenses lic2", "-o show license lic",
              "show node n1,n9", "show node n[1-2] -o", "show res ALL", "show step 99999.0", "show step x", "show aliases n1,n2",
              "show topology x")
TRIGGER_EVENTS = ("--node", "--node=n1", "--node=n[1-2] --down", "--down", "--up", "--drained", "--idle", "--fail", "--reconfig",
                  "--time -j {job}", "--fini -j {job}", "--primary_slurmctld_failure", "--primary_slurmctld_resumed_operation",
                  "--primary_slurmctld_acct_buffer_full", "--primary_slurmdbd_failure", "--primary_slurmdbd_resumed_operation",
                  "--primary_database_failure", "--backup_slurmctld_failure", "--burst_buffer", "--block_err", "-a", "-A", "-B", "-b",
                  "-c", "-C", "-d", "-D", "-e", "-f -j {job}", "-F", "-g", "-G", "-h", "-H", "-I", "-r", "-t -j {job}", "-u")
TRIGGER_WORDS = ("", "", "--offset=30", "--offset=-30", "-o 5", "--offset=x", "--flags=perm", "--flags=x", "-j x", "-j 99999", "-n n1",
                 "-n n9", "--node", "-Q", "-M bench", "-M nosuch", "--offset=99999999", "-u alice", "x", "-j {job} --node=n1",
                 "--program=/bin/false")
SQUEUE_FILTERS = ("-u alice", "-u alice,bob", "-u 2001", "-u nosuch", "-u ''", "-A physics", "-A physics,chem", "-A nosuch",
                  "-q high,normal", "-p main", "-p other,main", "-p nosuch", "-t R", "-t pd,r", "-t all", "-t x", "-t 1", "-t ''",
                  "-t Running,PENDING", "-w n1", "-w n[1-4]", "-w n9", "-n wrap", "-n one,wrap", "-n ''", "-j {job}", "-j {job},{job}",
                  "-j x", "-j {job}_1", "-j ''", "-r", "-a", "--hide", "-L lic", "-L nosuch", "-R r1", "-R nosuch", "-S i", "-S -t,i",
                  "-S +i", "-S x", "-S ''", "-S N", "-S -p", "-S P,-i", "-S u,i", "-M bench", "-M nosuch", "--me", "-P", "--federation",
                  "--local", "--sibling", "--start", "-i 0", "-i x", "-l", "-h", "-s", "--name=wrap", "--priority",
                  "--nosuch", "-n nosuch")
SQUEUE_SHAPES = ("-o '%i %T %u'", "-o '%A|%P|%j'", "-h -o %i", "-O jobid,statecompact", "-O 'jobid:.9,name:-5'", "-o '%.7i %.9P %8j'", "",
                 "-h", "-o 'x%iy%%'", "-o '%i%t'", "-o ''", "-O ''", "-o '%'", "-o '%5'", "-o 'text'", "-O jobid,,name", "-O jobid:",
                 "-o '%i %T' -O jobid")
SINFO_FILTERS = ("-p main", "-p main,other", "-p closed", "-p nosuch", "-p ''", "-n n1", "-n n[1-4]", "-n n9", "-n ''", "-t idle",
                 "-t IDLE,MIXED", "-t drain", "-t 'idle&drain'", "-t x", "-t all", "-t down,fail", "-t ''", "-N", "-e", "-r", "-d", "-a",
                 "--hide", "-S P", "-S -n", "-S x", "-S N", "-S '-c,m'", "-S ''", "-M bench", "-M nosuch", "-l", "-h", "-s", "-R", "-T",
                 "--federation", "--local", "-i 0", "-i x", "-F", "--nosuch", "-t unk", "-t power_down", "-t maint", "-t resv",
                 "-t planned", "-t reboot", "-t cloud")
SINFO_SHAPES = ("-o '%P %D %t'", "-o '%N|%T'", "-h -o '%n %E'", "-O nodelist,statelong", "-O 'partition:.9,nodes:-3'", "", "-h",
                "-o '%P %a %l %F'", "-o '%R %C %m'", "-o ''", "-o '%'", "-o 'x%Py%%'", "-O partition,,nodes", "-o '%P %N' -O nodes",
                "-o '%D %f %b %G'", "-o '%p %r %s %h'", "-o '%n %w %O' -N", "-o '%10P%.3D'")
SACCT_SHAPE = ("-o jobid,state", "-o jobid,jobname%4,user", "-o jobid%-9,exitcode", "-b", "-l | wc -l", "-B", "-o ''", "-o jobid,,state",
               "-o jobid -P", "-o JobID,STATE -n", "-e | wc -l", "-o jobid,nosuch", "-V | cut -c1-5", "-o jobid%", "-o %5",
               "--env-vars -j {job}", "-B -j {job}")
SACCT_MORE = ("-X", "-a", "-u alice", "-u alice,bob", "-A physics", "-A physics,chem", "-j {job}", "-j {job},{job}", "-j {job}.0",
              "-j {job}.batch", "-j {job}.x", "-j ''", "-N n1", "-r main,other", "-s pd,r", "-s all", "-q high,low", "-q 1",
              "-S now-2hours", "-S now-1day -E now", "-E now -S now-1hour", "-D", "-p", "-P", "-n", "-L", "-M bench", "--name wrap",
              "-g research", "-x 0", "-i 1-2", "-I 1-4", "-T", "-W w1", "-R x", "-k 1 -K 5", "-k 5 -K 1", "--whole-hetjob=yes",
              "--whole-hetjob=x", "--duplicates", "-F x", "--flags=x", "--uid 2001", "--timelimit-min=10", "-c x",
              "--delimiter=x -P", "--noconvert", "--truncate")
REPORT_KINDS = ("cluster AccountUtilizationByUser", "cluster UserUtilizationByAccount", "cluster UserUtilizationByWckey",
                "cluster WCKeyUtilizationByUser", "cluster Utilization", "job SizesByAccount", "job SizesByAccountAndWckey",
                "job SizesByWckey", "reservation Utilization", "user TopUsage", "cluster acc", "job sizesby", "user t", "res util",
                "cluster u", "job s", "x y")
REPORT_CLAUSES = ("start=midnight", "start=midnight-1day end=midnight", "end=now start=now-1day", "start=now end=now-1day", "start=x",
                  "end=", "cluster=bench", "clusters=bench,nosuch", "accounts=physics", "accounts=physics,chem", "users=alice",
                  "users=alice,bob", "user=", "tree", "format=cluster,account,login,used", "format=login", "format=cluster%20,used%-9",
                  "format=", "format=used,nosuch", "-T cpu", "-T cpu,mem", "-T all", "-T x", "-t hours", "-t percent", "-t minutes",
                  "-t x", "-t hourper", "-n", "-p", "-P", "-P -n", "-Q", "topcount=1", "topcount=0", "topcount=x", "group",
                  "grouping=2", "grouping=1,2,3", "grouping=individual", "grouping=x", "flatview", "acct_as_parent", "partitions=main",
                  "gid=research", "names=r1", "names=", "ids=1", "ids=x", "jobs=1", "nodes=n1", "printjobcount", "all_clusters",
                  "wckeys=w1", "where", "where users=alice", "--parsable2", "--local", "--federation", "-M bench", "nosuch", "nosuch=1",
                  "alice", "start", "fixedtime")
SSHARE_WORDS = ("-a", "-u alice", "-u alice,bob", "-u 2001", "-A physics", "-A chem,physics", "-A science", "-l", "-n", "-h", "-p", "-P",
                "-m", "-U", "-M bench", "-e", "-u nosuch", "-A nosuch", "x")
SSHARE_SHAPES = ("account,user", "account%-20,user%5", "cluster,account", "user,rawshares,normshares", "partition,account", "nosuch",
                 "account,")
SPRIO_WORDS = ("-j {job}", "-j {job},{job}", "-u alice", "-u 2001", "-u alice,nosuch", "-p main", "-p main,other", "-n", "-l", "-w", "-h",
               "-M bench", "-S i", "-S -i", "-S u,i", "-S x", "x", "-j x", "-p")
SPRIO_SHAPES = ("'%i %u'", "%i", "'%.9i %9r'", "x", "%", "'%i %Q %z'", "''")
SDIAG_WORDS = ("-a", "-r", "-i", "-T", "-M bench", "-M nosuch", "x", "--sort-by-id", "--sort-by-time2", "-h")
RESERVATION_WORDS = ("starttime=now", "starttime=now+1hour", "starttime=tomorrow", "starttime=x", "duration=30", "duration=1-0",
                     "duration=x", "duration=infinite", "endtime=now+2hours", "endtime=now-1hour", "users=alice", "users=alice,bob",
                     "users=nosuch", "users+=carol", "users-=alice", "users=-carol", "accounts=physics", "accounts=-chem",
                     "accounts=nosuch", "accounts+=chem", "nodes=n1", "nodes=n[1-2]", "nodes=ALL", "nodes=n9", "nodes+=n3", "nodes-=n1",
                     "nodes=", "nodecnt=1", "nodecnt=2", "nodecnt=9", "corecnt=2", "corecnt=1,1 nodes=n[1-2]", "flags=maint",
                     "flags=ignore_jobs", "flags=daily", "flags=weekday", "flags=overlap", "flags=flex", "flags=magnetic",
                     "flags=replace", "flags=x", "flags+=maint", "flags-=maint", "flags=purge_comp=5", "flags=static_alloc",
                     "flags=any_nodes", "licenses=lic:1", "licenses=lic:9", "licenses=nosuch:1", "features=f1", "'features=f1&f2'",
                     "features=nosuch", "partition=main", "partition=other", "partition=nosuch", "groups=research", "maxstartdelay=10",
                     "tres=node=1", "tres=cpu=2", "tres=license/lic=1", "nosuch=1", "purgecomp=5", "skip", "partitionname=main nodes=ALL",
                     "users=alice accounts=physics", "burstbuffer=x", "reservationname=r9")


class Steer:
    """A part of a World."""

    def chosen(self, values, least, most):
        """Different words of which one at most is wrong: which of two mistakes is told is no question."""
        words = self.rng.sample(values, min(len(values), self.rng.randint(least, most)))
        wrong = [w for w in words if is_wrong(w)]
        return " ".join(self.fill(w) for w in words if w not in wrong[1:])

    def entity_word(self, entity, verb="list"):
        return self.pick([w for w in (entity, entity, entity, *ABBREVIATIONS.get(entity, ())) if w not in NOT_IN.get(verb, ())])

    def manage(self):
        """sacctmgr with a verb, an entity and clauses in several orders."""
        entity, verb = self.pick(ENTITIES), self.pick(("add", "add", "modify", "modify", "modify", "delete", "delete"))
        name = self.pick(NAMES[entity])
        asked = self.pick(("-i", "-i", "-i", "-i", "-iQ", "-i -n", "-i --parsable", "-i -i"))
        head = f"sacctmgr {asked} {self.pick(VERBS[verb])} {self.entity_word(entity, verb)}"
        sets, wheres = self.chosen(SETS[entity], 1, 2), self.chosen(WHERES[entity], 1, 2)
        if any(map(is_wrong, sets.split())):
            name = NAMES[entity][0]
            wheres = f"{WHERES[entity][0]}"
        if entity in ("account", "user") and name in ("root", "''") and verb == "delete":
            name = "nosuch"  # without these nothing is left to compare
        if verb == "add":
            name = self.pick((name, name, f"name={name}", "" if entity in ("qos", "federation") else f"names={name}", ""))
            return f"{head} {self.pick((f'{name} {sets}', f'{name} {sets}', f'{name}', f'{sets} {name}'))}"
        if verb == "modify":
            return f"{head} " + self.pick((f"{name} set {sets}", f"where {wheres} set {sets}", f"set {sets} where {wheres}",
                                           f"{name} where {wheres} set {sets}",
                                           f"{wheres} set {sets}", f"{name} {sets}", f"set {sets}", f"where {wheres}", f"{name} set"))
        if entity == "cluster" or entity in ("account", "user", "qos") and not re_named(wheres):
            wheres = "name=nosuch"
        return f"{head} {self.pick((name, name, f'where {wheres}', f'name={name}', f'{name} where {wheres}', f'{wheres}'))}"

    def asked_first(self):
        """Without -i, with an answer to the question on the standard input or none; and what stands in the interactive prompt."""
        answer = self.pick(("y\\n", "n\\n", "Y\\n", "yes\\n", "\\n", "x\\nn\\n", "", "x\\ny\\n"))
        entity = self.pick(("account", "user", "qos", "coordinator"))
        change = self.pick({
            "account": ("add account new", "modify account physics set maxjobs=4", "modify account nosuch set maxjobs=4",
                        "delete account new", "modify account physics set grpjobs=-1",
                        "add account physics", "delete account nosuch"),
            "user": ("add user dave account=chem", "modify user alice set maxjobs=4", "modify user alice set nosuch=1",
                     "delete user dave", "add user alice account=physics",
                     "modify user alice,bob set maxsubmit=-1"),
            "qos": ("add qos q1", "modify qos high set priority=5", "delete qos q1", "add qos high", "modify qos nosuch set priority=5"),
            "coordinator": ("add coordinator account=chem names=alice", "delete coordinator account=chem names=alice",
                            "delete coordinator account=nosuch names=alice"),
        }[entity])
        if self.rng.random() < 0.6:
            return f'printf "{answer}" | sacctmgr {self.pick(("", "", "-Q "))}{change}'
        lines = self.pick(("list qos format=name -n\\n", "show user alice format=user\\nquit\\n", "nosuch\\nexit\\n",
                           "quiet\\nlist account format=account\\n", "parsable\\nlist qos format=name\\n",
                           "!!\\n", "help\\n", "list nosuch\\nlist qos format=name\\n", "exit x\\n",
                           "oneliner\\nlist tres format=type,name\\n", "verbose\\nquit\\n", "# words\\n",
                           "readonly\\nadd account ro\\n", "rollback x\\n", "associations\\n", "ping x\\n", "dump\\n",
                           "list qos format=name%3 where name=high\\n"))
        return f"printf \"{lines}\" | sacctmgr{self.pick(('', ' -n', ' -P', ' -i'))} | head -20"

    def prompt_of_scontrol(self):
        lines = self.pick(("show hostnames n[1-2]\\nquit\\n", "nosuch\\nshow node n9\\n", "oneliner\\nshow partition main\\nexit\\n",
                           "show job {job}\\nhold {job}\\n", "!!\\n", "show hostlist n1,n2\\n!!\\n",
                           "quiet\\nupdate job={job} nice=x\\n", "update node=n1 reason='two words'\\nshow node n1\\n",
                           "exit x\\nshow hostnames a,b\\n", "all\\nhide\\nping\\n", "# words\\n",
                           "errnumstr 2015\\n", "show partition nosuch\\nshow hostnames a\\n", "details\\nshow job {job} | true\\n"))
        return f"printf \"{self.fill(lines)}\" | scontrol{self.pick(('', ' -o', ' -Q'))} | grep -v Time= | head -20"

    def listed(self):
        entity = self.pick(sorted(LISTED))
        words = self.chosen(LISTED[entity], 0, 3)
        shape = self.pick(("", "-n", "-P", "-nP", "-p", "-Q"))
        fields = {"event": "node,state,reason", "transaction": "action,where", "account": "account,descr", "user": "user,admin,def",
                  "assoc": "account,user,maxjobs,qos", "qos": "name,priority,flags",
                  "wckey": "wckey,user", "resource": "name,server,type,count,cluster,allowed", "federation": "federation,cluster",
                  "cluster": "cluster,share,qos", "tres": "type,name,id",
                  "reservation": "name,assoc"}.get(entity)
        form = self.pick((f"format={fields}", f"format={fields}", f"-o {fields}", "format=nosuch", "format=")) if fields else ""
        verb, where = self.pick(("list", "show", "show")), self.pick(("", "", "where "))
        return f"sacctmgr {shape} {verb} {self.entity_word(entity)} {where}{words} {form}"

    def steer_partition(self):
        verb = self.pick(("create", "update", "update", "update", "delete"))
        name = self.pick(("new1", "new2", "new3", "other", "main", "nosuch"))
        if verb == "delete":
            words = self.pick(("delete partition", "delete partitionname", "delete PartitionName", "del part"))
            return f"scontrol {words}={self.pick(('new1', 'new2', 'new3', 'nosuch', ''))}"
        name = "new4" if verb == "create" and name in ("main", "other") else name
        return f"scontrol {verb} partition{self.pick(('', 'name'))}={name} {self.chosen(PARTITION_WORDS, 1, 4)}"

    def steer_node(self):
        name = self.pick(NODE_NAMES)
        return f"scontrol update {self.pick(('nodename', 'node', 'NodeName'))}={name} {self.pick(NODE_WORDS)}"

    def steer_reservation(self):
        verb, name = self.pick(("create", "create", "create", "update", "update", "delete")), self.pick(("r1", "r2", "r3", "nosuch"))
        if verb == "delete":
            return f"scontrol delete {self.pick(('reservation', 'reservationname', 'res'))}={name}"
        if verb == "create":
            self.resvs.append("r1" if name == "nosuch" else name)
            base = self.pick(("starttime=now+1hour duration=60 users=root nodes=n4", "starttime=now duration=60 users=alice nodecnt=1",
                              "start=now+2hours end=now+3hours accounts=physics nodes=n[1-2]", ""))
            head = self.pick((f"reservation={name}", f"reservationname={name}", f"res {name}", "reservation"))
            return f"scontrol create {head} {base} {self.chosen(RESERVATION_WORDS, 0, 2)}"
        return f"scontrol update reservation={name} {self.chosen(RESERVATION_WORDS, 1, 2)}"

    def steer_verb(self):
        word = self.fill(self.pick(VERB_WORDS))
        return f"scontrol {self.pick(('', '', '', '-o ', '-Q ', '-a '))}{word}"

    def trigger(self):
        event, words = self.fill(self.pick(TRIGGER_EVENTS)), self.chosen(TRIGGER_WORDS, 0, 1)
        verb = self.pick(("--set", "--set", "--set", "--get", "--clear", "--get -n"))
        program = self.pick(("--program=/bin/true", "-p /bin/true", "-p /nosuch", ""))
        return f"strigger {verb} {event} {words} {program}"

    def steer_squeue(self):
        return f"squeue {self.pick(SQUEUE_SHAPES)} {self.chosen(SQUEUE_FILTERS, 1, 3)}"

    def steer_sinfo(self):
        return f"sinfo {self.pick(SINFO_SHAPES)} {self.chosen(SINFO_FILTERS, 1, 3)}"

    def steer_sacct(self):
        return f"sacct {self.chosen(SACCT_MORE, 1, 3)} {self.fill(self.pick(SACCT_SHAPE))}"

    def steer_report(self):
        return (f"sreport {self.pick(REPORT_KINDS)} {self.chosen(REPORT_CLAUSES, 0, 3)} "
                "| grep -v '^Cluster Util\\|^Usage reported\\|^Top\\|^Job Sizes\\|^Reservation\\|^Cluster/'")

    def steer_shares(self):
        return self.pick((f"sshare {self.chosen(SSHARE_WORDS, 1, 3)} -o {self.pick(SSHARE_SHAPES)}",
                          f"sprio {self.chosen(SPRIO_WORDS, 1, 3)} -o {self.pick(SPRIO_SHAPES)}",
                          f"sdiag {self.chosen(SDIAG_WORDS, 1, 2)} | head -1"))

    STEER_KINDS = (("manage", 34), ("asked_first", 7), ("prompt_of_scontrol", 3), ("listed", 16), ("steer_partition", 9),
                   ("steer_node", 8), ("steer_reservation", 10), ("steer_verb", 16), ("trigger", 7),
                   ("steer_squeue", 10), ("steer_sinfo", 10), ("steer_sacct", 9), ("steer_report", 8), ("steer_shares", 5))
    ADMINISTRATIVE = ("manage", "asked_first", "steer_partition", "steer_node", "steer_reservation", "steer_verb", "trigger")


def is_wrong(word):
    return word.endswith(("=", "=x", "=-5")) or any(part in word for part in ("nosuch", "''", "=x", "n9", "x ")) or word in ("x", "-u",
                                                                                                                             "-p", "-o",
                                                                                                                             "-t")


def re_named(clauses):
    """Whether a condition names something: one that does not would take everything away."""
    return any(word in clauses for word in ("name=physics,", "name=new", "names=new", "user=dave", "name=q1", "names=q1", "=nosuch",
                                            "name=chem", "user=carol"))
