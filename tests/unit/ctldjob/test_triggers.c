/* test_triggers.c - triggers: who may set which, who sees and clears them, and that they fire */
#include "ctld_policy_util.h"

#define TRIG(x) (1u << PST__TRIGGER_EVENT__TRIG_##x)

static int setup_users(void **state)
{
    (void)state;
    (void)daemon_new(&shared);
    write_conf(&shared, "SlurmctldParameters=allow_user_triggers", cluster);
    daemon_start(&shared, NULL, NULL);
    if (geteuid() == 0)
        stranger = connect_as(&shared, STRANGER);
    return 0;
}

static int set(struct client *c, uint32_t events, const char *rest)
{
    char json[512];

    (void)snprintf(json, sizeof(json), "{'events':%u,%s}", events, rest);
    return ask(&shared, c, OP_TRIGGER_SET, json, NULL);
}

static int clear(struct client *c, const char *json)
{
    return ask(&shared, c, OP_TRIGGER_CLEAR, json, NULL);
}

/* How many there are; *what, unless NULL, must stand in the list. */
static size_t count(const char *what)
{
    ProtobufCMessage *reply = NULL;
    size_t n;

    assert_int_equal(ask(&shared, shared.client, OP_TRIGGER_GET, "{}", &reply), 0);
    n = ((Pst__TriggerSet *)reply)->n_items;
    if (what)
        assert_true(json_has(reply, what));
    protobuf_c_message_free_unpacked(reply, NULL);
    return n;
}

static void test_set_and_cleared(void **state)
{
    (void)state;
    /* Whose it is, and that it is not due yet, is not for the caller to say. */
    assert_int_equal(set(shared.client, TRIG(NODE_DOWN),
                         "'program':'/bin/true','nodes':'n[1,0-1]','uid':77,'gid':77,'set_us':5,"
                         "'due_us':1,'due_arg':'x','trigger_id':9"),
                     0);
    assert_int_equal(count("'nodes':'n[0-1]'"), 1);
    assert_int_equal(count("!'due_us'"), 1);
    assert_int_equal(count("!'due_arg'"), 1);
    assert_int_equal(count("!'uid':77"), 1);
    assert_int_equal(count("!'set_us':5"), 1);
    assert_int_equal(clear(shared.client, "{'trigger_id':4000000000}"), ESRCH);
    assert_int_equal(clear(shared.client, "{'uid':77}"), ESRCH);
    assert_int_equal(set(shared.client, TRIG(NODE_UP), "'program':'/bin/true'"), 0);
    assert_int_equal(count(NULL), 2);
    assert_int_equal(set(shared.client, TRIG(NODE_UP), "'program':'/bin/true','offset_s':0"),
                     ESLURM_TRIGGER_DUP);
    assert_int_equal(set(shared.client, TRIG(NODE_DOWN), "'program':'/bin/true','nodes':'n1,n0'"),
                     ESLURM_TRIGGER_DUP);
    assert_int_equal(set(shared.client, TRIG(NODE_DOWN), "'program':'/bin/true','nodes':'n1'"), 0);
    assert_int_equal(clear(shared.client, "{}"), 0); /* all */
    assert_int_equal(count(NULL), 0);
}

static void test_refused(void **state)
{
    static const struct {
        uint32_t events;
        const char *rest;
        int code;
    } rows[] = {
        { 0, "'program':'/bin/true'", EPST_BAD_REQUEST },
        { 1u << 31, "'program':'/bin/true'", EPST_BAD_REQUEST },
        { TRIG(NODE_DOWN), "'permanent':true", EPST_BAD_REQUEST },
        { TRIG(NODE_DOWN), "'program':'bin/true'", EPST_BAD_REQUEST },
        { TRIG(NODE_DOWN), "'program':''", EPST_BAD_REQUEST },
        { TRIG(NODE_DOWN), "'program':'/bin/true','nodes':'nosuch'", ESLURM_INVALID_NODE_NAME },
        { TRIG(NODE_DOWN), "'program':'/bin/true','nodes':'n[0'", ESLURM_INVALID_NODE_NAME },
        { TRIG(JOB_FINI), "'program':'/bin/true','job_id':4000000", ESLURM_INVALID_JOB_ID },
        { TRIG(JOB_TIME), "'program':'/bin/true'", ESLURM_INVALID_JOB_ID },
    };
    uint64_t before = state_hash(&shared);
    char rest[96];
    uint32_t id;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int code = set(shared.client, rows[i].events, rows[i].rest);

        if (code != rows[i].code)
            print_error("# row %zu: %d '%s'\n", i, code, shared.text);
        assert_int_equal(code, rows[i].code);
    }
    assert_int_equal(state_hash(&shared), before);
    id = submit(&shared, "{'job':{}}");
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
    (void)snprintf(rest, sizeof(rest), "'program':'/bin/true','job_id':%u", id);
    assert_int_equal(set(shared.client, TRIG(JOB_FINI), rest), ESLURM_ALREADY_DONE);
}

/* The list of nodes is read at each change of a node, so it is held to be good and short, also
 * where an event of a job is asked for beside. */
static void test_job_and_nodes(void **state)
{
    uint32_t id = submit(&shared, "{'job':{}}");
    char rest[128];

    (void)state;
    (void)snprintf(rest, sizeof(rest), "'program':'/bin/true','job_id':%u,'nodes':'x[1-60000]'",
                   id);
    assert_int_equal(set(shared.client, TRIG(JOB_FINI) | TRIG(NODE_DOWN), rest),
                     ESLURM_INVALID_NODE_NAME);
    (void)snprintf(rest, sizeof(rest), "'program':'/bin/true','job_id':%u,'nodes':'n1,n1'", id);
    assert_int_equal(set(shared.client, TRIG(JOB_FINI) | TRIG(NODE_DOWN), rest), 0);
    assert_int_equal(count("'nodes':'n1'"), 1);
    assert_int_equal(clear(shared.client, "{}"), 0);
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
}

static void test_strangers(void **state)
{
    uint32_t id = submit(&shared, "{'job':{}}");
    char rest[96];

    (void)state;
    if (!stranger)
        skip();
    (void)snprintf(rest, sizeof(rest), "'program':'/bin/true','job_id':%u", id);
    assert_int_equal(set(stranger, TRIG(JOB_FINI), rest), ESLURM_ACCESS_DENIED);
    assert_int_equal(set(shared.client, TRIG(NODE_DOWN), "'program':'/bin/true'"), 0);
    assert_int_equal(clear(stranger, "{}"), ESLURM_ACCESS_DENIED);
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(rest, sizeof(rest), "'program':'/bin/true','offset_s':%u", i);
        assert_int_equal(set(stranger, TRIG(NODE_DOWN), rest), 0);
    }
    assert_int_equal(set(stranger, TRIG(NODE_UP), "'program':'/bin/true'"), ESLURM_DISABLED);
    assert_int_equal(set(shared.client, TRIG(NODE_UP), "'program':'/bin/true'"), 0);
    assert_int_equal(count("'uid':12345"), 102);
    assert_int_equal(clear(stranger, "{}"), 0); /* his own alone */
    assert_int_equal(count("!'uid':12345"), 2);
    assert_int_equal(clear(shared.client, "{}"), 0);
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
}

static void wait_count(size_t want)
{
    int64_t until = now_mono_us() + DEADLINE_US;

    while (count(NULL) != want && now_mono_us() < until)
        (void)poll(NULL, 0, 20); /* between two questions */
    assert_int_equal(count(NULL), want);
}

/* One that has fired is gone; a permanent one stays. */
static void test_fired(void **state)
{
    static const char drain[] =
        "{'nodes':'n3','action':'NODE_ACT_DRAIN','set':{'reason':'trigger'}}";

    (void)state;
    assert_int_equal(set(shared.client, TRIG(NODE_DRAINED), "'program':'/bin/true','nodes':'n3'"),
                     0);
    assert_int_equal(set(shared.client, TRIG(NODE_DRAINED), "'program':'/bin/true','nodes':'n2'"),
                     0);
    assert_int_equal(set(shared.client, TRIG(NODE_DRAINED),
                         "'program':'/bin/true','nodes':'n3','permanent':true"),
                     0);
    assert_int_equal(ask(&shared, shared.client, OP_NODE_UPDATE, drain, NULL), 0);
    wait_count(2);
    assert_int_equal(count("'nodes':'n2'"), 2);
    assert_int_equal(count("'permanent':true"), 2);
    assert_int_equal(clear(shared.client, "{}"), 0);
}

/* Without allow_user_triggers they are the administrator's. */
static void test_not_allowed(void **state)
{
    (void)teardown(state);
    (void)setup(state);
    if (stranger)
        assert_int_equal(set(stranger, TRIG(NODE_DOWN), "'program':'/bin/true'"),
                         ESLURM_ACCESS_DENIED);
    assert_int_equal(set(shared.client, TRIG(NODE_DOWN), "'program':'/bin/true'"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_cleared),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_job_and_nodes),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_fired),
        cmocka_unit_test(test_not_allowed), /* with a controller of its own, which stays */
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup_users, teardown);
}
