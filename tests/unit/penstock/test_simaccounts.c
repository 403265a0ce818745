/* test_simaccounts.c - accounting records and reservations of the cluster that runs, in a copy */
#include "model_util.h"

#include "model/kept.h"
#include "output_util.h"
#include "peer_json.h"
#include "penstock/simlive.h"

static struct output said;
static struct peer ctld;

static int begin_peer(void **state)
{
    (void)state;
    peer_begin(&ctld);
    return 0;
}

static int end_peer(void **state)
{
    (void)state;
    peer_end(&ctld);
    return 0;
}

#define TRES                                                                                       \
    "'tres':[{'name':'cpu','tres_id':1,'minutes':90},{'name':'gres/gpu:a100','tres_id':1001,"      \
    "'minutes':2}]"

/* Usage number i of what is taken over. */
static const Pst__UsageRecord *usage_at(const Pst__Transaction *tx, size_t i)
{
    for (size_t e = 0; e < tx->n_events; e++)
        if (tx->events[e]->body_case == PST__EVENT__BODY_USAGE_PUT && i-- == 0)
            return tx->events[e]->usage_put;
    return NULL;
}

static void expect_usage(const Pst__UsageRecord *u, uint32_t id, bool qos)
{
    assert_non_null(u);
    assert_int_equal(u->id, id);
    assert_int_equal(u->qos, qos);
    assert_int_equal(u->as_of_us, 5000000);
    assert_int_equal(u->n_tres, 2);
    assert_int_equal(u->tres[0]->seconds, 5400);
    assert_int_equal(u->tres[1]->tres_id, 1001);
}

/* The records of that moment. */
static void answer_records(int64_t now_us, const char *const *json)
{
    ProtobufCMessage *list[8] = { NULL };
    size_t n = 0;

    for (; json[n]; n++)
        list[n] = from_json(&pst__assoc_mgr_record__descriptor, json[n]);
    peer_list_at(&ctld, OP_QUERY_ASSOCS, list, n, now_us);
    while (n > 0)
        protobuf_c_message_free_unpacked(list[--n], NULL);
}

static void test_records(void **state)
{
    static const char *const records[] = {
        "{'qos':{'qos_id':4,'name':'high'},'usage_raw':60," TRES "}",
        "{'assoc':{'assoc_id':1,'cluster':'demo','account':'root'}}",
        "{'assoc':{'assoc_id':2,'parent_id':1,'cluster':'demo','account':'chem','shares':7},"
        "'usage_raw':5400,'wall_minutes':1.5," TRES "}",
        "{'user':{'name':'ann'}}",
        NULL,
    };
    Pst__Transaction *tx = NULL;
    struct cluster *c = new_cluster();
    const struct assoc *a;

    (void)state;
    answer_records(5000000, records);
    PEER_ANSWER(&ctld, OP_QUERY_RESVS, resv_set,
                "{'items':[{'resv_id':3,'name':'r','start_us':1,'end_us':2,'nodes':''}]}");
    output_begin(&said, NULL);
    assert_int_equal(simaccounts_fetch(ctld.client, "demo", &tx), STATUS_OK);
    output_end(&said);
    expect_said(&said, "", "");
    assert_false(tx->has_time_us);
    expect_usage(usage_at(tx, 0), 4, true);
    expect_usage(usage_at(tx, 2), 2, false);
    assert_int_equal(usage_at(tx, 2)->raw, 5400);
    assert_int_equal(usage_at(tx, 2)->wall_s, 90);
    assert_null(usage_at(tx, 3));
    apply_ok(c, tx);
    assert_non_null(am_qos_named(c->am, "high"));
    a = am_assoc(c->am, 2);
    assert_non_null(a);
    assert_int_equal(a->rec->shares, 7);
    assert_int_equal(am_tres_id(c->am, "gres/gpu:a100"), 1001);
    assert_non_null(cluster_resv_named(c, "r", 1));
    cluster_free(c);
}

/* What was asked for: associations and QOS, no users. */
static void test_request(void **state)
{
    Pst__Transaction *tx = NULL;
    Pst__AssocMgrRequest *req;

    (void)state;
    PEER_LIST(&ctld, OP_QUERY_ASSOCS, assoc_mgr_record, NULL);
    PEER_ANSWER(&ctld, OP_QUERY_RESVS, resv_set, "{}");
    assert_int_equal(simaccounts_fetch(ctld.client, "demo", &tx), STATUS_OK);
    req = PEER_TAKE(&ctld, OP_QUERY_ASSOCS, assoc_mgr_request);
    assert_int_equal(req->parts, 1u << PST__ASSOC_MGR_PART__ASSOC_MGR_ASSOCS |
                                     1u << PST__ASSOC_MGR_PART__ASSOC_MGR_QOS);
    pst__assoc_mgr_request__free_unpacked(req, NULL);
    tx_free(tx);
}

static void test_refused(void **state)
{
    Pst__Transaction *tx = NULL;

    (void)state;
    peer_refuse(&ctld, OP_QUERY_ASSOCS, 2002, NULL);
    output_begin(&said, NULL);
    assert_int_equal(simaccounts_fetch(ctld.client, "demo", &tx), STATUS_FAILED);
    output_end(&said);
    expect_said(&said, "",
                "penstock: error: cannot ask the controller: Access/permission denied\n");
    assert_null(tx);
    PEER_LIST(&ctld, OP_QUERY_ASSOCS, assoc_mgr_record, NULL);
    peer_refuse(&ctld, OP_QUERY_RESVS, 2002, NULL);
    output_begin(&said, NULL);
    assert_int_equal(simaccounts_fetch(ctld.client, "demo", &tx), STATUS_FAILED);
    output_end(&said);
    assert_null(tx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records, begin_peer, end_peer),
        cmocka_unit_test_setup_teardown(test_request, begin_peer, end_peer),
        cmocka_unit_test_setup_teardown(test_refused, begin_peer, end_peer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
