/* slurmstepd_oci.c - slurmstepd-oci: one task of a step in a container; see oci.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/inherit.h"
#include "oci/oci.h"
#include "version.h"

/* Descriptors that the step daemon gives us. */
enum { FD_TASK = 3, FD_PMI = 4 };
#define TASK_MAX (1u << 20) /* bytes of the message about the task */

static Pst__OciTask *read_task(void)
{
    Pst__OciTask *task = NULL;
    struct stat st;
    void *data;

    if (fstat(FD_TASK, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
        st.st_size > (off_t)TASK_MAX)
        return NULL;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, FD_TASK, 0);
    if (data == MAP_FAILED)
        return NULL;
    task = pst__oci_task__unpack(NULL, (size_t)st.st_size, data);
    (void)munmap(data, (size_t)st.st_size);
    (void)close(FD_TASK);
    if (task && (!task->plan || !task->plan->bundle || !task->spool_dir || !task->work_dir)) {
        pst__oci_task__free_unpacked(task, NULL);
        return NULL;
    }
    return task;
}

static char **copy_argv(char *const *argv, size_t n)
{
    char **copy = calloc(n + 1, sizeof(*copy));

    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = strdup(argv[i]);
        if (!copy[i]) {
            while (i > 0)
                free(copy[--i]);
            free(copy);
            return NULL;
        }
    }
    return copy;
}

/* The connection to the MPI service becomes descriptor 3, the only number that runtimes pass on (as
 * for a service that gets sockets). */
static int place_pmi(struct oci *o)
{
    int r;

    if (dup2(FD_PMI, 3) < 0)
        return -errno;
    (void)close(FD_PMI);
    r = oci_env_set(&o->inner, "PMI_FD=3");
    if (r == 0)
        r = oci_env_set(&o->outer, "PMI_FD=3");
    return r == 0 ? oci_env_set(&o->outer, "LISTEN_FDS=1") : r;
}

static int run_container(struct oci *o, int *ret_code, struct err *err)
{
    int r = oci_paths(o, err);

    if (r == 0 && !o->task->remove && o->task->pmi && place_pmi(o) < 0)
        r = err_nomem(err);
    if (r < 0)
        return r;
    if (!o->task->remove) {
        r = oci_make(o, err);
        if (r < 0) {
            oci_remove(o);
            return r;
        }
        r = oci_run(o, ret_code, err);
    }
    oci_delete(o);
    oci_remove(o);
    return r;
}

int main(int argc, char **argv)
{
    struct oci o = { .env = environ };
    struct err err = { .text = "" };
    Pst__OciTask *task;
    int r, code = 0;

    if (argc == 2 && (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0)) {
        (void)printf("slurm %s\n", SLURM_RELEASE);
        return 0;
    }
    inherit_begin(FD_PMI + 1);
    task = read_task();
    o.argv = task ? copy_argv(argv + 1, (size_t)MAX(argc - 1, 0)) : NULL;
    if (!o.argv) {
        (void)fprintf(stderr,
                      "slurmstepd-oci: error: this program is started by slurmstepd only\n");
        return 1;
    }
    o.task = task;
    o.plan = task->plan;
    r = run_container(&o, &code, &err);
    if (r < 0)
        (void)fprintf(stderr, "slurmstepd: error: container %s: %s\n", o.plan->bundle, err.text);
    oci_done(&o);
    pst__oci_task__free_unpacked(task, NULL);
    return r < 0 ? 1 : code;
}
