/* test_hastream.c - a controller whose witness is away: it takes the log, and never leads */
#include "model_util.h"

#include <sys/stat.h>

#include "conf/conf.h"
#include "ctld/ha/hastream.h"
#include "stream/pact.h"

struct world {
    char dir[80], conf[128], state[128];
    struct ctld *ctld;
    struct ha *ha;
};

static void load_conf(struct world *w, const char *parameters)
{
    struct err err = { .text = "" };
    FILE *f = fopen(w->conf, "w");

    assert_non_null(f);
    (void)fprintf(f,
                  "ClusterName=tux\nSlurmctldHost=ctl1(127.0.0.1)\nSlurmctldHost=ctl2(127.0.0.1)\n"
                  "StateSaveLocation=%s\nNodeName=n1\nPartitionName=p Nodes=n1\n"
                  "JournalType=stream\nJournalParameters=%s\n",
                  w->state, parameters);
    assert_int_equal(fclose(f), 0);
    conf_free(w->ctld->conf);
    w->ctld->conf = NULL;
    if (conf_load(w->conf, CONF_FULL, &w->ctld->conf, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void open_world(struct world *w)
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(w->dir, sizeof(w->dir), "%.40s/hastream-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(w->dir));
    (void)snprintf(w->conf, sizeof(w->conf), "%s/slurm.conf", w->dir);
    (void)snprintf(w->state, sizeof(w->state), "%s/state", w->dir);
    assert_int_equal(mkdir(w->state, 0700), 0);
    w->ctld = calloc(1, sizeof(*w->ctld));
    w->ha = calloc(1, sizeof(*w->ha));
    assert_true(w->ctld && w->ha);
    w->ctld->ha = w->ha;
    *w->ha = (struct ha){ .ctld = w->ctld, .count = 2, .dir_fd = -1 };
    w->ha->view.lease_ms = 900;
    (void)snprintf(w->ha->host, sizeof(w->ha->host), "ctl1");
}

static void close_world(struct world *w)
{
    char command[128];

    hastream_end(w->ha);
    conf_free(w->ctld->conf);
    free(w->ha);
    free(w->ctld);
    (void)snprintf(command, sizeof(command), "rm -rf %s", w->dir);
    assert_int_equal(pclose(popen(command, "r")), 0);
}

static void test_parameters(void **state)
{
    struct world w;
    struct err err = { .text = "" };

    open_world(&w);
    load_conf(&w, "patience=500");
    assert_int_equal(hastream_begin(w.ha, &err), -EINVAL);
    assert_non_null(strstr(err.text, "witness=HOST:PORT"));
    hastream_end(w.ha);
    w.ha->count = PACT_SET_MAX + 1;
    load_conf(&w, "witness=127.0.0.1:1");
    assert_int_equal(hastream_begin(w.ha, &err), -EINVAL);
    close_world(&w);
    (void)state;
}

static void test_without_witness(void **state)
{
    struct world w;
    struct err err = { .text = "" };
    struct term_record rec;
    uint32_t term = 9;

    open_world(&w);
    load_conf(&w, "witness=127.0.0.1:1"); /* nobody listens there */
    assert_int_equal(hastream_begin(w.ha, &err), 0);
    hastream_look(w.ha);
    assert_true(w.ha->view.barred); /* before its log is open */
    assert_int_equal(w.ha->store.newest(w.ha->store.ctx, &rec), -EHOSTUNREACH);
    assert_non_null(strstr(hastream_why(w.ha), "the witness at 127.0.0.1"));
    assert_true(hastream_has_log(w.ha));
    hastream_look(w.ha);
    assert_true(w.ha->view.barred); /* nobody says that it is in sync */
    assert_int_equal(hastream_committed(w.ha, &term), 0);
    assert_int_equal(term, 0);
    w.ha->view.record.term = 4;
    assert_int_equal(hastream_claim(w.ha), 5);
    rec = (struct term_record){ .term = 5 };
    assert_int_equal(w.ha->store.claim(w.ha->store.ctx, &rec), -EHOSTUNREACH);
    hastream_unclaim(w.ha);
    assert_false(w.ha->store.is_over(w.ha->store.ctx, 1));
    close_world(&w);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_without_witness),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
