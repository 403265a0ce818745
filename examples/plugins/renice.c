/* renice.c - tasks with a lower priority on their nodes: srun --renice=10
 *
 *     cc -shared -fPIC -o renice.so renice.c
 *     echo 'optional /usr/local/lib/slurm/renice.so min_prio=-5' >> /etc/slurm/plugstack.conf
 *
 * min_prio is what users may ask for at best; 0 when it is not given. */
#include <errno.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

SPANK_PLUGIN(renice, 1);

#define NOT_GIVEN 100

static int wanted = NOT_GIVEN, min_prio;

static int take(int val, const char *text, int remote)
{
    char *end;
    long n = strtol(text, &end, 10);

    (void)val;
    if (end == text || *end || n < -20 || n > 19) {
        if (!remote)
            slurm_error("renice: a priority is a number from -20 to 19");
        return -1;
    }
    wanted = (int)n;
    return ESPANK_SUCCESS;
}

static struct spank_option renice_option = {
    .name = "renice",
    .arginfo = "priority",
    .usage = "run the tasks with this nice value",
    .has_arg = 1,
    .cb = take,
};

int slurm_spank_init(spank_t sp, int ac, char **av)
{
    for (int i = 0; i < ac; i++)
        if (strncmp(av[i], "min_prio=", 9) == 0)
            min_prio = (int)strtol(av[i] + 9, NULL, 10);
    if (spank_context() == S_CTX_SLURMD)
        return ESPANK_SUCCESS; /* which has no options */
    return spank_option_register(sp, &renice_option);
}

/* In the step daemon, as root, with the task stopped before its program. */
int slurm_spank_task_post_fork(spank_t sp, int ac, char **av)
{
    pid_t pid;
    int rank;

    (void)ac;
    (void)av;
    if (wanted == NOT_GIVEN)
        return ESPANK_SUCCESS;
    if (wanted < min_prio)
        wanted = min_prio;
    if (spank_get_item(sp, S_TASK_PID, &pid) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_TASK_GLOBAL_ID, &rank) != ESPANK_SUCCESS)
        return ESPANK_ERROR;
    if (setpriority(PRIO_PROCESS, (id_t)pid, wanted) < 0) {
        slurm_error("renice: task %d: %s", rank, strerror(errno));
        return ESPANK_ERROR;
    }
    return ESPANK_SUCCESS;
}
