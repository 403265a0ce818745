/* test_assocs.c - associations as their table has them */
#include "admin_util.h"

#include "acct/assocs.h"

/* "cluster/account/user<parent", in the order of their numbers. */
static void expect_rows(struct sql *db, const char *want)
{
    _cleanup_val_(strbuf_done) struct strbuf got = STRBUF_INIT;
    struct assoc_row *rows = NULL;
    uint32_t next = 0;
    size_t n = 0;

    assert_int_equal(assocs_load(db, &rows, &n), 0);
    for (size_t done = 0; done < n; done++) {
        const struct assoc_row *row = NULL;

        for (size_t i = 0; i < n; i++)
            if (rows[i].id > next && (!row || rows[i].id < row->id))
                row = &rows[i];
        assert_non_null(row); /* each number once */
        next = row->id;
        strbuf_addf(&got, "%s%s/%s/%s", got.len ? " " : "", row->cluster, row->account,
                    row->user ? row->user : "-");
        for (size_t i = 0; i < n; i++)
            if (rows[i].id == row->parent)
                strbuf_addf(&got, "<%s", rows[i].account);
    }
    assert_string_equal(strbuf_str(&got), want);
    assocs_free(rows, n);
}

static void test_rows(void **state)
{
    struct office o;

    open_office(&o, *state);
    expect_rows(o.db, "demo/root/- demo/root/root<root");
    must(&o, "ADD", "ACCOUNT", "'where':{'names':['chem'],'clusters':['demo']}");
    must(&o, "ADD", "USER", "'where':{'names':['ann'],'accounts':['chem']}");
    expect_rows(o.db, "demo/root/- demo/root/root<root demo/chem/-<root demo/chem/ann<chem");
    must(&o, "DELETE", "USER", "'where':{'names':['ann']}"); /* no job ever named it */
    expect_rows(o.db, "demo/root/- demo/root/root<root demo/chem/-<root");
    close_office(&o);
}

/* No account was ever added: the tables of accounts are not even there. */
static void test_none(void **state)
{
    struct world *w = *state;
    struct assoc_row *rows = (struct assoc_row *)state;
    struct err err = { .text = "" };
    struct sql *db = NULL;
    size_t n = 7;

    assert_int_equal(acct_db_open(w->db, &db, &err), 0);
    assert_int_equal(assocs_load(db, &rows, &n), 0);
    assert_int_equal(n, 0);
    assocs_free(rows, n);
    sql_close(db);
}

static void put_deleted(struct sql *db)
{
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;
    Pst__AssocRecord r = PST__ASSOC_RECORD__INIT;
    struct sql_stmt *stmt = NULL;
    uint8_t data[256];

    r.cluster = (char *)"demo";
    r.account = (char *)"old";
    SET(&r, assoc_id, 902);
    SET(&r, deleted, true); /* jobs refer to it */
    ch.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
    ch.assoc = &r;
    assert_true(pst__acct_change__get_packed_size(&ch) <= sizeof(data));
    assert_int_equal(sql_prepare(db, "REPLACE INTO entities VALUES(6, '902', 1, ?)", &stmt), 0);
    sql_bind_blob(stmt, 0, data, pst__acct_change__pack(&ch, data));
    assert_int_equal(sql_run(stmt), 0);
    sql_free(stmt);
}

/* Rows that are no association, or none any more, are left out. */
static void test_other_rows(void **state)
{
    struct office o;

    open_office(&o, *state);
    put_deleted(o.db);
    assert_int_equal(sql_exec(o.db, "REPLACE INTO entities(kind, id, version, record) "
                                    "VALUES(6, '900', 1, 'no record'), (6, '901', 1, '')"),
                     0);
    expect_rows(o.db, "demo/root/- demo/root/root<root");
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_none, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_other_rows, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("assocs", tests, NULL, NULL);
}
