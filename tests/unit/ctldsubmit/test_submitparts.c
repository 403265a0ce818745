/* test_submitparts.c - the partitions of a submission: which let the user in, which could run the
 * job, and what is left of a list */
#include "submit_util.h"

#include "ctld/job/jobfacts.h"

/* Groups are named whole, in any case, as AllowGroups has them. */
static const struct {
    const char *allow, *groups;
    bool yes;
} groups[] = {
    { "staff", "users,staff", true }, { "STAFF", "staff", true }, { "staff", "sta", false },
    { "staff,video", "video", true }, { "staff", NULL, false },   { "staff", "", false },
    { "staff", ",,staff,", true },    { "sta", "staff", false },
};

static void test_groups(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (submit_group_allowed(groups[i].allow, groups[i].groups) != groups[i].yes)
            fail_msg("row %zu", i);
}

/* Who is let into a partition, by what it says of itself; user 1000 of the groups users and video,
 * and root. */
static const struct {
    const char *part, *job;
    int user, root;
} doors[] = {
    { "", "", 0, 0 },
    { "'state':'PART_DOWN'", "", 0, 0 }, /* it waits there */
    { "'state':'PART_DRAIN'", "", ESLURM_PARTITION_NOT_AVAIL, ESLURM_PARTITION_NOT_AVAIL },
    { "'state':'PART_INACTIVE'", "", ESLURM_PARTITION_NOT_AVAIL, ESLURM_PARTITION_NOT_AVAIL },
    { "'root_only':true", "", ESLURM_ACCESS_DENIED, 0 },
    { "'disable_root_jobs':true", "", 0, ESLURM_USER_ID_MISSING },
    { "'req_resv':true", "", ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED },
    { "'allow_groups':'video'", "", 0, 0 },
    { "'allow_groups':'staff'", "", ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP, 0 },
    { "'alloc_nodes':'login[1-2]'", "", 0, 0 },
    { "'alloc_nodes':'login2'", "", ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED },
    { "'alloc_nodes':'login'", "", ESLURM_ACCESS_DENIED, ESLURM_ACCESS_DENIED },
};

static void test_doors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(doors); i++) {
        char part[128];
        int user, admin;

        corefull_begin("EnforcePartLimits=ALL\n", 1);
        (void)snprintf(part, sizeof(part), "'nodes':'n0'%s%s", *doors[i].part ? "," : "",
                       doors[i].part);
        add_partition("q", part);
        user = submit_as(ann, JOB(",'partition':'q'"), NULL);
        admin = submit_as(root, JOB(",'partition':'q'"), NULL);
        if (user != doors[i].user || admin != doors[i].root)
            fail_msg("row %zu, %s: %d, root %d", i, doors[i].part, user, admin);
        corefull_end();
    }
}

/* AllocNodes with and without a domain; what the record says of its host does not count. */
static void test_hosts(void **state)
{
    (void)state;
    corefull_begin("", 1);
    (void)snprintf(ann->peer.host, sizeof(ann->peer.host), "login2.site.org");
    add_partition("q", "'nodes':'n0','alloc_nodes':'login2'");
    add_partition("r", "'nodes':'n0','alloc_nodes':'login2.site.org'");
    add_partition("s", "'nodes':'n0','alloc_nodes':'login3'");
    assert_int_equal(submit_as(ann, JOB(",'partition':'q'"), NULL), 0);
    assert_int_equal(submit_as(ann, JOB(",'partition':'r'"), NULL), 0);
    assert_int_equal(submit_as(ann, JOB(",'partition':'s','alloc_host':'login3'"), NULL),
                     ESLURM_ACCESS_DENIED);
    corefull_end();
}

/* The list that is kept, by EnforcePartLimits: p has 4 CPUs a node, small takes jobs of one node
 * alone, shut nobody. */
static const struct {
    const char *enforce, *partitions, *job;
    int code;
    const char *kept;
} lists[] = {
    { "NO", "p,small", "", 0, "p,small" },
    { "NO", "small,p", ",'min_nodes':2", 0, "small,p" }, /* it may wait there */
    { "ANY", "small,p", ",'min_nodes':2", 0, "small,p" },
    { "ANY", "small", ",'min_nodes':2", ESLURM_INVALID_NODE_COUNT, NULL },
    { "ALL", "small,p", ",'min_nodes':2", ESLURM_INVALID_NODE_COUNT, NULL },
    { "NO", "p,nowhere", "", ESLURM_INVALID_PARTITION_NAME, NULL },
    { "ANY", "shut,p", "", 0, "p" },
    { "NO", "shut", "", ESLURM_ACCESS_DENIED, NULL },
    { "NO", "p,p,small", "", 0, "p,p,small" }, /* shown as it was asked for */
    { "NO", ",", "", ESLURM_DEFAULT_PARTITION_NOT_SET, NULL },
};

static void test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        char line[64], json[256];
        uint32_t id = 0;
        int code;

        (void)snprintf(line, sizeof(line), "EnforcePartLimits=%s\n", lists[i].enforce);
        corefull_begin(line, 2);
        add_partition("small", "'nodes':'n[0-1]','max_nodes':1");
        add_partition("shut", "'nodes':'n[0-1]','root_only':true");
        (void)snprintf(json, sizeof(json), JOB(",'partition':'%s'%s"), lists[i].partitions,
                       lists[i].job);
        code = submit_as(ann, json, &id);
        if (code != lists[i].code ||
            (code == 0 && strcmp(submitted(id)->partition, lists[i].kept) != 0))
            fail_msg("row %zu: code %d, %s", i, code,
                     code ? coreask_text : submitted(id)->partition);
        corefull_end();
    }
}

/* A list with a name that is not there says which. */
static void test_unknown(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p,nowhere'"), NULL),
                     ESLURM_INVALID_PARTITION_NAME);
    assert_non_null(strstr(coreask_text, "nowhere"));
    corefull_end();
}

/* Without a word the default partition; Alternate= stands in for one that takes no jobs. */
static void test_default(void **state)
{
    uint32_t id;

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(submit_as(ann, JOB(""), NULL), ESLURM_DEFAULT_PARTITION_NOT_SET);
    add_partition("q", "'nodes':'n0','is_default':true");
    assert_int_equal(submit_as(ann, JOB(""), &id), 0);
    assert_string_equal(submitted(id)->partition, "q");
    add_partition("r", "'nodes':'n0','state':'PART_DRAIN','alternate':'p'");
    assert_int_equal(submit_as(ann, JOB(",'partition':'r'"), &id), 0);
    assert_string_equal(submitted(id)->partition, "p");
    corefull_end();
}

/* What p's nodes lack is told at once, but not while the job asks for more time than p gives: it
 * may wait for another limit where limits are not enforced (recording 58). */
static void test_more_time(void **state)
{
    static const char more[] = ",'partition':'brief','time_limit_min':31,'mem_per_node_mib':999999";
    static const char less[] = ",'partition':'brief','time_limit_min':30,'mem_per_node_mib':999999";
    uint32_t id;

    (void)state;
    for (int enforced = 0; enforced < 2; enforced++) {
        char json[256];

        corefull_begin(enforced ? "SelectTypeParameters=CR_CPU_Memory\nEnforcePartLimits=ALL\n"
                                : "SelectTypeParameters=CR_CPU_Memory\nEnforcePartLimits=NO\n",
                       2);
        add_partition("brief", "'nodes':'n[0-1]','max_time_min':30");
        (void)snprintf(json, sizeof(json), JOB("%s"), less);
        assert_int_equal(submit_as(ann, json, NULL), ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE);
        (void)snprintf(json, sizeof(json), JOB("%s"), more);
        assert_int_equal(submit_as(ann, json, &id), enforced ? ESLURM_INVALID_TIME_LIMIT : 0);
        (void)snprintf(json, sizeof(json), JOB("%s,'features':'nosuch'"), more);
        assert_int_equal(submit_as(ann, json, &id),
                         enforced ? ESLURM_INVALID_TIME_LIMIT : ESLURM_INVALID_FEATURE);
        corefull_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),    cmocka_unit_test(test_doors),
        cmocka_unit_test(test_hosts),     cmocka_unit_test(test_lists),
        cmocka_unit_test(test_unknown),   cmocka_unit_test(test_default),
        cmocka_unit_test(test_more_time),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
