/* test_nodens.c - private folders of jobs: slurmd's half */
#include "conf_util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "noded/plan/nodens.h"
#include "stepd/shared/spool.h"

#include "folder_util.h"

#define SLURM_CONF "NamespaceType=namespace/tmpfs\nPrologFlags=Contain\n"

struct world {
    struct noded *d;
    struct njob *job;
    char base[256];
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    Pst__JobOnNode *on = malloc(sizeof(*on));

    assert_non_null(w);
    assert_non_null(on);
    w->d = calloc(1, sizeof(*w->d));
    assert_non_null(w->d);
    w->d->name = (char *)"n1";
    w->d->host = (char *)"host1";
    w->d->spool = (char *)"/var/spool/slurmd";
    pst__job_on_node__init(on);
    on->job = malloc(sizeof(*on->job));
    assert_non_null(on->job);
    pst__job_record__init(on->job);
    on->job->has_job_id = on->has_run_id = on->has_contain = on->contain = 1;
    on->job->job_id = 7;
    on->run_id = 70;
    assert_int_equal(jobs_add_take(&w->d->jobs, on, &w->job), 0);
    folder_make(w->base, sizeof(w->base), "nodens");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    jobs_remove(&w->d->jobs, w->job);
    if (w->d->ns)
        pst__namespace__free_unpacked(w->d->ns, NULL);
    conf_free(w->d->conf);
    free(w->d);
    folder_remove(w->base);
    free(w);
    return 0;
}

static int configure(struct world *w, const char *slurm_conf, const char *container_conf,
                     struct err *err)
{
    if (w->d->ns)
        pst__namespace__free_unpacked(w->d->ns, NULL);
    w->d->ns = NULL;
    conf_free(w->d->conf);
    w->d->conf = conf_of_two(slurm_conf, "job_container.conf", container_conf, "");
    assert_non_null(w->d->conf);
    err->text[0] = '\0';
    return ns_configure(w->d, err);
}

static void test_configure(void **state)
{
    struct world *w = *state;
    struct err err;

    if (geteuid() != 0)
        skip();
    assert_int_equal(configure(w, "", "BasePath=/local\n", &err), 0);
    assert_null(w->d->ns); /* it is not asked for */
    assert_int_equal(configure(w, SLURM_CONF, "BasePath=/local/%n/%h Dirs=/tmp,/scratch\n", &err),
                     0);
    assert_string_equal(w->d->ns->base_path, "/local/n1/host1");
    assert_int_equal(w->d->ns->n_dirs, 2);
    assert_string_equal(w->d->ns->dirs[0], "/tmp");
    assert_string_equal(w->d->ns->dirs[1], "/scratch");
    assert_int_equal(configure(w, SLURM_CONF, "NodeName=n2 BasePath=/local\n", &err), -ENOENT);
    assert_non_null(strstr(err.text, "no BasePath for node n1"));
}

/* Jobs must not get slurmd's spool for their own, however the folder is written. */
static void test_spool(void **state)
{
    static const struct {
        const char *line;
        int want;
    } rows[] = {
        { "BasePath=/local Dirs=/tmp,/var/spool\n", -EINVAL },
        { "BasePath=/local Dirs=/var/spool/slurmd\n", -EINVAL },
        { "BasePath=/local Dirs=/var/spool/\n", -EINVAL },
        { "BasePath=/local Dirs=/var/sp\n", 0 },
        { "BasePath=/local Dirs=/var/spool/slurmd2\n", 0 },
    };
    struct world *w = *state;
    struct err err;

    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(configure(w, SLURM_CONF, rows[i].line, &err), rows[i].want);
        if (rows[i].want)
            assert_non_null(strstr(err.text, "SlurmdSpoolDir /var/spool/slurmd lies in"));
    }
}

static void use_namespaces(struct world *w)
{
    w->d->ns = malloc(sizeof(*w->d->ns));
    assert_non_null(w->d->ns);
    pst__namespace__init(w->d->ns);
    w->d->ns->base_path = strdup(w->base);
    assert_non_null(w->d->ns->base_path);
}

/* Other steps wait for the extern step's news; when it has ended without, they fail. */
static void test_waits(void **state)
{
    struct world *w = *state;
    struct nstep *step = NULL;

    assert_int_equal(job_add_step(w->job, STEP_ID_EXTERN, &step), 0);
    step->phase = STEP_RUNS;
    assert_false(ns_pending(w->d, w->job) || ns_gone(w->d, w->job)); /* no such folders here */
    use_namespaces(w);
    assert_true(ns_pending(w->d, w->job));
    assert_false(ns_gone(w->d, w->job));
    step->phase = STEP_ENDED;
    assert_false(ns_pending(w->d, w->job));
    assert_true(ns_gone(w->d, w->job));
    w->job->no_ns = true; /* it started without */
    assert_false(ns_pending(w->d, w->job) || ns_gone(w->d, w->job));
    w->job->no_ns = false;
    w->job->on->contain = 0;
    assert_false(ns_pending(w->d, w->job) || ns_gone(w->d, w->job));
}

static int any_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

/* A descriptor of folders is kept to the job's end; namespaces that have a first process end with
 * it. */
static void test_descriptors(void **state)
{
    struct world *w = *state;
    Pst__StepNews news = PST__STEP_NEWS__INIT;
    int folders = any_fd(), first = any_fd(), more = any_fd();

    use_namespaces(w);
    ns_take(w->job, &news, folders);
    assert_int_equal(w->job->ns_fd, folders);
    assert_false(ns_pending(w->d, w->job));
    ns_take(w->job, &news, more); /* one is enough */
    assert_int_equal(w->job->ns_fd, folders);
    assert_int_equal(fcntl(more, F_GETFD), -1);
    ns_lose(w->job); /* the folders outlive the extern step */
    assert_int_equal(w->job->ns_fd, folders);
    assert_false(w->job->ns_lost);

    news.has_ns_flags = 1;
    news.ns_flags = 0x20000000;
    ns_take(w->job, &news, first);
    assert_int_equal(w->job->ns_pid_fd, first);
    assert_int_equal(w->job->ns_flags, 0x20000000);
    ns_lose(w->job);
    assert_true(w->job->ns_lost);
    assert_int_equal(w->job->ns_fd, -1);
    assert_int_equal(w->job->ns_pid_fd, -1);
    assert_int_equal(fcntl(folders, F_GETFD), -1);
    assert_int_equal(fcntl(first, F_GETFD), -1);
}

static void make_folder(const struct world *w, const char *name)
{
    char path[400];

    (void)snprintf(path, sizeof(path), "%s/%s", w->base, name);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/%s/file", w->base, name);
    assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
}

static bool is_there(const struct world *w, const char *name)
{
    char path[400];

    (void)snprintf(path, sizeof(path), "%s/%s", w->base, name);
    return access(path, F_OK) == 0;
}

/* All programs that were started have ended. */
static unsigned reap_all(void)
{
    unsigned n = 0;
    int status;

    while (waitpid(-1, &status, 0) > 0) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        n++;
    }
    return n;
}

static void test_clean_job(void **state)
{
    struct world *w = *state;

    make_folder(w, "7");
    make_folder(w, "70");
    ns_clean_job(w->d, w->job); /* no such folders on this node */
    assert_true(is_there(w, "7"));
    use_namespaces(w);
    ns_clean_job(w->d, w->job);
    assert_false(is_there(w, "7")); /* at once: the job may come again */
    assert_int_equal(reap_all(), 1);
    assert_false(is_there(w, ".removed-7.70"));
    assert_true(is_there(w, "70"));
    ns_clean_job(w->d, w->job); /* nothing is left */
    assert_int_equal(reap_all(), 0);
}

/* Folders of jobs that are not here, and what an earlier rm left; nothing else. */
static void test_strays(void **state)
{
    struct world *w = *state;

    use_namespaces(w);
    make_folder(w, "7");
    make_folder(w, "8");
    make_folder(w, ".removed-9.1");
    make_folder(w, "08");
    make_folder(w, "8x");
    make_folder(w, "home");
    make_folder(w, "99999999999999999999999");
    ns_clean_strays(w->d);
    assert_int_equal(reap_all(), 2);
    assert_true(is_there(w, "7"));
    assert_false(is_there(w, "8"));
    assert_false(is_there(w, ".removed-9.1"));
    assert_true(is_there(w, "08"));
    assert_true(is_there(w, "8x"));
    assert_true(is_there(w, "home"));
    assert_true(is_there(w, "99999999999999999999999"));
}

int main(void)
{
#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_configure),   IN_WORLD(test_spool),     IN_WORLD(test_waits),
        IN_WORLD(test_descriptors), IN_WORLD(test_clean_job), IN_WORLD(test_strays),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("nodens", tests, NULL, NULL);
}
