/* test_fed.c - federations without their network: which clusters may run a job, and what each is
 * to be told as the record says; the rest is tested with real clusters */
#include "model_util.h"

#include "conf/conf.h"
#include "ctld/ctld.h"
#include "ctld/fed/fed.h"
#include "ctld/fed/fedanswer.h"
#include "ctld/fed/fedask.h"
#include "ctld/fed/fedbook.h"
#include "ctld/fed/fedcopy.h"
#include "ctld/fed/fedleave.h"
#include "ctld/fed/fedlink.h"
#include "ctld/fed/fedmsg.h"
#include "ctld/fed/fedquery.h"
#include "ctld/fed/fedstate.h"
#include "ctld/policy/fedset.h"

static struct ctld ctld;
static struct fed fed;
static Pst__AcctClusterRecord clusters[4]; /* by number: aa, bb, cc */
static char *features[] = { (char *)"x", (char *)"y" };

static int setup(void **state)
{
    static char *const names[] = { NULL, (char *)"aa", (char *)"bb", (char *)"cc" };
    static const char text[] = "ClusterName=aa\nSlurmctldHost=h\nNodeName=n0 CPUs=8\n"
                               "PartitionName=all Nodes=n0\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };

    (void)state;
    ctld.cluster = new_cluster();
    fed = (struct fed){ .ctld = &ctld, .generation = am_generation(ctld.cluster->am) };
    fed.set.name = "f1";
    fed.set.self = 1;
    for (uint32_t i = 1; i < ARRAY_SIZE(clusters); i++) {
        pst__acct_cluster_record__init(&clusters[i]);
        clusters[i].name = names[i];
        SET(&clusters[i], fed_id, i);
        SET(&clusters[i], fed_state, FED_STATE_ACTIVE);
        fed.set.of[i] = &clusters[i];
    }
    clusters[2].features = features;
    clusters[2].n_features = 2;
    return conf_load_text(&file, 1, CONF_FULL, &ctld.conf, NULL, NULL);
}

static int teardown(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
        idmap_done(&fed.peers[i].todo);
    idmap_done(&fed.changed);
    idmap_done(&fed.wishes);
    conf_free(ctld.conf);
    ctld.cluster = cluster_free(ctld.cluster);
    return 0;
}

static void test_viable(void **state)
{
    static const struct {
        const char *clusters, *features;
        uint64_t mask;
    } cases[] = {
        { NULL, NULL, 7 },    { "", "", 7 },         { "all", NULL, 7 },  { "bb", NULL, 2 },
        { "CC,aa", NULL, 5 }, { "nosuch", NULL, 0 }, { NULL, "x", 2 },    { NULL, "z,y", 2 },
        { NULL, "z", 0 },     { NULL, "!x", 5 },     { NULL, "!z,y", 5 }, { NULL, "!z", 7 },
        { "aa,bb", "!y", 1 }, { "aa", "x", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(fedset_viable(&fed.set, cases[i].clusters, cases[i].features),
                         cases[i].mask);
    clusters[3].fed_state = FED_STATE_ACTIVE | FED_STATE_DRAIN;
    assert_int_equal(fedset_viable(&fed.set, NULL, NULL), 3);
    clusters[3].fed_state = FED_STATE_INACTIVE;
    assert_int_equal(fedset_viable(&fed.set, NULL, NULL), 3);
    clusters[3].fed_state = FED_STATE_ACTIVE;
}

static void test_names(void **state)
{
    _cleanup_free_ char *none = fedset_names(&fed.set, 0), *two = fedset_names(&fed.set, 5);

    (void)state;
    assert_string_equal(none, "");
    assert_string_equal(two, "aa,cc");
    assert_int_equal(fedset_number(&fed.set, "BB"), 2);
    assert_int_equal(fedset_number(&fed.set, "nosuch"), 0);
    assert_int_equal(fedset_number(&fed.set, NULL), 0);
    assert_int_equal(fed_number_of(2u << FED_ID_SHIFT | 7), 2);
}

/* Taking all jobs of a map a few at a time meets each once, also those that come meanwhile. */
static void test_take(void **state)
{
    struct idmap m = { 0 };
    bool met[400] = { false };
    uint32_t ids[7], next = 1, n_met = 0;
    size_t at = 0, n;

    (void)state;
    assert_int_equal(fed_take(&m, &at, ids, ARRAY_SIZE(ids)), 0);
    for (; next < 200; next++)
        fed_mark(&m, next, FED_MARK);
    while ((n = fed_take(&m, &at, ids, ARRAY_SIZE(ids)))) {
        for (size_t i = 0; i < n; i++) {
            assert_true((ids[i] < next || ids[i] == 399) && !met[ids[i]]);
            met[ids[i]] = true;
            n_met++;
        }
        if (next < ARRAY_SIZE(met))
            fed_mark(&m, next++, FED_MARK);
        fed_mark(&m, 399, FED_MARK); /* one that is noted again and again does not keep others */
        met[399] = false;
        if (next == ARRAY_SIZE(met) - 1 || n_met > 2 * ARRAY_SIZE(met))
            break;
    }
    for (uint32_t id = 1; id < 200; id++)
        assert_true(met[id]);
    while (fed_take(&m, &at, ids, ARRAY_SIZE(ids)))
        ;
    assert_int_equal(m.cap, 0);
    assert_int_equal(at, 0);
}

/* What is told of accounts changes nothing for jobs; what is told of members does. */
static void test_text(void **state)
{
    _cleanup_free_ char *before = fedset_text(&fed.set), *same, *port, *drained, *fewer;

    (void)state;
    same = fedset_text(&fed.set);
    assert_string_equal(before, same);
    clusters[2].control_port = 7;
    port = fedset_text(&fed.set);
    assert_string_not_equal(before, port);
    clusters[2].control_port = 0;
    clusters[3].fed_state = FED_STATE_ACTIVE | FED_STATE_DRAIN;
    drained = fedset_text(&fed.set);
    assert_string_not_equal(before, drained);
    clusters[3].fed_state = FED_STATE_ACTIVE;
    fed.set.of[3] = NULL;
    fewer = fedset_text(&fed.set);
    assert_string_not_equal(before, fewer);
    fed.set.of[3] = &clusters[3];
}

static void test_orphans(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&r, job_id, 2u << FED_ID_SHIFT | 9);
    SET(&r, state, JOB_STATE(PENDING));
    r.fed_origin = (char *)"bb";
    assert_false(fedset_is_orphan(&ctld, &fed.set, &r)); /* a job of this cluster alone */
    SET(&r, fed_viable, 7);
    assert_false(fedset_is_orphan(&ctld, &fed.set, &r));
    r.fed_origin = (char *)"dd"; /* which had bb's number */
    assert_true(fedset_is_orphan(&ctld, &fed.set, &r));
    SET(&r, fed_owner, 1); /* it may run */
    assert_false(fedset_is_orphan(&ctld, &fed.set, &r));
    r.has_fed_owner = false;
    SET(&r, state, JOB_STATE(RUNNING));
    assert_false(fedset_is_orphan(&ctld, &fed.set, &r));
    SET(&r, state, JOB_STATE(PENDING));
    r.fed_origin = (char *)"bb";
    assert_true(fedset_is_orphan(&ctld, NULL, &r)); /* this cluster has left itself */
    r.fed_origin = (char *)"aa";
    assert_false(fedset_is_orphan(&ctld, NULL, &r)); /* its own */
}

/* What the peer is told; the request is freed by the next call. */
static const ProtobufCMessage *told(const Pst__JobRecord *r, uint32_t peer)
{
    static ProtobufCMessage *msg;
    struct job j = { .rec = (Pst__JobRecord *)r };
    unsigned op;

    if (msg)
        protobuf_c_message_free_unpacked(msg, NULL);
    msg = NULL;
    return fedmsg_next(&fed, &j, peer, &op, &msg) ? msg : NULL;
}

static void assert_copy(const Pst__JobRecord *r, uint32_t peer, bool submit, bool cancel)
{
    const Pst__FedCopyRequest *m = PB_AS(fed_copy_request, (ProtobufCMessage *)told(r, peer));

    assert_non_null(m);
    assert_int_equal(m->job_id, r->job_id);
    assert_int_equal(m->version, r->fed_version);
    assert_int_equal(m->submit != NULL, submit);
    assert_int_equal(m->cancel, cancel);
}

static void test_origin(void **state)
{
    Pst__FedCopy b = PST__FED_COPY__INIT, c = PST__FED_COPY__INIT;
    Pst__FedCopy *copies[] = { &b, &c };
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&b, cluster, 2);
    SET(&b, present, true);
    SET(&c, cluster, 3);
    SET(&c, present, true);
    SET(&r, job_id, 1u << FED_ID_SHIFT | 5);
    assert_null(told(&r, 2)); /* a job of this cluster alone */
    SET(&r, fed_viable, 7);
    SET(&r, fed_version, 1);
    r.fed_origin = (char *)"aa";
    r.fed_copies = copies;
    r.n_fed_copies = 2;
    assert_copy(&r, 2, true, false);
    r.dependency = (char *)"afterok:3";
    assert_null(told(&r, 2)); /* not before it may run */
    r.dependency = NULL;
    fed_mark(&fed.changed, r.job_id, FED_MARK);
    assert_null(told(&r, 2)); /* the next version is on its way */
    (void)idmap_remove(&fed.changed, r.job_id);
    SET(&b, version, 1);
    assert_null(told(&r, 2)); /* it has this one */
    assert_copy(&r, 3, true, false);
    SET(&r, fed_owner, 3);
    assert_null(told(&r, 3)); /* it may start the job: nothing changes under its hands */
    assert_copy(&r, 2, false, false);
    SET(&r, fed_requeue, true);
    assert_copy(&r, 3, false, true);
    r.has_fed_owner = r.has_fed_requeue = false;
    r.fed_requeue = false;
    SET(&r, state, JOB_STATE(RUNNING));
    assert_copy(&r, 2, false, false);
    SET(&r, state, JOB_STATE(CANCELLED));
    assert_copy(&r, 2, false, true);
    b.present = false;
    assert_null(told(&r, 2));
}

/* A job from when this cluster had another number is told of to nobody but those that had it. */
static void test_other_number(void **state)
{
    Pst__FedCopy b = PST__FED_COPY__INIT;
    Pst__FedCopy *copies[] = { &b };
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&b, cluster, 2);
    SET(&b, present, true);
    SET(&r, job_id, 1u << FED_ID_SHIFT | 5);
    assert_int_equal(fedstate_viable(&fed.set, &r), 7);
    r.clusters = (char *)"nosuch";
    assert_int_equal(fedstate_viable(&fed.set, &r), 1);
    r.clusters = NULL;
    SET(&r, job_id, 9u << FED_ID_SHIFT | 5);
    assert_int_equal(fedstate_viable(&fed.set, &r), 1);
    SET(&r, fed_viable, 1);
    SET(&r, fed_version, 2);
    r.fed_origin = (char *)"aa";
    r.fed_copies = copies;
    r.n_fed_copies = 1;
    assert_copy(&r, 2, false, false);
    r.fed_origin = (char *)"cc"; /* which had the number 9: it is asked by its name */
    assert_int_equal(fed_origin(&fed, &r), 3);
    r.fed_origin = (char *)"dd";
    assert_int_equal(fed_origin(&fed, &r), 0);
}

static void assert_ask(const Pst__JobRecord *r, Pst__FedAskKind kind)
{
    const Pst__FedAsk *m = PB_AS(fed_ask, (ProtobufCMessage *)told(r, 2));

    assert_non_null(m);
    assert_int_equal(m->kind, kind);
    assert_int_equal(m->version, r->fed_version);
    assert_string_equal(m->cluster, "aa");
}

static void test_sibling(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&r, job_id, 2u << FED_ID_SHIFT | 5);
    SET(&r, fed_viable, 7);
    SET(&r, fed_version, 4);
    r.fed_origin = (char *)"bb";
    assert_null(told(&r, 2));
    fed_mark(&fed.wishes, r.job_id, FED_MARK);
    assert_null(told(&r, 3)); /* only the origin is asked */
    assert_ask(&r, PST__FED_ASK_KIND__FED_ASK_LOCK);
    SET(&r, fed_told, PST__FED_TOLD__FED_TOLD_RELEASE);
    assert_ask(&r, PST__FED_ASK_KIND__FED_ASK_RELEASE); /* before it asks again */
    r.has_fed_told = false;
    SET(&r, fed_owner, 1);
    assert_null(told(&r, 2)); /* the lock is here */
    SET(&r, state, JOB_STATE(RUNNING));
    assert_ask(&r, PST__FED_ASK_KIND__FED_ASK_STARTED);
    SET(&r, fed_told, PST__FED_TOLD__FED_TOLD_START);
    assert_null(told(&r, 2));
    SET(&r, state, JOB_STATE(FAILED));
    SET(&r, state_flags, JOB_FLAG(REQUEUED));
    assert_null(told(&r, 2)); /* it runs here again */
    r.state_flags = 0;
    SET(&r, exit_status, 256);
    assert_ask(&r, PST__FED_ASK_KIND__FED_ASK_ENDED);
    SET(&r, fed_told, PST__FED_TOLD__FED_TOLD_END);
    assert_null(told(&r, 2));
}

/* The answer about the copy before comes when the next copy has asked to start already. */
static void test_late_answer(void **state)
{
    struct fedlink_result *res = calloc(1, sizeof(*res));
    Pst__FedAsk *req = malloc(sizeof(*req));
    Pst__FedAskReply *reply = malloc(sizeof(*reply));
    uint32_t id = 2u << FED_ID_SHIFT | 31;
    struct job *j;

    (void)state;
    assert_true(res && req && reply);
    add_job(ctld.cluster, id);
    j = cluster_job(ctld.cluster, id);
    SET(j->rec, fed_viable, 7);
    SET(j->rec, fed_version, 5);
    j->rec->fed_origin = strdup("bb");
    fed_mark(&fed.wishes, id, FED_MARK);
    fed_mark(&fed.peers[2].asked, id, FED_MARK);
    pst__fed_ask__init(req);
    SET(req, job_id, id);
    SET(req, version, 4);
    SET(req, kind, PST__FED_ASK_KIND__FED_ASK_ENDED);
    pst__fed_ask_reply__init(reply);
    *res = (struct fedlink_result){ .ctld = &ctld,
                                    .cluster = 2,
                                    .job_id = id,
                                    .op = OP_FED_ASK,
                                    .request = &req->base,
                                    .reply = &reply->base };
    ctld.fed = &fed;
    fed.posted = true; /* the work is not done here */
    fed_answered(res);
    ctld.fed = NULL;
    fed.posted = false;
    assert_null(idmap_get(&fed.peers[2].asked, id));
    assert_non_null(idmap_get(&fed.peers[2].todo, id));
    assert_ask(j->rec, PST__FED_ASK_KIND__FED_ASK_LOCK); /* else nobody would ask ever again */
    (void)idmap_remove(&fed.wishes, id);
    idmap_done(&fed.peers[2].asked);
    idmap_done(&fed.peers[2].todo);
    SET(j->rec, state, JOB_STATE(COMPLETED));
}

/* It leaves when its jobs of the federation are over and all members were told. */
static void test_leaving(void **state)
{
    struct job *own;

    (void)state;
    add_job(ctld.cluster, 22); /* pending, and of no federation */
    add_job(ctld.cluster, 1u << FED_ID_SHIFT | 21);
    own = cluster_job(ctld.cluster, 1u << FED_ID_SHIFT | 21);
    assert_true(fedleave_is_empty(&fed, &fed.set));
    SET(own->rec, fed_viable, 7);
    assert_false(fedleave_is_empty(&fed, &fed.set));
    assert_int_equal(fed.leave_waits, own->rec->job_id);
    SET(own->rec, state, JOB_STATE(RUNNING));
    assert_false(fedleave_is_empty(&fed, &fed.set));
    SET(own->rec, state, JOB_STATE(COMPLETED));
    assert_true(fedleave_is_empty(&fed, &fed.set));
    fed_mark(&fed.peers[3].todo, own->rec->job_id, FED_MARK);
    assert_false(fedleave_is_empty(&fed, &fed.set)); /* cc has not heard of it */
    fed.set.of[3] = NULL;
    assert_true(fedleave_is_empty(&fed, &fed.set)); /* and need not: it has left */
    fed.set.of[3] = &clusters[3];
    idmap_done(&fed.peers[3].todo);
    fed_mark(&fed.changed, own->rec->job_id, FED_MARK);
    assert_false(fedleave_is_empty(&fed, &fed.set));
    idmap_done(&fed.changed);
    assert_false(fedleave_is_near(&fed));
    fed.leave_us = core_now();
    assert_true(fedleave_is_near(&fed)); /* nobody else gets a job now */
    fed.leave_us -= 60 * USEC_PER_SEC;
    assert_false(fedleave_is_near(&fed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_viable),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_take),        cmocka_unit_test(test_text),
        cmocka_unit_test(test_orphans),     cmocka_unit_test(test_origin),
        cmocka_unit_test(test_sibling),     cmocka_unit_test(test_other_number),
        cmocka_unit_test(test_late_answer), cmocka_unit_test(test_leaving),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
