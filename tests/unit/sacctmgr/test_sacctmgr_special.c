/* test_sacctmgr_special.c - values of keys that are neither names nor limits */
#include "base/timefmt.h"
#include "smgr_util.h"

static struct smgr_line line;
static struct output said;

static bool parse_words(enum smgr_entity entity, enum smgr_mode mode, const char *words)
{
    bool good;

    smgr_line_done(&line);
    output_begin(&said, NULL);
    good = parse_line(&line, entity, mode, words);
    output_end(&said);
    return good;
}

static int clear_line(void **state)
{
    smgr_line_done(&line);
    return smgr_end(state);
}

#define HINT " Use keyword 'where' to modify condition\n"
#define MODIFY(entity, words) parse_words((entity), SMGR_MODIFY, (words))
#define REFUSED(entity, words, on_out, on_err)                                                     \
    do {                                                                                           \
        assert_false(parse_words((entity), SMGR_MODIFY, (words)));                                 \
        expect_said(&said, (on_out), (on_err));                                                    \
        assert_int_equal(smgr.status, 1);                                                          \
    } while (0)

static void test_qos_of_an_association(void **state)
{
    const Pst__AssocRecord *a;

    (void)state;
    assert_true(MODIFY(SMGR_USER, "u set qos=High,low"));
    a = line.set->assoc;
    assert_int_equal(a->n_qos_ids, 2);
    assert_int_equal(a->qos_ids[0], 2);
    assert_int_equal(a->qos_ids[1], 3);
    assert_false(line.set->clear_qos);
    assert_true(MODIFY(SMGR_USER, "u set qos+=high,low"));
    assert_int_equal(line.set->assoc->n_qos_added, 2);
    assert_int_equal(line.set->assoc->n_qos_ids, 0);
    assert_true(MODIFY(SMGR_USER, "u set qos-=normal"));
    assert_int_equal(line.set->assoc->qos_removed[0], 1);
    assert_true(MODIFY(SMGR_USER, "u set qos=+high,-low"));
    assert_int_equal(line.set->assoc->qos_added[0], 2);
    assert_int_equal(line.set->assoc->qos_removed[0], 3);
    assert_true(MODIFY(SMGR_USER, "u set qos="));
    assert_true(line.set->clear_qos);
    assert_true(MODIFY(SMGR_USER, "u set qos=-1"));
    assert_true(line.set->clear_qos);
    assert_true(parse_words(SMGR_USER, SMGR_LIST, "where qos=low,high"));
    assert_int_equal(line.where->n_qos_ids, 2);
    /* as recorded */
    REFUSED(SMGR_USER, "u1 set qos=nosuch", "",
            "sacctmgr: error: You gave a bad qos 'nosuch'. Valid QOS's are normal,high,low\n"
            " Unknown option: qos=nosuch\n" HINT);
    REFUSED(SMGR_USER, "u1 set qos=high,+low", "",
            "sacctmgr: error: You can't set qos equal to something and then add or subtract from "
            "it in the same line\n Unknown option: qos=high,+low\n" HINT);
}

static void test_default_qos(void **state)
{
    (void)state;
    assert_true(MODIFY(SMGR_ACCOUNT, "a set defaultqos=LOW"));
    assert_int_equal(line.set->assoc->default_qos_id, 3);
    assert_true(MODIFY(SMGR_ACCOUNT, "a set defqos=-1"));
    assert_true(line.set->clear_default_qos);
    assert_null(line.set->assoc);
    assert_true(parse_words(SMGR_ACCOUNT, SMGR_LIST, "where defaultqos=low"));
    assert_int_equal(line.where->default_qos_ids[0], 3);
    REFUSED(SMGR_ACCOUNT, "a set defaultqos=bogus", "",
            "You gave a bad default qos 'bogus'.  Use 'list qos' to get complete list.\n");
}

static void test_people(void **state)
{
    (void)state;
    assert_true(MODIFY(SMGR_USER, "bob set adminlevel=oper"));
    assert_int_equal(line.set->user->admin_level, PST__ADMIN_LEVEL__ADMIN_OPERATOR);
    assert_true(MODIFY(SMGR_USER, "bob set adminlevel=SuperUser"));
    assert_int_equal(line.set->user->admin_level, PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR);
    assert_true(MODIFY(SMGR_USER, "bob set adminlevel=-1"));
    assert_int_equal(line.set->user->admin_level, PST__ADMIN_LEVEL__ADMIN_NONE);
    assert_true(MODIFY(SMGR_USER, "bob set adminlevel=king"));
    assert_false(line.set->user->has_admin_level); /* there is no such level */
    assert_true(parse_words(SMGR_USER, SMGR_LIST, "where adminlevel=admin"));
    assert_int_equal(line.where->admin_level, PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR);
    assert_true(MODIFY(SMGR_USER, "bob set newname=Rob defaultwckey=Wa wckeys=wa,wb"));
    assert_string_equal(line.set->new_name, "rob");
    assert_string_equal(line.set->user->default_wckey, "Wa");
    assert_int_equal(line.set->n_wckeys, 2);
}

static void test_shares_and_priority(void **state)
{
    (void)state;
    assert_true(MODIFY(SMGR_USER, "u set fairshare=7 priority=9 comment=Hi"));
    assert_int_equal(line.set->assoc->shares, 7);
    assert_int_equal(line.set->assoc->priority, 9);
    assert_string_equal(line.set->assoc->comment, "Hi");
    assert_true(MODIFY(SMGR_USER, "u set shares=parent"));
    assert_true(line.set->assoc->shares_parent);
    assert_true(MODIFY(SMGR_USER, "u set fairshare=2147483647")); /* as Slurm dumps it */
    assert_true(line.set->assoc->shares_parent);
    assert_true(MODIFY(SMGR_USER, "u set fairshare=-5"));
    assert_int_equal(line.set->assoc->shares, UINT32_MAX);
    assert_true(MODIFY(SMGR_QOS, "q set priority=-1"));
    assert_int_equal(line.set->qos->priority, UINT32_MAX);
    assert_null(line.set->assoc);
}

static void test_flags(void **state)
{
    const uint32_t deny = 1u << PST__QOS_FLAG__QOS_DENY_ON_LIMIT;

    (void)state;
    assert_true(MODIFY(SMGR_QOS, "q set flags=DenyOnLimit"));
    assert_int_equal(line.set->qos->flags, deny);
    assert_true(MODIFY(SMGR_QOS, "q set flags+=DenyOnLimit"));
    assert_int_equal(line.set->qos_flags_add, deny);
    assert_null(line.set->qos);
    assert_true(MODIFY(SMGR_QOS, "q set flags-=DenyOnLimit"));
    assert_int_equal(line.set->qos_flags_remove, deny);
    assert_true(MODIFY(SMGR_QOS, "q set flags=-1"));
    assert_int_equal(line.set->qos->flags, UINT32_MAX);
    assert_false(MODIFY(SMGR_QOS, "q set flags=bogus"));
    assert_non_null(strstr(said.out, " Unknown QOS flag used in:\n  'bogus'\n Valid QOS flags are\n"
                                     "  'DenyOnLimit,"));
    assert_true(MODIFY(SMGR_ACCOUNT, "a set flags=UsersAreCoords"));
    assert_true(line.set->account->users_are_coords);
    assert_true(MODIFY(SMGR_ACCOUNT, "a set flags=NoUsersAreCoords"));
    assert_true(line.set->account->has_users_are_coords);
    assert_false(line.set->account->users_are_coords);
    assert_true(parse_words(SMGR_ACCOUNT, SMGR_LIST, "flags=nouserSareCoords"));
    assert_int_equal(line.choose_coords, -1);
    REFUSED(SMGR_ACCOUNT, "a set flags=bogus", "", " Unknown Flag(s)=bogus\n");
    assert_true(MODIFY(SMGR_RESOURCE, "r set flags=Absolute"));
    assert_int_equal(line.set->resource->flags, 1);
    assert_true(MODIFY(SMGR_RESOURCE, "r set flags=-1"));
    assert_int_equal(line.set->resource->flags, 0);
}

static void test_preemption(void **state)
{
    (void)state;
    assert_true(MODIFY(SMGR_QOS, "q set preempt=low,normal preemptmode=requeue,within"));
    assert_int_equal(line.set->qos->n_preempt_ids, 2);
    assert_int_equal(line.set->qos->preempt_mode,
                     1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_REQUEUE |
                         1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_WITHIN);
    assert_true(MODIFY(SMGR_QOS, "q set preempt+=high"));
    assert_int_equal(line.set->preempt_add[0], 2);
    assert_true(MODIFY(SMGR_QOS, "q set preempt="));
    assert_true(line.set->clear_preempt);
    assert_true(MODIFY(SMGR_QOS, "q set preemptmode=off"));
    assert_int_equal(line.set->qos->preempt_mode, UINT32_MAX);
    assert_true(MODIFY(SMGR_QOS, "q set preemptmode=cluster preemptexempttime=30"));
    assert_int_equal(line.set->qos->preempt_mode, UINT32_MAX);
    assert_int_equal(line.set->qos->preempt_exempt_s, 1800); /* minutes */
    assert_true(MODIFY(SMGR_QOS, "q set preemptexempttime=-1"));
    assert_int_equal(line.set->qos->preempt_exempt_s, UINT32_MAX);
    assert_true(parse_words(SMGR_QOS, SMGR_LIST, "preemptmode=cancel"));
    assert_int_equal(line.preempt_modes, 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_CANCEL);
    REFUSED(SMGR_QOS, "q set preemptmode=shoot", "",
            " Bad Preempt Mode given: preemptmode=shoot\n");
    REFUSED(SMGR_QOS, "q set preemptexempttime=soon", "", " Bad PreemptExemptTime value: soon\n");
}

static void test_numbers_of_qos(void **state)
{
    (void)state;
    assert_true(MODIFY(SMGR_QOS, "q set usagefactor=0.5 usagethreshold=0.1 limitfactor=2 "
                                 "gracetime=60 description=Hello"));
    assert_true(line.set->qos->usage_factor == 0.5);
    assert_true(line.set->qos->usage_threshold == 0.1);
    assert_true(line.set->qos->limit_factor == 2);
    assert_int_equal(line.set->qos->grace_s, 60);
    assert_string_equal(line.set->qos->description, "hello");
    assert_true(MODIFY(SMGR_QOS, "q set gracetime=1:00:00")); /* left out, which is told */
    expect_said(&said, "", "sacctmgr: error: Invalid value for GraceTime (1:00:00)\n");
    assert_false(line.has_set);
    assert_int_equal(smgr.status, 0);
}

/* Only 0 is meant; of a QOS any number, as recorded. */
static void test_raw_usage(void **state)
{
    (void)state;
    assert_true(MODIFY(SMGR_ACCOUNT, "a set rawusage=0"));
    assert_true(line.set->reset_usage);
    assert_true(MODIFY(SMGR_QOS, "q set rawusage=4"));
    assert_true(line.set->reset_usage);
    REFUSED(SMGR_ACCOUNT, "a set rawusage=5", "",
            "sacctmgr: error: Raw usage can only be set to 0 (zero)\n");
    assert_false(parse_words(SMGR_ACCOUNT, SMGR_ADD, "a rawusage=0"));
    assert_true(parse_words(SMGR_QOS, SMGR_ADD, "q rawusage=0"));
    assert_false(line.set->reset_usage);
    assert_true(MODIFY(SMGR_ACCOUNT, "a set rawusage=")); /* nothing is 0 */
    assert_true(line.set->reset_usage);
    assert_true(MODIFY(SMGR_QOS, "q set rawusage=x")); /* left out, which is told */
    expect_said(&said, "", "sacctmgr: error: Invalid value for RawUsage (x)\n");
    assert_false(line.set->reset_usage);
    assert_false(line.has_set);
    assert_true(MODIFY(SMGR_ACCOUNT, "a set rawusage=5x"));
    expect_said(&said, "", "sacctmgr: error: Invalid value for RawUsage (5x)\n");
    assert_false(line.has_set);
}

static void test_resources(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_RESOURCE, SMGR_ADD,
                            "fluent server=lic1 count=50 type=license cluster=demo allowed=40"));
    assert_string_equal(line.set->resource->server, "lic1");
    assert_int_equal(line.set->resource->count, 50);
    assert_int_equal(line.set->resource->type, 1);
    assert_true(line.set->has_allowed);
    assert_int_equal(line.set->allowed, 40);
    assert_true(parse_words(SMGR_RESOURCE, SMGR_LIST, "where server=Lic1,lic2"));
    assert_string_equal(line.where->servers[0], "Lic1");
    assert_false(parse_words(SMGR_RESOURCE, SMGR_ADD, "f type=chair"));
    expect_said(&said, "", " Unknown resource type: 'chair'  Valid resources is License.\n");
    assert_true(MODIFY(SMGR_RESOURCE, "f set lastconsumed=3"));
    assert_int_equal(line.set->resource->last_consumed, 3);
}

static void test_events(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_EVENT, SMGR_LIST,
                            "event=Cluster mincpus=4 maxcpus=8 condflags=open states=down,drain"));
    assert_int_equal(line.where->event_type, 1);
    assert_int_equal(line.min_cpus, 4);
    assert_int_equal(line.max_cpus, 8);
    assert_true(line.open_only && line.where->only_open);
    assert_int_equal(line.where->n_states, 2);
    assert_int_equal(line.where->states[0], PST__NODE_STATE__NODE_DOWN);
    assert_int_equal(line.where->states[1], 1u << (8 + PST__NODE_FLAG__NODE_FLAG_DRAIN));
    assert_true(parse_words(SMGR_EVENT, SMGR_LIST, "start=2026-01-01T10:00:00 end=2026-01-02"));
    assert_true(line.where->has_start_us && line.where->has_end_us);
    assert_true(line.where->end_us - line.where->start_us == 14 * 3600 * USEC_PER_SEC);
    assert_false(parse_words(SMGR_EVENT, SMGR_LIST, "event=Moon"));
    expect_said(&said, "", " Unknown event type: 'Moon'  Valid events are Cluster and Node.\n");
    assert_false(parse_words(SMGR_EVENT, SMGR_LIST, "states=bogus"));
    assert_int_equal(smgr.status, 1);
    assert_false(parse_words(SMGR_EVENT, SMGR_LIST, "start=someday"));
    expect_said(&said, "", " Bad Start value: someday\n");
}

static void test_log_of_changes(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_TXN, SMGR_LIST, "actor=Root withassoc"));
    assert_string_equal(line.where->actors[0], "Root");
    assert_true(line.with_assoc);
    assert_false(parse_words(SMGR_TXN, SMGR_LIST, "action=Fly"));
    expect_said(&said, "", "sacctmgr: error: You gave a bad action 'Fly'.\n");
    assert_false(parse_words(SMGR_TXN, SMGR_LIST, "where id=x"));
    expect_said(&said, "", "sacctmgr: error: Invalid value for Transaction ID (x)\n");
    assert_false(parse_words(SMGR_QOS, SMGR_LIST, "where id=x"));
    expect_said(&said, "", "sacctmgr: error: Invalid value for QOS ID (x)\n");
    assert_false(parse_words(SMGR_ASSOC, SMGR_LIST, "x"));
    expect_said(&said, "", "sacctmgr: error: Invalid value for AssocId (x)\n");
}

static void test_clusters(void **state)
{
    (void)state;
    assert_true(MODIFY(SMGR_CLUSTER, "c set classification=Capacity federation=fed "
                                     "fedstate=drain+remove features+=a,b"));
    assert_int_equal(line.set->cluster->classification, 2);
    assert_string_equal(line.set->cluster->federation, "fed");
    assert_int_equal(line.set->n_features_add, 2);
    assert_false(line.set->features_replace);
    assert_true(MODIFY(SMGR_CLUSTER, "c set features=a"));
    assert_true(line.set->features_replace);
    assert_true(MODIFY(SMGR_CLUSTER, "c set features-=a"));
    assert_string_equal(line.set->features_remove[0], "a");
    assert_true(MODIFY(SMGR_CLUSTER, "c set classification=huge")); /* no class: sets nothing */
    assert_false(line.has_set);
    assert_false(parse_words(SMGR_CLUSTER, SMGR_LIST, "where classification=huge"));
    assert_true(parse_words(SMGR_CLUSTER, SMGR_LIST, "where classification=capability"));
    assert_true(line.has_class);
    assert_int_equal(line.class, 1);
    REFUSED(SMGR_CLUSTER, "c set fedstate=asleep", "", "Invalid FedState asleep.\n");
    assert_true(MODIFY(SMGR_FEDERATION, "f set clusters=A,b"));
    assert_true(line.set->fed_replace);
    assert_string_equal(line.set->fed_add[0], "a");
    assert_true(MODIFY(SMGR_FEDERATION, "f set clusters-=a"));
    assert_string_equal(line.set->fed_remove[0], "a");
    assert_false(line.set->fed_replace);
}

static void test_account_texts(void **state)
{
    (void)state;
    assert_true(MODIFY(SMGR_ACCOUNT, "x set description='New' organization=O2 parent=X1"));
    assert_string_equal(line.set->account->description, "new");
    assert_string_equal(line.set->account->organization, "o2");
    assert_string_equal(line.set->parent, "x1");
    assert_true(parse_words(SMGR_ACCOUNT, SMGR_LIST, "where org=O2 desc=New"));
    assert_string_equal(line.where->organizations[0], "o2");
    assert_string_equal(line.where->descriptions[0], "new");
    assert_true(MODIFY(SMGR_RESOURCE, "r set description=New"));
    assert_string_equal(line.set->resource->description, "New");
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, smgr_begin, clear_line)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_qos_of_an_association),
        ONE(test_default_qos),
        ONE(test_people),
        ONE(test_shares_and_priority),
        ONE(test_flags),
        ONE(test_preemption),
        ONE(test_numbers_of_qos),
        ONE(test_raw_usage),
        ONE(test_resources),
        ONE(test_events),
        ONE(test_log_of_changes),
        ONE(test_clusters),
        ONE(test_account_texts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
