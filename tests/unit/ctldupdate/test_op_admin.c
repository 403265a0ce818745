/* test_op_admin.c - what scontrol sets in the running controller, and tokens: for whom, how long */
#include "corefull_util.h"

#include "base/log.h"
#include "base/logflags.h"
#include "ctld/update/op_admin.h"

extern const struct ctld_service admin_service;

static int set(const char *json)
{
    return corefull_ask(root, OP_DEBUG, json, NULL);
}

static const char *shown(const char *key)
{
    return tuning_value(&core.ctld, key, "as slurm.conf says");
}

/* setdebug: until the configuration is read again. */
static void test_level(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_string_equal(shown("SlurmctldDebug"), "as slurm.conf says");
    assert_int_equal(set("{'level':'loud'}"), EPST_BAD_REQUEST);
    assert_int_equal(set("{'level':'fatal'}"), 0);
    assert_string_equal(shown("SlurmctldDebug"), "fatal");
    assert_string_equal(shown("SlurmdDebug"), "as slurm.conf says");
    admin_service.reconfigured(&core.ctld);
    assert_string_equal(shown("SlurmctldDebug"), "as slurm.conf says");
    log_set_level(LOG_QUIET);
    assert_int_equal(set("{}"), EPST_BAD_REQUEST);
    corefull_end();
}

/* setdebugflags: to what slurm.conf has, names in order, each once. */
static const struct {
    const char *flags; /* of the request */
    int code;
    const char *want; /* NULL: none */
} flags[] = {
    { "'+steps'", 0, "Backfill,Steps" },
    { "'+Accrue'", 0, "Accrue,Backfill,Steps" },
    { "'-accrue'", 0, "Backfill,Steps" },
    { "'+Steps','-Backfill'", 0, "Steps" },
    { "'+Steps'", 0, "Steps" },
    { "'Gres'", EPST_BAD_REQUEST, "Steps" },
    { "'+Gres','+Nowhere'", EPST_BAD_REQUEST, "Steps" },
    { "'-Gres'", 0, "Steps" }, /* it was not on */
    { "'-Steps'", 0, NULL },
};

static void test_flags(void **state)
{
    (void)state;
    corefull_begin("DebugFlags=Backfill\n", 1);
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        char json[96];
        const char *got;
        int code;

        (void)snprintf(json, sizeof(json), "{'flags':[%s]}", flags[i].flags);
        code = set(json);
        got = shown("DebugFlags");
        if (code != flags[i].code || !got != !flags[i].want ||
            (got && strcmp(got, flags[i].want) != 0))
            fail_msg("row %zu: code %d, %s", i, code, got ? got : "none");
    }
    admin_service.reconfigured(&core.ctld);
    assert_string_equal(shown("DebugFlags"), "as slurm.conf says");
    corefull_end();
}

static void test_others(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_int_equal(set("{'fs_dampening':7}"), 0);
    assert_string_equal(shown("FairShareDampeningFactor"), "7");
    assert_int_equal(set("{'sched_log_level':1}"), ESLURM_DISABLED); /* no SlurmSchedLogFile */
    corefull_end();
}

/* For slurmd of nodes: all must be known, and hear it. */
static void test_nodes(void **state)
{
    struct conn *link;
    struct told t;

    (void)state;
    corefull_begin("", 2);
    assert_int_equal(set("{'level':'debug','nodes':'n[0-5]'}"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(set("{'level':'debug','nodes':'n['}"), ESLURM_INVALID_NODE_NAME);
    link = node_link_take(&core.ctld, core.ctld.cluster->nodes[1]);
    assert_int_equal(set("{'level':'debug','flags':['+Gres'],'nodes':'n[0-1]'}"),
                     SLURM_NO_CHANGE_IN_DATA); /* n1 is away */
    node_link_set(&core.ctld, core.ctld.cluster->nodes[1], link);
    coreask_forget();
    assert_int_equal(set("{'level':'debug','flags':['+Gres'],'nodes':'n1'}"), 0);
    t = coreask_take(link, OP_NODE_DEBUG);
    assert_non_null(t.conn);
    assert_string_equal(((Pst__DebugRequest *)t.msg)->level, "debug");
    assert_string_equal(((Pst__DebugRequest *)t.msg)->flags[0], "+Gres");
    drop_told(&t);
    assert_string_equal(shown("SlurmctldDebug"), "as slurm.conf says"); /* not here */
    (void)conn_unref(link);
    corefull_end();
}

/* Lists that an operator changed are shown in place of the configuration's, empty ones too. */
static void test_excepted(void **state)
{
    Pst__Transaction *tx;

    (void)state;
    corefull_begin("", 1);
    tx = tx_new(T0);
    SET(tx_cluster(tx), suspend_exc_own, true);
    assert_int_equal(pb_set_str(&tx_cluster(tx)->suspend_exc_nodes, "n[0-3]"), 0);
    assert_int_equal(pb_set_str(&tx_cluster(tx)->suspend_exc_parts, ""), 0);
    apply_ok(core.ctld.cluster, tx);
    assert_string_equal(shown("SuspendExcNodes"), "n[0-3]");
    assert_null(shown("SuspendExcParts"));
    assert_string_equal(shown("SuspendExcStates"), "as slurm.conf says");
    corefull_end();
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void begin_tokens(const char *lines)
{
    struct err err = { .text = "" };

    corefull_begin(lines, 1);
    assert_int_equal(
        auth_tokens_new(&(struct token_rules){ 0 }, core.ctld.keys, &core.ctld.tokens, &err), 0);
}

static void end_tokens(void)
{
    core.ctld.tokens = auth_tokens_free(core.ctld.tokens);
    corefull_end();
}

/* Root may ask for anybody, for ever; a user for himself. */
static void test_tokens(void **state)
{
    struct conn *daemon_user;
    ProtobufCMessage *msg = NULL;

    (void)state;
    begin_tokens("");
    daemon_user = coreask_connect(1); /* `daemon` on every Debian */
    assert_int_equal(corefull_ask(root, OP_TOKEN, "{'user':'ann','infinite':true}", &msg), 0);
    assert_true(strlen(((Pst__TokenReply *)msg)->token) > 20);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_int_equal(coreask(&core, daemon_user, "daemon", OP_TOKEN, "{}", &msg), 0);
    assert_true(strlen(((Pst__TokenReply *)msg)->token) > 20);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_int_equal(coreask(&core, daemon_user, "daemon", OP_TOKEN, "{'user':'daemon'}", &msg), 0);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_int_equal(coreask(&core, daemon_user, "daemon", OP_TOKEN, "{'user':'root'}", NULL),
                     ESLURM_USER_ID_MISSING);
    conn_unref(daemon_user);
    end_tokens();
}

/* How long the token is good, by what stands in it. */
static int64_t life_of(const char *token)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *p = strchr(token, '.') + 1, *exp, *iat;
    char text[1024];
    size_t n = 0;
    uint32_t bits = 0;

    for (unsigned have = 0; *p != '.' && n + 1 < sizeof(text); p++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, *p) - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            text[n++] = (char)(bits >> have & 0xff);
        }
    }
    text[n] = '\0';
    exp = strstr(text, "\"exp\":");
    iat = strstr(text, "\"iat\":");
    assert_true(exp && iat);
    return strtoll(exp + 6, NULL, 10) - strtoll(iat + 6, NULL, 10);
}

/* max_token_lifespan bounds what users ask for, and neither less nor root. */
static void test_life(void **state)
{
    struct conn *daemon_user;
    ProtobufCMessage *msg = NULL;

    (void)state;
    begin_tokens("AuthAltParameters=max_token_lifespan=60\n");
    daemon_user = coreask_connect(1);
    assert_int_equal(coreask(&core, daemon_user, "daemon", OP_TOKEN, "{'lifespan_s':600}", &msg),
                     0);
    assert_int_equal(life_of(((Pst__TokenReply *)msg)->token), 60);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_int_equal(coreask(&core, daemon_user, "daemon", OP_TOKEN, "{'lifespan_s':10}", &msg), 0);
    assert_int_equal(life_of(((Pst__TokenReply *)msg)->token), 10);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_int_equal(corefull_ask(root, OP_TOKEN, "{}", &msg), 0);
    assert_int_equal(life_of(((Pst__TokenReply *)msg)->token), 1800); /* Slurm's default */
    protobuf_c_message_free_unpacked(msg, NULL);
    conn_unref(daemon_user);
    end_tokens();
}

static void test_no_tokens(void **state)
{
    struct conn *daemon_user;
    ProtobufCMessage *msg = NULL;

    (void)state;
    begin_tokens("AuthAltParameters=disable_token_creation\n");
    daemon_user = coreask_connect(1);
    assert_int_equal(coreask(&core, daemon_user, "daemon", OP_TOKEN, "{}", NULL), ESLURM_DISABLED);
    assert_int_equal(corefull_ask(root, OP_TOKEN, "{}", &msg), 0); /* root may */
    protobuf_c_message_free_unpacked(msg, NULL);
    conn_unref(daemon_user);
    end_tokens();
}

/* A word stands for the token, once. */
static void test_words(void **state)
{
    ProtobufCMessage *msg = NULL;
    char json[128];

    (void)state;
    begin_tokens("");
    assert_int_equal(corefull_ask(root, OP_TOKEN, "{'as_word':true}", &msg), 0);
    assert_null(((Pst__TokenReply *)msg)->token);
    (void)snprintf(json, sizeof(json), "{'word':'%s'}", ((Pst__TokenReply *)msg)->word);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_int_equal(corefull_ask(bob, OP_TOKEN, json, &msg), 0);
    assert_true(strlen(((Pst__TokenReply *)msg)->token) > 20);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_int_equal(corefull_ask(bob, OP_TOKEN, json, NULL), ESLURM_AUTH_EXPIRED);
    assert_int_equal(corefull_ask(bob, OP_TOKEN, "{'word':'guess'}", NULL), ESLURM_AUTH_EXPIRED);
    end_tokens();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_level),     cmocka_unit_test(test_flags),
        cmocka_unit_test(test_others),    cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_excepted),  cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_no_tokens), cmocka_unit_test(test_life),
        cmocka_unit_test(test_words),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
