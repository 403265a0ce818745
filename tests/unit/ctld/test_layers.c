/* test_layers.c - resources.yaml in a controller: what a start writes down, what a restart, a
 * smaller job and another request make of it, and a file with a mistake */
#include "ctld_util.h"

#include "feed/layerhold.h"
#include "ctld/core/resourcefile.h"
#include "feed/resourcefeed.h"

static const char cluster[] =
    "NodeName=n[0-3] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

static const char resources[] =
    "- resource: watts\n  mode: MODE_3\n  variables: [{name: train, value: 30}]\n  layers:\n"
    "    - {nodes: [\"n[0-3]\"], count: 100, base: [{name: fans, value: 10}]}\n"
    "    - {nodes: [\"n[0-1]\"], count: 60}\n    - {nodes: [\"n[2-3]\"], count: 60}\n"
    "- resource: port\n  mode: MODE_1\n  layers:\n"
    "    - {nodes: [\"n[0-1]\"], count: 5}\n    - {nodes: [\"n[0-3]\"], count: 9}\n";

static struct fake_node *nodes[4];

static void write_resources(const struct daemon *d, const char *text)
{
    char path[96];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/resources.yaml", d->dir);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void bring_nodes(struct daemon *d)
{
    static const char *const names[] = { "n0", "n1", "n2", "n3" };

    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
        if (nodes[i])
            node_free(nodes[i]);
        nodes[i] = node_up(d, names[i], "b1", NULL);
    }
}

static int setup(void **state)
{
    struct daemon *d = malloc(sizeof(*d));

    assert_non_null(d);
    (void)daemon_new(d);
    write_conf(d, "SlurmdTimeout=600", cluster);
    write_resources(d, resources);
    daemon_start(d, NULL, NULL);
    bring_nodes(d);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct daemon *d = *state;
    int status = daemon_stop(d, SIGTERM);

    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        node_free(nodes[i]);
    daemon_free(d);
    free(d);
    return status; /* not 0 when it leaked */
}

static uint32_t first; /* runs from the first test on */

static void test_start_says_layers(void **state)
{
    struct daemon *d = *state;

    first = submit(d, "{'job':{'min_nodes':3,'max_nodes':3,'num_tasks':3,"
                      "'licenses':'watts:train'}}");
    (void)node_launched(nodes[0], first);
    assert_job(d, first, "'licenses':'watts:train'");
    assert_job(d, first, "'licenses_alloc':'watts:30'");
    assert_job(d, first, "'layers_alloc':'watts(n[0-1]):60;watts(n[2-3]):30;watts(n[0-3]):90'");
}

static void test_smaller_job(void **state)
{
    struct daemon *d = *state;
    uint32_t id;

    assert_int_equal(update(d, first, "'set':{'min_nodes':2,'max_nodes':2}"), 0);
    assert_job(d, first, "'layers_alloc':'watts(n[0-1]):60;watts(n[0-3]):60'");
    id = submit(d, "{'job':{'licenses':'watts:train'}}"); /* there is room again */
    wait_job(d, id, "'layers_alloc':'watts(n[2-3]):30;watts(n[0-3]):30'");
}

/* A job that runs gets other licences, or none. */
static void test_other_licences(void **state)
{
    struct daemon *d = *state;

    assert_int_equal(update(d, first, "'set':{'licenses':'port:2'}"), 0);
    assert_job(d, first, "'licenses_alloc':'port(n[0-1]):2'");
    assert_job(d, first, "'layers_alloc':'port(n[0-1]):2'");
    assert_int_equal(update(d, first, "'set':{'licenses':'port:3'}"), 0);
    assert_job(d, first, "'layers_alloc':'port(n[0-1]):3'");
    assert_int_equal(update(d, first, "'set':{'licenses':'port:6'}"), ESLURM_INVALID_LICENSES);
    assert_int_equal(update(d, first, "'set':{'licenses':'nosuch:1'}"), ESLURM_INVALID_LICENSES);
    assert_int_equal(update(d, first, "'set':{'licenses':''}"), 0);
    assert_false(job_has(d, first, "'layers_alloc':'port(n[0-1]):3'"));
}

static const struct {
    const char *licenses;
    int code;
} requests[] = {
    { "watts:90", ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE }, /* a leaf has 60 */
    { "watts:91", ESLURM_INVALID_LICENSES },
    { "watts:turbo", ESLURM_INVALID_LICENSES },
    { "watts:train:2", ESLURM_INVALID_LICENSES },
    { "port(n[0-1]):1", ESLURM_INVALID_LICENSES },
    { "port:3,port:3", ESLURM_INVALID_LICENSES },
    { "port|watts:1,port", ESLURM_INVALID_LICENSES },
};

static void test_refused(void **state)
{
    struct daemon *d = *state;

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        char json[128];
        uint32_t id = 0;
        int code;

        (void)snprintf(json, sizeof(json), "{'job':{'licenses':'%s'}}", requests[i].licenses);
        code = submit_as(d, d->client, json, &id);
        if (code != requests[i].code)
            fail_msg("%s: %d", requests[i].licenses, code);
    }
}

/* A waiting job whose resource is gone is held; a mistake in the file changes nothing. */
static void test_reconfigured(void **state)
{
    struct daemon *d = *state;
    uint32_t id = submit(d, "{'job':{'licenses':'port:1','begin_us':4000000000000000}}");
    Pst__JobRecord *r;

    write_resources(d, "- resource: watts\n  mode: MODE_7\n");
    assert_int_equal(ask(d, d->client, OP_RECONFIGURE, "{}", NULL), 0);
    assert_false(job_has(d, id, "'priority':0"));
    write_resources(d, "# nothing\n");
    assert_int_equal(ask(d, d->client, OP_RECONFIGURE, "{}", NULL), 0);
    assert_job(d, id, "'reason':'REASON_JOB_HELD_ADMIN'");
    r = get_job(d, id);
    assert_non_null(r);
    assert_string_equal(r->reason_text, "License request 'port:1' is no longer valid, holding job");
    pst__job_record__free_unpacked(r, NULL);
}

/* What is charged is in the log: another controller knows it without the file. */
static void test_restart(void **state)
{
    struct daemon *d = *state;
    uint32_t id;

    write_resources(d, resources);
    assert_int_equal(ask(d, d->client, OP_RECONFIGURE, "{}", NULL), 0);
    id = submit(d, "{'job':{'licenses':'watts:train','req_nodes':'n3'}}");
    (void)node_launched(nodes[3], id);
    assert_int_equal(daemon_stop(d, SIGTERM), 0);
    write_resources(d, "# nothing\n");
    daemon_start(d, NULL, NULL);
    wait_job(d, id, "'layers_alloc':'watts(n[2-3]):30;watts(n[0-3]):30'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_says_layers), cmocka_unit_test(test_smaller_job),
        cmocka_unit_test(test_other_licences),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_reconfigured),      cmocka_unit_test(test_restart),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
