/* test_noderes.c - the devices of a node as the scheduler takes them: how many by the
 * configuration, which are where by the registration */
#include "model_util.h"
#include "json_util.h"

#include "feed/noderes.h"

static struct noderes *res_of(const char *json)
{
    ProtobufCMessage *rec = from_json(&pst__node_record__descriptor, json);
    struct noderes *res = noderes_new((const Pst__NodeRecord *)rec);

    protobuf_c_message_free_unpacked(rec, NULL); /* what the rows point to is their own */
    return res;
}

/* "name:type count@first" of each row: i = told apart by index, e = explicit only. */
static void expect_rows(const struct noderes *res, const char *want)
{
    char got[512] = "";

    for (size_t i = 0; i < res->n; i++) {
        const struct sched_gres_spec *r = &res->rows[i];
        size_t len = strlen(got);

        (void)snprintf(got + len, sizeof(got) - len, "%s%s%s%s %llu@%u%s%s%s", len ? "; " : "",
                       r->name, r->type ? ":" : "", r->type ? r->type : "",
                       (unsigned long long)r->count, r->first_index, r->indexed ? "i" : "",
                       r->explicit_only ? "e" : "", r->no_consume ? "n" : "");
    }
    assert_string_equal(got, want);
}

/* Before a node has registered the configuration alone is known. */
static void test_configured(void **state)
{
    struct noderes *res = res_of("{'cpus':8,'gres':'gpu:a100:2,gpu:h100:1,license:5,craynet:7'}");

    (void)state;
    expect_rows(res, "gpu:a100 2@0i; gpu:h100 1@2i; license 5@0; craynet 7@0");
    assert_null(res->gpu_bits);
    noderes_free(res);
    res = res_of("{'cpus':8}");
    expect_rows(res, "");
    noderes_free(res);
    assert_null(noderes_free(NULL));
}

/* Two sockets of two cores with two threads: lines of GPUs near one socket each. */
static void test_registered(void **state)
{
    struct noderes *res = res_of(
        "{'cpus':8,'sockets':2,'cores_per_socket':2,'gres':'gpu:a100:3,gpu:t4:1','gres_topo':["
        "{'name':'gpu','type':'a100','count':'2','devices':'0-1','cores':'0-1','links':'-1,4,0,0'},"
        "{'name':'gpu','type':'t4','count':'1','devices':'2'},"
        "{'name':'gpu','type':'a100','count':'1','devices':'3','cores':'3','explicit_only':true}]}");

    (void)state;
    expect_rows(res, "gpu:a100 2@0i; gpu:a100 1@3ie; gpu:t4 1@2i");
    assert_true(res->rows[0].near_cpus[0][0] == 0x0f);
    assert_ptr_equal(res->rows[0].near_cpus[0], res->rows[0].near_cpus[1]);
    assert_true(res->rows[1].near_cpus[0][0] == 0xc0); /* core 3: CPUs 6 and 7 */
    assert_null(res->rows[2].near_cpus);
    assert_non_null(res->rows[0].links);
    assert_int_equal(res->rows[0].links[0], 0); /* itself */
    assert_int_equal(res->rows[0].links[1], 4);
    assert_null(res->rows[2].links);
    noderes_free(res);
}

/* Fewer devices than are configured: an older slurmd, or a broken one; nothing is near anything. */
static void test_too_few(void **state)
{
    struct noderes *res = res_of("{'cpus':4,'sockets':1,'cores_per_socket':4,'gres':'gpu:4',"
                                 "'gres_topo':[{'name':'gpu','count':'2','devices':'0-1',"
                                 "'cores':'0-1'}]}");

    (void)state;
    expect_rows(res, "gpu 4@0i");
    assert_null(res->rows[0].near_cpus);
    noderes_free(res);
    /* more than are configured: the first of them */
    res = res_of("{'cpus':4,'sockets':1,'cores_per_socket':4,'gres':'gpu:1','gres_topo':["
                 "{'name':'gpu','count':'2','devices':'0-1','cores':'2'}]}");
    expect_rows(res, "gpu 1@0i");
    assert_true(res->rows[0].near_cpus[0][0] == 0x4);
    noderes_free(res);
}

/* What a registration says is a node's word: nonsense is passed over. */
static void test_nonsense(void **state)
{
    struct noderes *res =
        res_of("{'cpus':4,'sockets':1,'cores_per_socket':4,'gres':'gpu:2,shard:4','gres_topo':["
               "{'count':'9'},{'name':'gpu','count':'18446744073709551615','devices':'0-1',"
               "'cores':'900-901','links':'x,y'},"
               "{'name':'shard','count':'9000000000','devices':'7777'}]}");

    (void)state;
    assert_int_equal(res->n, 2);
    assert_true(res->rows[0].count == 2);
    assert_true(res->rows[1].count == 4);
    assert_int_equal(res->rows[1].nshares, 2);
    noderes_free(res);
}

static void expect_shares(const struct noderes *res, size_t row, const char *want)
{
    char got[128] = "";

    for (uint32_t i = 0; i < res->rows[row].nshares; i++) {
        size_t len = strlen(got);

        (void)snprintf(got + len, sizeof(got) - len, "%s%u:%u", len ? " " : "",
                       res->rows[row].shares[i].device, res->rows[row].shares[i].count);
    }
    assert_string_equal(got, want);
}

/* Shares lie on GPUs: as the lines say, else evenly on all. */
static void test_shares(void **state)
{
    struct noderes *res = res_of("{'cpus':4,'gres':'shard:7,gpu:t4:2'}");

    (void)state;
    expect_rows(res, "gpu:t4 2@0i; shard:t4 7@0i"); /* GPUs first; shares are of their type */
    expect_shares(res, 1, "0:4 1:3");
    noderes_free(res);
    res = res_of("{'cpus':4,'gres':'gpu:2,mps:300','gres_topo':["
                 "{'name':'gpu','count':'2','devices':'0-1'},"
                 "{'name':'mps','count':'200','devices':'0'},"
                 "{'name':'mps','count':'100','devices':'1'}]}");
    expect_shares(res, 1, "0:200 1:100");
    noderes_free(res);
    res = res_of("{'cpus':4,'gres':'gpu:2,mps:300','gres_topo':["
                 "{'name':'gpu','count':'2','devices':'0-1'},"
                 "{'name':'mps','count':'200','devices':'0'}]}"); /* which do not add up */
    expect_shares(res, 1, "0:150 1:150");
    noderes_free(res);
    res = res_of("{'cpus':4,'gres':'shard:4'}"); /* of no GPU: a plain count */
    expect_rows(res, "shard 4@0");
    assert_null(res->rows[0].shares);
    noderes_free(res);
}

/* Of shares 0-3 on GPU 0 and 4-6 on GPU 1 a job holds 2, 3 and 4. */
static void test_held_shares(void **state)
{
    struct noderes *res = res_of("{'cpus':4,'gres':'shard:7,gpu:t4:2'}");
    uint64_t devices = 0x1c;
    struct sched_alloc_gres g = {
        .name = "shard", .count = 3, .devices = &devices, .ndevice_words = 1
    };
    char *gpus = NULL, *counts = NULL;

    (void)state;
    assert_true(noderes_shares(res, &g, &gpus, &counts));
    assert_string_equal(gpus, "0-1");
    assert_string_equal(counts, "2/4,1/3");
    free(gpus);
    free(counts);
    devices = 0x20;
    assert_true(noderes_shares(res, &g, &gpus, &counts));
    assert_string_equal(gpus, "1");
    assert_string_equal(counts, "0/4,1/3");
    free(gpus);
    free(counts);
    g.name = "gpu";
    assert_false(noderes_shares(res, &g, &gpus, &counts)); /* GPUs are no shares */
    g.name = "shard";
    g.type = "a100";
    assert_false(noderes_shares(res, &g, &gpus, &counts));
    g.type = NULL;
    g.devices = NULL;
    assert_false(noderes_shares(res, &g, &gpus, &counts));
    noderes_free(res);
}

/* RestrictedCoresPerGPU: cores near each GPU, no core for two of them. */
static void test_restricted(void **state)
{
    struct noderes *res = res_of(
        "{'cpus':8,'sockets':2,'cores_per_socket':2,'gres':'gpu:2','restricted_cores_per_gpu':1,"
        "'gres_topo':[{'name':'gpu','count':'2','devices':'0-1','cores':'2-3'}]}");

    (void)state;
    assert_non_null(res->gpu_bits);
    assert_true(res->gpu_bits[0] == 0xf0); /* cores 2 and 3 */
    noderes_free(res);
    res = res_of("{'cpus':8,'sockets':2,'cores_per_socket':2,'gres':'gpu:2',"
                 "'restricted_cores_per_gpu':1}");
    assert_true(res->gpu_bits[0] == 0x0f); /* near nothing: the first cores */
    noderes_free(res);
    res = res_of("{'cpus':4,'gres':'gpu:9','restricted_cores_per_gpu':2}");
    assert_true(res->gpu_bits[0] == 0x0f); /* there are no more */
    noderes_free(res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_configured), cmocka_unit_test(test_registered),
        cmocka_unit_test(test_too_few),    cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_shares),     cmocka_unit_test(test_held_shares),
        cmocka_unit_test(test_restricted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("noderes", tests, NULL, NULL);
}
