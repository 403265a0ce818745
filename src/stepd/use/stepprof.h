/* stepprof.h - samples of what a running step uses; slurmd gets them and sends them on; stepd only
 *
 * A sample is a line of InfluxDB's line protocol:
 *     CPUTime,job=7,step=0,task=1,host=n1 value=0.98 1700000000123
 * Lines leave as datagrams to a socket in slurmd's spool that nobody but slurmd's own user can
 * write to.  Nothing here waits: what slurmd does not take now is lost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stepd/use/nodeio.h"

#define PROFILE_SOCKET "profile"    /* in profile_dir */
#define PROFILE_DATAGRAM_MAX 65536u /* bytes: whole lines */

enum stepprof_kind {
    PROFILE_TASK = 1u << 0,
    PROFILE_ENERGY = 1u << 1,
    PROFILE_NETWORK = 1u << 2,
    PROFILE_FILESYSTEM = 1u << 3,
};

/* The kinds that the words of --profile name: "task,energy", "all".  0: none. */
unsigned stepprof_kinds(const char *words);

struct stepprof_who {
    uint32_t job_id, step_id;
    const char *host;
};

struct stepprof_use {                                /* of a task */
    uint64_t cpu_us, read_bytes, write_bytes, pages; /* since the start of the task */
    uint64_t mem, vmem;                              /* bytes in use now */
    uint64_t freq_khz;                               /* now */
};

struct stepprof;

/* kinds: bits of enum stepprof_kind; dir: the folder of the socket.  Errors: -ENOMEM, those of
 * open(2). */
int stepprof_new(const struct stepprof_who *who, unsigned kinds, const char *dir, size_t n_tasks,
                 struct stepprof **ret);
struct stepprof *stepprof_free(struct stepprof *p);

/* Begin a sample, at these times. */
void stepprof_begin(struct stepprof *p, int64_t wall_us, int64_t mono_us);
/* Add the use of task `index`, whose rank is `rank`.  over: the task has ended, and later samples
 * leave it out. */
void stepprof_task(struct stepprof *p, size_t index, uint32_t rank, const struct stepprof_use *use,
                   bool over);
/* Add what the whole node has used since the step began. */
void stepprof_energy(struct stepprof *p, uint64_t used_uj);
void stepprof_io(struct stepprof *p, enum stepprof_kind kind, const struct nodeio_count *io);
/* The sample is complete: send it. */
void stepprof_end(struct stepprof *p);
