/* spank_record.c - a plugin that writes down each callback with what it is told, and fails where it
 * is told to
 *
 * Words: log=FILE, fail=CALLBACK, code=NUMBER.  RECORD is its name.  Written to the public
 * interface alone. */
#include <errno.h>
#include <fcntl.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef RECORD
#define RECORD record
#endif
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define DECLARE(name, version) SPANK_PLUGIN(name, version) /* so that RECORD is replaced first */
DECLARE(RECORD, 1)

static const char *const contexts[] = { "error",     "local",  "remote",
                                        "allocator", "slurmd", "job_script" };
static char log_path[4096];

static void write_down(const char *what, const char *more)
{
    char line[4096];
    int fd, n;

    n = snprintf(line, sizeof(line), "%s %s %s uid=%d%s\n", TEXT(RECORD), contexts[spank_context()],
                 what, (int)geteuid(), more);
    fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        slurm_error("record: %s: %s", log_path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
}

static void add_number(spank_t sp, char *to, size_t size, const char *name, spank_item_t item)
{
    size_t at = strlen(to);
    union {
        uint32_t u;
        uint16_t s;
        int i;
    } v = { 0 };
    int r = spank_get_item(sp, item, &v);

    if (r == ESPANK_SUCCESS)
        (void)snprintf(to + at, size - at, " %s=%d", name, item == S_JOB_NCPUS ? v.s : v.i);
    else
        (void)snprintf(to + at, size - at, " %s=!%d", name, r - ESPANK_ERROR);
}

static int record(spank_t sp, const char *what, int ac, char **av)
{
    static const struct {
        const char *name;
        spank_item_t item;
    } numbers[] = {
        { "job", S_JOB_ID },
        { "step", S_JOB_STEPID },
        { "jobuid", S_JOB_UID },
        { "nodes", S_JOB_NNODES },
        { "node", S_JOB_NODEID },
        { "local", S_JOB_LOCAL_TASK_COUNT },
        { "total", S_JOB_TOTAL_TASK_COUNT },
        { "cpus", S_JOB_NCPUS },
        { "task", S_TASK_ID },
        { "rank", S_TASK_GLOBAL_ID },
        { "status", S_TASK_EXIT_STATUS },
    };
    const char *fail = "";
    char more[2048] = "", name[64], buf[256];
    char **argv, *version;
    int code = -1, argc, remote = spank_remote(sp);
    pid_t pid;

    for (int i = 0; i < ac; i++) {
        if (strncmp(av[i], "log=", 4) == 0)
            (void)snprintf(log_path, sizeof(log_path), "%s", av[i] + 4);
        else if (strncmp(av[i], "fail=", 5) == 0)
            fail = av[i] + 5;
        else if (strncmp(av[i], "code=", 5) == 0)
            code = (int)strtol(av[i] + 5, NULL, 10);
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        add_number(sp, more, sizeof(more), numbers[i].name, numbers[i].item);
    if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS)
        (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), " argv=%d:%s", argc,
                       argc ? argv[0] : "");
    if (spank_get_item(sp, S_TASK_PID, &pid) == ESPANK_SUCCESS)
        (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), " pid=%d self=%d",
                       (int)pid, pid == getpid());
    if (spank_get_item(sp, S_SLURM_VERSION_MAJOR, &version) == ESPANK_SUCCESS)
        (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), " version=%s", version);
    if (remote == 1) { /* what each callback leaves is seen by those behind it */
        (void)snprintf(name, sizeof(name), "SEEN_%s", what);
        if (spank_setenv(sp, name, "yes", 1) != ESPANK_SUCCESS ||
            spank_setenv(sp, name, "no", 0) != ESPANK_ENV_EXISTS ||
            spank_getenv(sp, name, buf, sizeof(buf)) != ESPANK_SUCCESS || strcmp(buf, "yes") != 0 ||
            spank_getenv(sp, name, buf, 3) != ESPANK_NOSPACE)
            slurm_error("record: the environment is not kept");
        if (spank_getenv(sp, "FROM_USER", buf, sizeof(buf)) == ESPANK_SUCCESS)
            (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), " user=%s", buf);
    } else if (spank_getenv(sp, "PATH", buf, sizeof(buf)) != ESPANK_NOT_REMOTE) {
        slurm_error("record: there is an environment where none should be");
    }
    if (strcmp(what, "init") == 0 && remote == 0)
        (void)spank_job_control_setenv(sp, "RECORD", "told", 1); /* refused in slurmd */
    write_down(what, more);
#ifdef REMOTE_ONLY /* commands go on */
    if (remote != 1)
        return ESPANK_SUCCESS;
#endif
    return strcmp(fail, what) == 0 ? code : ESPANK_SUCCESS;
}

#define CALLBACK(name)                                                                             \
    int slurm_spank_##name(spank_t sp, int ac, char **av)                                          \
    {                                                                                              \
        return record(sp, #name, ac, av);                                                          \
    }
CALLBACK(init)
CALLBACK(init_post_opt)
CALLBACK(local_user_init)
CALLBACK(user_init)
CALLBACK(task_init_privileged)
CALLBACK(task_init)
CALLBACK(task_post_fork)
CALLBACK(task_exit)
CALLBACK(exit)
#ifndef NO_SCRIPTS
CALLBACK(job_prolog)
CALLBACK(job_epilog)
#endif
CALLBACK(slurmd_exit)
