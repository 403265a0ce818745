/* test_ha.c - the room of several controllers, without its peers: which line is ours, when
 * terms are needed, whose turn it is at a start, the log that is followed */
#include "model_util.h"
#include "folder_util.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctld/ha/backups.h"
#include "ctld/ha/follow.h"
#include "ctld/ha/ha.h"
#include "ctld/ha/ha_impl.h"
#include "ctld/ha/haetcd.h"
#include "ctld/ha/hawait.h"
#include "ctld/ha/past.h"
#include "ctld/ha/reading.h"
#include "ctld/ha/reexec.h"
#include "ctld/ha/roles.h"
#include "base/timefmt.h"
#include "ctld/core/corequeue.h"
#include "ctld/core/effects.h"
#include "ctld/core/service.h"
#include "ctld/front/front.h"
#include "ctld/front/view.h"
#include "ctld/services.h"

extern const struct ctld_service ha_service; /* its row */

struct room {
    char dir[64];
    struct ctld ctld;
};

static void open_room(struct room *r, const char *hosts, const char *host)
{
    struct conf_problems problems = { 0 };
    struct err err = { .text = "" };
    char path[128];
    FILE *f;

    memset(r, 0, sizeof(*r));
    (void)snprintf(r->dir, sizeof(r->dir), "/tmp/test_ha.XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    (void)snprintf(path, sizeof(path), "%s/slurm.conf", r->dir);
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f,
                  "ClusterName=t\n%sStateSaveLocation=%s\nSlurmctldPort=1\nSlurmctldLease=60000\n",
                  hosts, r->dir);
    (void)fclose(f);
    if (conf_load(path, CONF_FULL, &r->ctld.conf, &problems, &err) < 0)
        fail_msg("%s", err.text);
    conf_problems_done(&problems);
    r->ctld.services = ctld_services;
    (void)snprintf(r->ctld.host, sizeof(r->ctld.host), "%s", host);
}

static void close_room(struct room *r)
{
    if (r->ctld.ha)
        ha_service.free(&r->ctld);
    conf_free(r->ctld.conf);
    (void)folder_unlink(r->dir);
}

#define TWO "SlurmctldHost=ctl1.site.org(127.0.0.1)\nSlurmctldHost=ctl2(127.0.0.1)\n"

static void test_roles(void **state)
{
    struct err err = { .text = "" };
    const char *addr = NULL;
    size_t index = 9;
    struct room r;

    open_room(&r, TWO, "ctl2");
    assert_int_equal(roles_count(r.ctld.conf), 2);
    assert_int_equal(roles_find(r.ctld.conf, "ctl1", &index, &addr, &err), 0);
    assert_int_equal(index, 0); /* up to the dot */
    assert_int_equal(roles_find(r.ctld.conf, "CTL2", &index, &addr, &err), 0);
    assert_int_equal(index, 1);
    assert_string_equal(addr, "127.0.0.1");
    assert_int_equal(roles_find(r.ctld.conf, "ctl1.other.org", &index, &addr, &err), -EINVAL);
    assert_int_equal(roles_find(r.ctld.conf, "ctl", &index, &addr, &err), -EINVAL);
    assert_non_null(strstr(err.text, "ctl"));
    close_room(&r);
    open_room(&r, "SlurmctldHost=any\n", "whatever");
    assert_int_equal(roles_find(r.ctld.conf, "whatever", &index, &addr, &err), 0);
    close_room(&r);
    (void)state;
}

static void test_begin(void **state)
{
    struct ha_options options = { .stand_by = false };
    struct err err = { .text = "" };
    struct room r;

    open_room(&r, "SlurmctldHost=ctl1\n", "ctl1"); /* one controller: no terms, no room */
    assert_int_equal(ha_begin(&r.ctld, &options, &err), 0);
    assert_null(r.ctld.ha);
    assert_false(atomic_load(&r.ctld.standby));
    assert_false(ha_gave_up(&r.ctld));
    close_room(&r);

    open_room(&r, TWO, "ctl3");
    assert_int_equal(ha_begin(&r.ctld, &options, &err), -EINVAL);
    close_room(&r);

    open_room(&r, TWO, "ctl2");
    assert_int_equal(ha_begin(&r.ctld, &options, &err), 0);
    assert_non_null(r.ctld.ha);
    assert_true(atomic_load(&r.ctld.standby));
    assert_int_equal(r.ctld.silence_ms, 60000);
    assert_true(ha_is_our_turn(&r.ctld)); /* nobody was there before */
    close_room(&r);
    (void)state;
}

/* With a record of another controller that lives, it is not our turn; asked to end, we end. */
static void test_await(void **state)
{
    struct term_record t = { .term = 4, .lease_ms = 60000, .host = "ctl1", .addr = "127.0.0.1" };
    struct ha_options options = { .stand_by = true };
    struct err err = { .text = "" };
    struct room r;

    open_room(&r, TWO, "ctl2");
    r.ctld.cluster = new_cluster();
    assert_int_equal(ha_begin(&r.ctld, &options, &err), 0);
    assert_int_equal(term_claim(r.ctld.ha->dir_fd, &t), 0);
    assert_false(ha_is_our_turn(&r.ctld));
    assert_int_equal(atomic_load(&r.ctld.ha->term), 4);
    atomic_store(&r.ctld.stopping, true);
    assert_int_equal(ha_await_term(&r.ctld, &err), -ECANCELED);
    r.ctld.cluster = cluster_free(r.ctld.cluster);
    close_room(&r);
    (void)state;
}

static int no_term(void *ctx, struct term_record *ret)
{
    (void)ctx;
    *ret = (struct term_record){ .term = 0 };
    return -ENOENT;
}

static unsigned n_claims;

/* Another controller is always faster; the third time we are to end. */
static int lose_claim(void *ctx, const struct term_record *t)
{
    struct ctld *c = ctx;

    (void)t;
    if (++n_claims == 3)
        atomic_store(&c->stopping, true);
    return -EEXIST;
}

/* A term that is free and cannot be had is not asked for again without a pause. */
static void test_await_pauses(void **state)
{
    struct ha_options options = { .stand_by = true };
    struct err err = { .text = "" };
    struct front front = { .gate.lock = PTHREAD_MUTEX_INITIALIZER };
    int64_t began;
    struct room r;

    (void)state;
    open_room(&r, TWO, "ctl2");
    r.ctld.cluster = new_cluster();
    assert_int_equal(views_new(&r.ctld.views), 0);
    assert_int_equal(core_queue_new(&r.ctld.queue), 0);
    assert_int_equal(ha_begin(&r.ctld, &options, &err), 0);
    r.ctld.front = &front;
    r.ctld.ha->store.claim = lose_claim;
    r.ctld.ha->store.ctx = &r.ctld;
    r.ctld.ha->store.newest = no_term;
    began = now_mono_us();
    assert_int_equal(ha_await_term(&r.ctld, &err), -ECANCELED);
    assert_int_equal(n_claims, 3);
    assert_true(now_mono_us() - began >= 3 * 250000); /* a long lease is looked at so often */
    r.ctld.queue = core_queue_free(r.ctld.queue);
    r.ctld.views = views_free(r.ctld.views);
    r.ctld.cluster = cluster_free(r.ctld.cluster);
    close_room(&r);
}

static uint64_t append_job(struct journal *j, uint32_t id)
{
    Pst__Transaction *tx = tx_new(T0);
    uint8_t buf[512];
    uint64_t lsn;
    size_t len;

    SET(tx_cluster(tx), next_job_id, id);
    len = pst__transaction__pack(tx, buf);
    tx_free(tx);
    assert_int_equal(journal_append(j, buf, len, &lsn), 0);
    assert_int_equal(journal_wait_durable(j, lsn), 0);
    return lsn;
}

static int no_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    (void)ctx;
    (void)lsn;
    (void)snapshot;
    (void)data;
    return len ? 0 : -EINVAL;
}

/* What a standby knows is what the record calls durable, through two terms, and never more. */
static void test_follow(void **state)
{
    struct journal_config config = { .term = 1 };
    struct err err = { .text = "" };
    struct cluster *c = new_cluster();
    struct journal *j = NULL;
    struct follow *f;
    struct room r;

    open_room(&r, TWO, "ctl2");
    config.dir = r.dir;
    assert_int_equal(journal_open(&config, no_record, NULL, &j, &err), 0);
    assert_int_equal(journal_start(j), 0);
    for (uint32_t id = 1; id <= 10; id++)
        (void)append_job(j, id);
    assert_int_equal(follow_new(r.dir, &f), 0);
    assert_int_equal(follow_to(f, &c, 1, 4, &err), 0);
    assert_int_equal(follow_applied(f), 4);
    assert_int_equal(c->rec->next_job_id, 4);
    assert_int_equal(follow_to(f, &c, 1, 9, &err), 0);
    assert_int_equal(follow_applied(f), 9);
    assert_int_equal(c->rec->next_job_id, 9);
    (void)journal_close(j);
    config.term = 2;
    assert_int_equal(journal_open(&config, no_record, NULL, &j, &err), 0);
    assert_int_equal(journal_start(j), 0);
    assert_int_equal(append_job(j, 77), 11);
    assert_int_equal(follow_to(f, &c, 2, 11, &err), 0);
    assert_int_equal(follow_applied(f), 11);
    assert_int_equal(c->rec->next_job_id, 77);
    (void)journal_close(j);
    (void)follow_free(f);
    (void)cluster_free(c);
    close_room(&r);
    (void)state;
}

static void test_backups(void **state)
{
    struct ha_options options = { .stand_by = true };
    struct err err = { .text = "" };
    struct backups *b = NULL;
    struct room r;

    open_room(&r, TWO, "ctl1"); /* port 1: nobody listens there */
    assert_int_equal(ha_begin(&r.ctld, &options, &err), 0);
    assert_int_equal(backups_start(r.ctld.ha, &b), 0);
    assert_null(backups_stop(b)); /* at once, not at the next look */
    assert_null(backups_stop(NULL));
    close_room(&r);
    (void)state;
}

static void test_reexec(void **state)
{
    char *const good[] = { (char *)"/bin/sh", (char *)"-c", (char *)"exit 7", NULL };
    char *const bad[] = { (char *)"/nonexistent", NULL };
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        reexec_as(bad); /* comes back */
        reexec_as(good);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    (void)state;
}

/* As an event loop does: it ends the process when its descriptor is gone. */
static void *poll_until_gone(void *arg)
{
    struct epoll_event e;

    while (epoll_wait(*(int *)arg, &e, 1, 0) >= 0)
        ;
    _exit(1);
}

/* The threads of the process run until the new program begins, and meet nothing that is closed. */
static void test_reexec_beside_threads(void **state)
{
    char *const good[] = { (char *)"/bin/sh", (char *)"-c", (char *)"[ ! -e /proc/$$/fd/99 ]",
                           NULL };

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        pthread_t thread;
        int status, fd;
        pid_t pid = fork();

        if (pid == 0) {
            fd = dup2(epoll_create1(0), 99); /* not closed at an exec by itself */
            if (pthread_create(&thread, NULL, poll_until_gone, &fd) == 0 &&
                pthread_create(&thread, NULL, poll_until_gone, &fd) == 0)
                reexec_as(good);
            _exit(2);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- what is shown by a controller that does not lead --------------------------------------- */

static size_t count_jobs(struct ctld *ctld)
{
    struct view *view;
    size_t n = 0;

    views_publish(ctld->views, ctld->cluster, ctld->applied_lsn);
    view = views_get(ctld->views);
    assert_non_null(view);
    for (size_t pos = 0; view_next(&view->tables[VIEW_JOBS], &pos);)
        n++;
    (void)view_unref(view);
    return n;
}

static void test_reading(void **state)
{
    struct room r;

    (void)state;
    open_room(&r, TWO, "ctl2");
    assert_int_equal(views_new(&r.ctld.views), 0);
    assert_int_equal(effects_new(&r.ctld.effects), 0);
    r.ctld.cluster = new_cluster();
    add_job(r.ctld.cluster, 7);
    reading_show(&r.ctld);
    assert_false(atomic_load(&r.ctld.reading)); /* nothing is known to be durable */
    reading_moved(&r.ctld, 3);
    assert_true(atomic_load(&r.ctld.reading));
    assert_int_equal(r.ctld.applied_lsn, 3);
    assert_int_equal(count_jobs(&r.ctld), 1);
    add_job(r.ctld.cluster, 8); /* the log goes on */
    assert_int_equal(count_jobs(&r.ctld), 2);
    r.ctld.cluster = cluster_free(r.ctld.cluster); /* it is read from a snapshot on */
    r.ctld.cluster = new_cluster();
    add_job(r.ctld.cluster, 9);
    reading_show(&r.ctld);
    assert_int_equal(count_jobs(&r.ctld), 1);
    reading_end(&r.ctld);
    assert_false(atomic_load(&r.ctld.reading));
    assert_null(r.ctld.cluster->observer);
    r.ctld.cluster = cluster_free(r.ctld.cluster);
    r.ctld.views = views_free(r.ctld.views);
    r.ctld.effects = effects_free(r.ctld.effects);
    close_room(&r);
}

static void test_past_refused(void **state)
{
    struct err err = { .text = "" };
    struct room r;

    (void)state;
    open_room(&r, TWO, "ctl2");
    assert_true(past_load(&r.ctld, "/nonexistent", 3, &err) < 0);
    assert_true(err.text[0]);
    close_room(&r);
}

#define ONE_OF_ETCD "SlurmctldHost=ctl1(127.0.0.1)\nJournalType=etcd\n"

/* The log in etcd: the parameters are understood before any member is asked; that no member answers
 * is told once the log is wanted. */
static void test_etcd(void **state)
{
    struct err err = { .text = "" };
    struct room r;
    struct ha ha = { .ctld = &r.ctld, .view.lease_ms = 1000 };

    (void)state;
    open_room(&r,
              ONE_OF_ETCD
              "JournalParameters=endpoints=http://127.0.0.1:1;http://127.0.0.1:2,nosuch=1\n",
              "ctl1");
    assert_int_equal(haetcd_begin(&ha, &err), -EINVAL);
    assert_non_null(strstr(err.text, "JournalParameters: nosuch=1: known are"));
    haetcd_end(&ha);
    close_room(&r);
    ha = (struct ha){ .ctld = &r.ctld, .view.lease_ms = 1000 };
    open_room(&r, ONE_OF_ETCD "JournalParameters=endpoints=http://127.0.0.1:1\n", "ctl1");
    assert_int_equal(haetcd_begin(&ha, &err), 0);
    assert_true(ha.etcd && ha.terms);
    assert_true(haetcd_has_copy(&ha)); /* of nothing */
    assert_int_equal(haetcd_pull(&ha), 0);
    assert_true(ha.why.text[0]);
    haetcd_end(&ha);
    close_room(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roles),   cmocka_unit_test(test_begin),
        cmocka_unit_test(test_await),   cmocka_unit_test(test_await_pauses),
        cmocka_unit_test(test_follow),  cmocka_unit_test(test_backups),
        cmocka_unit_test(test_reexec),  cmocka_unit_test(test_reexec_beside_threads),
        cmocka_unit_test(test_reading), cmocka_unit_test(test_past_refused),
        cmocka_unit_test(test_etcd),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
