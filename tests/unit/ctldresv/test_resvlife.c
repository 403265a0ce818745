/* test_resvlife.c - what time does to reservations: they begin, mark nodes, recur, end */
#include "resv_util.h"

#include "base/readfile.h"

/* A controller whose ResvProlog and ResvEpilog write down what they were called with. */
static int setup_programs(void **state)
{
    static const char *const names[] = { "n0", "n1", "n2", "n3" };
    char extra[256], path[96];

    (void)state;
    (void)daemon_new(&shared);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "epilog" : "prolog";
        FILE *f;

        (void)snprintf(path, sizeof(path), "%s/%s", shared.dir, name);
        f = fopen(path, "we");
        assert_non_null(f);
        fprintf(f, "#!/bin/sh\necho \"%s $1 $SLURM_RESERVATION_NAME\" >> %s/programs\n", name,
                shared.dir);
        assert_int_equal(fchmod(fileno(f), 0755), 0);
        assert_int_equal(fclose(f), 0);
    }
    (void)snprintf(extra, sizeof(extra), "ResvProlog=%s/prolog\nResvEpilog=%s/epilog", shared.dir,
                   shared.dir);
    write_conf(&shared, extra, cluster);
    daemon_start(&shared, NULL, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        nodes[i] = node_up(&shared, names[i], "boot", NULL);
    return 0;
}

static bool programs_said(const char *line)
{
    _cleanup_free_ char *text = NULL;
    char path[96];
    size_t len;

    (void)snprintf(path, sizeof(path), "%s/programs", shared.dir);
    return readfile(path, 65536, &text, &len) == 0 && strstr(text, line);
}

static bool is_gone(const char *name)
{
    Pst__ReservationRecord *r = find(name);

    if (r)
        pst__reservation_record__free_unpacked(r, NULL);
    return !r;
}

/* A field of the reservation, asked again and again without a message. */
static bool resv_is(const char *name, const char *what)
{
    Pst__ReservationRecord *r = find(name);
    bool yes = r && json_has(&r->base, what);

    if (r)
        pst__reservation_record__free_unpacked(r, NULL);
    return yes;
}

static bool node_is(const char *name, const char *what)
{
    struct wanted w = { .desc = &pst__node_record__descriptor, .name = name };
    ProtobufCMessage *rec = query(&shared, OP_QUERY_NODES, &w);
    bool yes = rec && json_has(rec, what);

    if (rec)
        protobuf_c_message_free_unpacked(rec, NULL);
    return yes;
}

/* From now on, for four seconds. */
static int create_short(const char *rest, const char *set)
{
    const int64_t now = now_us();

    return create_between(rest, now - SEC, now + 4 * SEC, set);
}

/* Programs run at both ends; nodes show it between them. */
static void test_begins_and_ends(void **state)
{
    (void)state;
    assert_int_equal(create_short("'name':'short'", "'users':'root','nodes':'n[0-1]'"), 0);
    wait_until(node_is("n0", "'reservation':'short'"));
    assert_true(node_is("n1", "'reservation':'short'"));
    assert_false(node_is("n2", "'reservation':'short'"));
    wait_until(programs_said("prolog short short\n"));
    assert_true(is_gone("short") || resv_is("short", "'started':true"));
    wait_until(is_gone("short"));
    wait_until(programs_said("epilog short short\n"));
    wait_until(!node_is("n0", "'reservation':'short'"));
}

/* A job that waits for a reservation which goes is held, or goes on without it. */
static void test_waiting_jobs(void **state)
{
    static const char held[] = "{'job':{'reservation':'goes'}}";
    static const char loose[] = "{'job':{'reservation':'lets','begin_us':99999999999999999}}";
    static const char listed[] = "{'job':{'reservation':'stays,goes'}}";
    char flags[96];
    uint32_t first, second, third;

    (void)state;
    (void)snprintf(flags, sizeof(flags), "'name':'lets','flags_set':%llu",
                   (unsigned long long)RESV_FLAG(NO_HOLD_JOBS_AFTER_END));
    assert_int_equal(create("'name':'goes'", later, "'users':'root','nodes':'n2'"), 0);
    assert_int_equal(create("'name':'stays'", later, "'users':'root','nodes':'n1'"), 0);
    assert_int_equal(create(flags, later, "'users':'root','nodes':'n3'"), 0);
    first = submit(&shared, held);
    second = submit(&shared, loose);
    third = submit(&shared, listed);
    assert_int_equal(drop(shared.client, "goes"), 0);
    assert_int_equal(drop(shared.client, "lets"), 0);
    assert_job(&shared, first, "'reason':'REASON_RESERVATION_DELETED'");
    assert_job(&shared, first, "'priority':0");
    assert_false(job_has(&shared, second, "'reservation':'lets'"));
    assert_false(job_has(&shared, second, "'priority':0"));
    assert_job(&shared, third, "'reservation':'stays'");
    assert_int_equal(act(&shared, first, "CANCEL"), 0);
    assert_int_equal(act(&shared, second, "CANCEL"), 0);
    assert_int_equal(act(&shared, third, "CANCEL"), 0);
    assert_int_equal(drop(shared.client, "stays"), 0);
}

static int64_t end_of_job(uint32_t id)
{
    Pst__JobRecord *r = get_job(&shared, id);
    int64_t end;

    assert_non_null(r);
    end = r->has_end_us ? r->end_us : INT64_MAX;
    pst__job_record__free_unpacked(r, NULL);
    return end;
}

/* ResvOverRun is 0: what runs in a reservation ends with it, however long it might. */
static void test_running_jobs(void **state)
{
    const int64_t now = now_us();
    char json[160];
    uint32_t id;

    (void)state;
    assert_int_equal(
        create_between("'name':'mine'", now - SEC, now + HOUR_US, "'users':'root','nodes':'n0'"),
        0);
    id = submit(&shared, "{'job':{'reservation':'mine','time_limit_min':30}}");
    wait_job(&shared, id, "'state':'JOB_RUNNING'");
    (void)node_launched(nodes[0], id);
    assert_int_equal(drop(shared.client, "mine"), ESLURM_RESERVATION_BUSY);
    assert_true(end_of_job(id) > now + 60 * SEC);
    (void)snprintf(json, sizeof(json), "{'name':'mine','set':{'end_us':%lld}}",
                   (long long)(now_us() + 2 * SEC));
    assert_int_equal(ask(&shared, shared.client, OP_RESV_UPDATE, json, NULL), 0);
    wait_until(is_gone("mine"));
    wait_until(end_of_job(id) <= now_us());
    wait_job(&shared, id, "'state':'JOB_TIMEOUT'");
}

/* An hourly one goes to its next hour, with the same length. */
static void test_recurs(void **state)
{
    const int64_t now = now_us();
    char rest[96];
    Pst__ReservationRecord *r;

    (void)state;
    (void)snprintf(rest, sizeof(rest), "'name':'hourly','flags_set':%llu",
                   (unsigned long long)RESV_FLAG(HOURLY));
    assert_int_equal(create_between(rest, now - SEC, now + 4 * SEC, "'users':'root','nodes':'n3'"),
                     0);
    wait_until(programs_said("epilog hourly hourly\n"));
    r = find("hourly");
    assert_non_null(r);
    assert_int_equal(r->start_us, now - SEC + HOUR_US);
    assert_int_equal(r->end_us, now + 4 * SEC + HOUR_US);
    assert_false(r->has_started && r->started);
    pst__reservation_record__free_unpacked(r, NULL);
    assert_int_equal(drop(shared.client, "hourly"), 0);
}

static int set_node(const char *name, const char *fields)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "{'nodes':'%s',%s}", name, fields);
    return ask(&shared, shared.client, OP_NODE_UPDATE, json, NULL);
}

/* A node that is drained leaves a reservation that asked for a number of nodes; one that named its
 * nodes keeps it. */
static void test_replaced(void **state)
{
    (void)state;
    assert_int_equal(
        create("'name':'any'", later, "'users':'root','partition':'main','want_node_cnts':'2'"), 0);
    assert_true(resv_has_text("any", "'nodes':'n[0-1]'"));
    assert_int_equal(
        create("'name':'these'", (struct hours){ 200, 201 }, "'users':'root','nodes':'n[0-1]'"), 0);
    assert_int_equal(set_node("n0", "'action':'NODE_ACT_DRAIN','set':{'reason':'r'}"), 0);
    wait_until(resv_is("any", "'nodes':'n[1-2]'"));
    assert_true(resv_has_text("these", "'nodes':'n[0-1]'"));
    assert_int_equal(set_node("n0", "'action':'NODE_ACT_RESUME'"), 0);
    assert_int_equal(drop(shared.client, "any"), 0);
    assert_int_equal(drop(shared.client, "these"), 0);
}

/* Maintenance is what a node shows when there are several. */
static void test_marks(void **state)
{
    const int64_t now = now_us();
    char rest[96];

    (void)state;
    (void)snprintf(rest, sizeof(rest), "'name':'service','flags_set':%llu",
                   (unsigned long long)RESV_FLAG(MAINT));
    assert_int_equal(
        create_between("'name':'usual'", now - SEC, now + HOUR_US, "'users':'root','nodes':'n2'"),
        0);
    wait_until(node_is("n2", "'reservation':'usual'"));
    assert_int_equal(create_between(rest, now - SEC, now + HOUR_US, "'users':'root','nodes':'n2'"),
                     0);
    wait_until(node_is("n2", "'reservation':'service'"));
    assert_int_equal(drop(shared.client, "service"), 0);
    wait_until(node_is("n2", "'reservation':'usual'"));
    assert_int_equal(drop(shared.client, "usual"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins_and_ends), cmocka_unit_test(test_waiting_jobs),
        cmocka_unit_test(test_recurs),          cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_marks),           cmocka_unit_test(test_running_jobs),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup_programs, teardown_nodes);
}
