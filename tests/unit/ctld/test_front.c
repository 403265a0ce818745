/* test_front.c - what keeps one user from holding the door: rate limit, questions; names of
 * users */
#include "model_util.h"

#include <dlfcn.h>
#include <pwd.h>

#include "conf/conf.h"
#include "ctld/core/asking.h"
#include "ctld/front/ratelimit.h"
#include "ctld/front/users.h"

static struct conf *conf_of(const char *line)
{
    char text[512];
    struct conf_text file = { .name = "slurm.conf", .text = text };
    struct conf *conf = NULL;
    struct err err = { .text = "" };

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\n%s\nNodeName=n CPUs=1\n"
                   "PartitionName=p Nodes=n\n",
                   line);
    file.len = strlen(text);
    if (conf_load_text(&file, 1, CONF_FULL, &conf, NULL, &err) < 0)
        print_error("# %s\n", err.text);
    assert_non_null(conf);
    return conf;
}

static void test_rate(void **state)
{
    struct ratelimit *rl = NULL;
    struct conf *conf = conf_of("SlurmctldParameters=rl_enable,rl_bucket_size=3,rl_refill_rate=1,"
                                "rl_refill_period=1");
    bool log;

    (void)state;
    assert_int_equal(ratelimit_new(&rl), 0);
    for (int i = 0; i < 100; i++)
        assert_true(ratelimit_admit(rl, 7, SEC, &log)); /* not configured: no limit */
    ratelimit_configure(rl, conf);
    for (int i = 0; i < 3; i++)
        assert_true(ratelimit_admit(rl, 7, 100 * SEC, &log));
    assert_false(ratelimit_admit(rl, 7, 100 * SEC, &log));
    assert_true(ratelimit_admit(rl, 8, 100 * SEC, &log)); /* another user has his own bucket */
    assert_true(ratelimit_admit(rl, 7, 102 * SEC, &log)); /* refilled */
    conf_free(conf);
    assert_null(ratelimit_free(rl));
}

static void test_asking(void **state)
{
    struct asking *a = NULL;

    (void)state;
    assert_int_equal(asking_new(&a), 0);
    for (unsigned i = 0; i < ASKING_MAX; i++)
        assert_true(asking_begin(a, 1000));
    assert_false(asking_begin(a, 1000));
    assert_true(asking_begin(a, 1001)); /* one user's questions do not count for another */
    asking_end(a, 1001);
    asking_end(a, 1000);
    assert_true(asking_begin(a, 1000));
    for (unsigned i = 0; i < ASKING_MAX; i++)
        asking_end(a, 1000);
    for (unsigned i = 0; i < 4 * ASKING_MAX; i++)
        assert_true(asking_begin(a, 0)); /* root and SlurmUser: no limit */
    for (unsigned i = 0; i < 4 * ASKING_MAX; i++)
        asking_end(a, 0);
    assert_null(asking_free(a));
}

static unsigned lookups;

/* Stands before the library's: whoever asks the name service is counted. */
int getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
    int (*real)(uid_t, struct passwd *, char *, size_t, struct passwd **) =
        (int (*)(uid_t, struct passwd *, char *, size_t, struct passwd **))dlsym(RTLD_NEXT,
                                                                                 "getpwuid_r");

    lookups++;
    return real(uid, pw, buf, size, ret);
}

/* GroupUpdateTime: what is older is asked for again. */
static void test_life(void **state)
{
    static const struct {
        int64_t life_us;
        unsigned lookups; /* for four questions */
    } rows[] = { { INT64_MAX, 1 }, { -1, 4 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct users *u = NULL;

        assert_int_equal(users_new(&u), 0);
        users_set_life(u, rows[i].life_us);
        lookups = 0;
        for (int k = 0; k < 4; k++) {
            char *name, *groups;

            users_lookup(u, 0, &name, &groups);
            free(name);
            free(groups);
        }
        assert_int_equal(lookups, rows[i].lookups);
        assert_null(users_free(u));
    }
}

static void test_users(void **state)
{
    struct users *u = NULL;
    char *name, *groups;

    (void)state;
    assert_int_equal(users_new(&u), 0);
    for (int i = 0; i < 2; i++) { /* looked up, then remembered */
        users_lookup(u, 0, &name, &groups);
        assert_string_equal(name, "root");
        assert_non_null(strstr(groups, "root"));
        free(name);
        free(groups);
    }
    users_lookup(u, 4123456789u, &name, &groups);
    assert_null(name);
    assert_null(groups);
    assert_null(users_free(u));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_asking),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_life),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
