/* msgname.h - what Slurm calls the requests that the daemons count: sdiag, `sacctmgr show stats`
 *
 * Tools that sum the counters of sdiag look for these names.  An operation gets the name of the
 * request that asks for the same there.  One that has no counterpart keeps its own name. */
#pragma once

struct msgname {
    const char *name;
    unsigned number;
};

/* Of an operation of slurmctld and of slurmdbd, by its name in wire/ops.h, which another version
 * may have given. */
struct msgname msgname_of(const char *op);
struct msgname msgname_of_dbd(const char *op);
