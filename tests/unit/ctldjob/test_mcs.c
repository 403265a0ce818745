/* test_mcs.c - security labels: which one a job gets, which it may ask for, who sees them */
#include "conf_util.h"

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "ctld/policy/mcs.h"
#include "model/tx.h"
#include "wire/errors.h"

static const struct row {
    const char *conf, *asks, *groups, *account;
    bool alone; /* --exclusive=mcs */
    const char *label;
    bool select;
    int code;
} rows[] = {
    /* without a plugin a label is shown, and means nothing */
    { "", "red", "g", "phys", false, "red", false, 0 },
    { "", "two words", "g", "phys", false, NULL, false, 0 },
    { "MCSPlugin=mcs/none", NULL, "g", "phys", true, NULL, false, 0 },
    /* on demand: those that ask */
    { "MCSPlugin=mcs/user", NULL, "g", "phys", false, NULL, false, 0 },
    { "MCSPlugin=mcs/user", "alice", "g", "phys", false, "alice", false, 0 },
    { "MCSPlugin=mcs/user", "Alice", "g", "phys", false, NULL, false, ESLURM_INVALID_MCS_LABEL },
    { "MCSPlugin=mcs/user", "", "g", "phys", false, NULL, false, 0 },
    { "MCSPlugin=mcs/user", NULL, "g", "phys", true, "alice", true, 0 },
    { "MCSPlugin=mcs/user\nMCSParameters=ondemand,noselect", NULL, "g", "phys", true, "alice",
      false, 0 },
    { "MCSPlugin=mcs/user\nMCSParameters=ondemand,select", "alice", "g", "phys", false, "alice",
      true, 0 },
    { "MCSPlugin=mcs/user\nMCSParameters=enforced", NULL, "g", "phys", false, "alice", false, 0 },
    { "MCSPlugin=mcs/user\nMCSParameters=enforced,select", NULL, "g", "phys", false, "alice", true,
      0 },
    { "MCSPlugin=mcs/account\nMCSParameters=enforced", NULL, "g", "phys", false, "phys", false, 0 },
    { "MCSPlugin=mcs/account", "PHYS", "g", "phys", false, "PHYS", false, 0 },
    { "MCSPlugin=mcs/account\nMCSParameters=enforced", NULL, "g", NULL, false, NULL, false,
      ESLURM_INVALID_MCS_LABEL },
    { "MCSPlugin=mcs/account", "chem", "g", "phys", false, NULL, false, ESLURM_INVALID_MCS_LABEL },
    /* the first configured group that is the user's */
    { "MCSPlugin=mcs/group\nMCSParameters=enforced:red|blue", NULL, "x,blue,red", "a", false, "red",
      false, 0 },
    { "MCSPlugin=mcs/group\nMCSParameters=enforced:red|blue", "blue", "x,blue,red", "a", false,
      "blue", false, 0 },
    { "MCSPlugin=mcs/group\nMCSParameters=enforced:red|blue", "x", "x,blue", "a", false, NULL,
      false, ESLURM_INVALID_MCS_LABEL },
    { "MCSPlugin=mcs/group\nMCSParameters=enforced:red|blue", "red", "x,blue", "a", false, NULL,
      false, ESLURM_INVALID_MCS_LABEL },
    { "MCSPlugin=mcs/group\nMCSParameters=enforced:red|blue", NULL, "x,blues", "a", false, NULL,
      false, ESLURM_INVALID_MCS_LABEL },
    { "MCSPlugin=mcs/group\nMCSParameters=ondemand:red|blue", NULL, NULL, "a", true, NULL, false,
      ESLURM_INVALID_MCS_LABEL },
    { "MCSPlugin=mcs/label", "any:word", "g", "a", false, "any:word", false, 0 },
    { "MCSPlugin=mcs/label", "two words", "g", "a", false, NULL, false, ESLURM_INVALID_MCS_LABEL },
    { "MCSPlugin=mcs/label", "\x7f", "g", "a", false, NULL, false, ESLURM_INVALID_MCS_LABEL },
    { "MCSPlugin=mcs/label\nMCSParameters=enforced", NULL, "g", "a", false, NULL, false,
      ESLURM_INVALID_MCS_LABEL },
};

static void test_apply(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        struct conf *conf = conf_with_lines(row->conf);
        Pst__JobRecord r = PST__JOB_RECORD__INIT;
        const char *hint = NULL;
        int code;

        r.user_name = (char *)"alice"; /* read only */
        r.account = (char *)row->account;
        assert_int_equal(pb_set_str(&r.mcs_label, row->asks), 0);
        if (row->alone)
            SET(&r, exclusive, EXCLUSIVE_MCS);
        code = mcs_apply(conf, &r, row->groups, &hint);
        if (code != row->code)
            fail_msg("row %zu: %d", i, code);
        assert_int_equal(code != 0, hint != NULL);
        if (code == 0 &&
            (!r.mcs_label != !row->label || (row->label && strcmp(r.mcs_label, row->label) != 0)))
            fail_msg("row %zu: %s", i, r.mcs_label ? r.mcs_label : "none");
        if (code == 0 && r.mcs_select != row->select)
            fail_msg("row %zu: select", i);
        free(r.mcs_label);
        conf_free(conf);
    }
}

/* A label of 255 bytes is one, of 256 it is none. */
static void test_long(void **state)
{
    struct conf *conf = conf_with_lines("MCSPlugin=mcs/label");
    char text[257];

    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t len = 255; len <= 256; len++) {
        Pst__JobRecord r = PST__JOB_RECORD__INIT;
        const char *hint = NULL;

        text[len] = '\0';
        r.mcs_label = text;
        assert_int_equal(mcs_apply(conf, &r, "g", &hint),
                         len == 255 ? 0 : ESLURM_INVALID_MCS_LABEL);
        text[len] = 'x';
    }
    conf_free(conf);
}

static void add_label(void *ctx, const char *label)
{
    strbuf_addf(ctx, "%s ", label);
}

static void test_seen(void **state)
{
    static const struct {
        const char *conf, *labels;
        bool private;
    } cases[] = {
        { "", "", false },
        { "MCSPlugin=mcs/user\nMCSParameters=privatedata", "alice ", true },
        { "MCSParameters=privatedata", "", false }, /* there are no labels */
        { "MCSPlugin=mcs/group\nMCSParameters=ondemand,privatedata:red|blue|green", "green red ",
          true },
        { "MCSPlugin=mcs/label\nMCSParameters=privatedata", "", true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        struct ctld ctld = { .conf = conf_with_lines(cases[i].conf) };

        assert_int_equal(mcs_private(ctld.conf), cases[i].private);
        mcs_each_label(&ctld, "alice", "green,wheel,red", add_label, &sb);
        assert_string_equal(strbuf_str(&sb), cases[i].labels);
        conf_free(ctld.conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_seen),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
