/* test_licenses.c - licences of the cluster: its part of what others serve, and what a request may
 * name */
#include "records_util.h"

#include "base/gres/licensetext.h"
#include "conf/conf.h"
#include "ctld/ctld.h"
#include "ctld/schedlink/licenses.h"
#include "model/cluster.h"

struct world {
    struct conf *conf;
    struct cluster cluster;
    struct ctld ctld;
    Pst__JobRecord rec;
    struct job job;
};

static void set_conf(struct world *w, const char *lines)
{
    char text[512];
    struct conf_text file = { .name = "slurm.conf", .text = text };
    struct err err = { .text = "" };

    conf_free(w->conf);
    file.len = (size_t)snprintf(text, sizeof(text),
                                "ClusterName=t\nSlurmctldHost=h\nNodeName=n1 CPUs=1\n"
                                "PartitionName=p Nodes=n1\n%s\n",
                                lines);
    if (conf_load_text(&file, 1, CONF_FULL, &w->conf, NULL, &err) < 0)
        fail_msg("%s", err.text);
    w->ctld.conf = w->conf;
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    assert_int_equal(am_new(&w->cluster.am), 0);
    w->ctld.cluster = &w->cluster;
    pst__job_record__init(&w->rec);
    w->job.rec = &w->rec;
    set_conf(w, "Licenses=matlab:10,ansys:4");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    free(w->ctld.licenses);
    am_free(w->cluster.am);
    conf_free(w->conf);
    free(w);
    return 0;
}

static void put_resource(struct world *w, const char *rest)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "{'resource':{'resource_id':1,'name':'fluent','server':'lic1','count':20,%s}}",
                   rest);
    records_put_one(w->cluster.am, text);
}

/* NAME TOTAL DEFICIT of each remote one. */
static void expect_remote(struct world *w, const char *want)
{
    struct remote_license l;
    char got[256] = "";

    for (size_t pos = 0; licenses_next_remote(&w->ctld, &pos, &l);) {
        size_t len = strlen(got);

        (void)snprintf(got + len, sizeof(got) - len, "%s%s %llu %llu", len ? "; " : "", l.name,
                       (unsigned long long)l.total, (unsigned long long)l.deficit);
    }
    assert_string_equal(got, want);
}

static void test_part(void **state)
{
    struct world *w = *state;

    expect_remote(w, "");
    put_resource(w, "'shares':[{'cluster':'t','allowed':50}]"); /* per cent */
    expect_remote(w, "fluent@lic1 10 0");
    put_resource(w, "'shares':[{'cluster':'t','allowed':33}]");
    expect_remote(w, "fluent@lic1 6 0");                                  /* no part of a licence */
    put_resource(w, "'flags':1,'shares':[{'cluster':'t','allowed':15}]"); /* Absolute */
    expect_remote(w, "fluent@lic1 15 0");
    put_resource(w, "'shares':[{'cluster':'other','allowed':50}]");
    expect_remote(w, ""); /* nothing of it is ours */
}

/* What others use counts only as far as it is more than what is not ours anyway. */
static void test_deficit(void **state)
{
    struct world *w = *state;

    put_resource(w, "'last_consumed':8,'shares':[{'cluster':'t','allowed':50}]");
    expect_remote(w, "fluent@lic1 10 0"); /* 8 of the other 10 */
    put_resource(w, "'last_consumed':13,'shares':[{'cluster':'t','allowed':50}]");
    expect_remote(w, "fluent@lic1 10 3");
    w->rec.licenses_alloc = (char *)"matlab:2,fluent@lic1:2"; /* of ours, which the server saw */
    w->cluster.active = &w->job;
    expect_remote(w, "fluent@lic1 10 1");
    w->rec.licenses_alloc = (char *)"fluent@lic1:30"; /* more than the server knows */
    expect_remote(w, "fluent@lic1 10 0");
    w->cluster.active = NULL;
    put_resource(w, "'last_consumed':90,'shares':[{'cluster':'t','allowed':50}]");
    expect_remote(w, "fluent@lic1 10 80"); /* as the server says; of what there is, none is left */
}

static void test_exist(void **state)
{
    struct world *w = *state;

    assert_string_equal(licenses_all(&w->ctld), "");
    w->ctld.licenses = strdup("matlab:10,ansys:4,fluent@lic1:6");
    assert_true(licenses_exist(&w->ctld, "matlab"));
    assert_true(licenses_exist(&w->ctld, "matlab:10,ansys:4"));
    assert_true(licenses_exist(&w->ctld, "matlab|ansys:2"));
    assert_true(licenses_exist(&w->ctld, "fluent@lic1:6"));
    assert_false(licenses_exist(&w->ctld, "matlab:11"));
    assert_false(licenses_exist(&w->ctld, "fluent"));
    assert_false(licenses_exist(&w->ctld, "abaqus"));
    assert_false(licenses_exist(&w->ctld, "matlab:x"));
    assert_false(licenses_exist(&w->ctld, "matlab,ansys|fluent@lic1"));
    assert_true(licenses_exist_resv(&w->ctld, "ansys:4"));
    assert_false(licenses_exist_resv(&w->ctld, "ansys:5"));
    assert_true(licenses_total(&w->ctld, "matlab") == 10);
    assert_true(licenses_total(&w->ctld, "fluent@lic1") == 6);
    assert_true(licenses_total(&w->ctld, "mat") == 0);
}

static void expect_complete(struct world *w, const char *text, const char *want)
{
    char *got = licenses_complete(&w->ctld, text);

    if (want)
        assert_string_equal(got, want);
    else
        assert_null(got);
    free(got);
}

/* RemoteFuzzyMatch: names that one server alone has, and the cluster itself has not. */
static void test_complete(void **state)
{
    struct world *w = *state;

    put_resource(w, "'shares':[{'cluster':'t','allowed':50}]");
    expect_complete(w, "fluent:2", NULL); /* it is not asked for */
    set_conf(w, "Licenses=matlab:10\nLicenseParameters=RemoteFuzzyMatch");
    expect_complete(w, "fluent:2", "fluent@lic1:2");
    expect_complete(w, "matlab:1,fluent", "matlab:1,fluent@lic1");
    expect_complete(w, "fluent|matlab:3", "fluent@lic1|matlab:3");
    expect_complete(w, "fluent@lic2:2", NULL); /* a server is named */
    expect_complete(w, "flu:2", NULL);
    expect_complete(w, "matlab:2", NULL);
    expect_complete(w, "", NULL);
    expect_complete(w, NULL, NULL);
    set_conf(w, "Licenses=fluent:1\nLicenseParameters=RemoteFuzzyMatch");
    expect_complete(w, "fluent:2", NULL); /* its own comes first */
    set_conf(w, "LicenseParameters=RemoteFuzzyMatch");
    records_put_one(w->cluster.am,
                    "{'resource':{'resource_id':2,'name':'fluent','server':'lic2','count':5,"
                    "'shares':[{'cluster':'t','allowed':100}]}}");
    expect_complete(w, "fluent:2", NULL); /* which of both? */
}

static void test_layer(void **state)
{
    struct world *w = *state;
    const char *text = "matlab:3";
    struct license_text l;
    char *name;

    assert_true(license_text_next(&text, &l));
    name = licenses_layer(&w->ctld, &l);
    assert_string_equal(name, "matlab");
    free(name);
    text = "port(n[01-12]):30";
    assert_true(license_text_next(&text, &l));
    name = licenses_layer(&w->ctld, &l);
    assert_string_equal(name, "port(n[01-12])");
    free(name);
}

int main(void)
{
#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_part),     IN_WORLD(test_deficit), IN_WORLD(test_exist),
        IN_WORLD(test_complete), IN_WORLD(test_layer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("licenses", tests, NULL, NULL);
}
