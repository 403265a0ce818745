/* affinity.c - preloaded into the peer's daemons: the machine has FAKE_CPUS processors, and
 * binding to any of them succeeds.  So the masks of a node can be seen that this machine is not. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static __thread cpu_set_t mine;
static __thread int bound;

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    const char *n = getenv("FAKE_CPUS");

    (void)pid;
    memset(set, 0, size);
    for (int i = 0; !bound && i < (n ? atoi(n) : 1); i++)
        CPU_SET_S(i, size, set);
    if (bound)
        memcpy(set, &mine, size < sizeof(mine) ? size : sizeof(mine));
    return 0;
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    (void)pid;
    memset(&mine, 0, sizeof(mine));
    memcpy(&mine, set, size < sizeof(mine) ? size : sizeof(mine));
    bound = 1;
    return 0;
}
