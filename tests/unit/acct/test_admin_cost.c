/* test_admin_cost.c - requests that would keep the thread of the accounting entities from others */
#include "admin_util.h"

#define MANY 20000u

static const struct admin_who alice = { .user = "alice" }, carol = { .user = "carol" };

static const char *refusal = "Too many names or operations in one request; please ask in several";

/* A request of so many times the same operation. */
static int run_many(struct office *o, const struct admin_who *who, Pst__AcctOp *op, size_t n,
                    struct err *err)
{
    Pst__AcctAdminRequest req = PST__ACCT_ADMIN_REQUEST__INIT;
    int r;

    req.n_ops = n;
    req.ops = calloc(n, sizeof(*req.ops));
    assert_non_null(req.ops);
    for (size_t i = 0; i < n; i++)
        req.ops[i] = op;
    drop_reply(o);
    r = admin_run(o->admin, who, &req, o->now_us, &o->reply, err);
    free(req.ops);
    return r;
}

/* Without numbers each operation looks at ten thousand jobs. */
static void test_operations(void **state)
{
    Pst__AcctOp op = PST__ACCT_OP__INIT;
    struct err err = { .text = "" };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    op.has_verb = op.has_entity = 1;
    op.verb = PST__ACCT_VERB__ACCT_MODIFY;
    op.entity = PST__ACCT_ENTITY__ACCT_JOB;
    assert_int_equal(run_many(&o, &alice, &op, 1, &err), 0);
    assert_int_equal(run_many(&o, &alice, &op, 1000, &err), -EINVAL);
    assert_string_equal(err.text, refusal);
    op.entity = PST__ACCT_ENTITY__ACCT_USER;
    assert_int_equal(run_many(&o, &alice, &op, 1000, &err), 0);
    assert_int_equal(run_many(&o, &root_user, &op, 1000, &err), 0);
    close_office(&o);
}

/* Names that are compared with each other. */
static void test_names(void **state)
{
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    Pst__AcctOp op = PST__ACCT_OP__INIT;
    struct err err = { .text = "" };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    where.n_names = MANY;
    where.names = calloc(MANY, sizeof(char *));
    assert_non_null(where.names);
    for (size_t i = 0; i < MANY; i++)
        where.names[i] = (char *)(i < MANY / 2 ? "nobody" : "alice"); /* only read */
    op.has_verb = op.has_entity = 1;
    op.verb = PST__ACCT_VERB__ACCT_MODIFY;
    op.entity = PST__ACCT_ENTITY__ACCT_USER;
    op.where = &where;
    assert_int_equal(run_many(&o, &alice, &op, 1, &err), -EINVAL);
    assert_string_equal(err.text, refusal);
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    assert_int_equal(run_many(&o, &carol, &op, 1, &err), 0); /* whole courses */
    free(where.names);
    close_office(&o);
}

static int count_row(void *ctx, const ProtobufCMessage *record)
{
    (void)record;
    ++*(size_t *)ctx;
    return 0;
}

static void test_lists(void **state)
{
    static const struct {
        Pst__AcctEntity entity;
        size_t most;
    } cases[] = { { PST__ACCT_ENTITY__ACCT_TXN, 4096 },
                  { PST__ACCT_ENTITY__ACCT_EVENT, 4096 },
                  { PST__ACCT_ENTITY__ACCT_USER, 1000000 } };
    Pst__AcctListRequest req = PST__ACCT_LIST_REQUEST__INIT;
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    size_t rows = 0;
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    req.has_entity = 1;
    req.where = &where;
    where.ids = calloc(4000000, sizeof(*where.ids));
    assert_non_null(where.ids);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };

        req.entity = cases[i].entity;
        where.n_ids = cases[i].most;
        assert_int_equal(admin_list(o.admin, &alice, &req, count_row, &rows, &err), 0);
        where.n_ids = cases[i].most * 4;
        assert_int_equal(admin_list(o.admin, &alice, &req, count_row, &rows, &err), -EINVAL);
        assert_string_equal(err.text, refusal);
        assert_int_equal(admin_list(o.admin, &root_user, &req, count_row, &rows, &err), 0);
    }
    free(where.ids);
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_operations, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_names, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_lists, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
