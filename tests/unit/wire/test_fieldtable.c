/* test_fieldtable.c - proto/fieldtable.h: the table gives the rights that
 * tests/golden/field_rights.txt lists, and nothing to anybody beside it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/readfile.h"
#include "base/pb/pbsafe.h"
#include "base/strbuf.h"
#include "fieldlists.h"
#include "fields.h"
#include "fieldtable.h"
#include "job.pb-c.h"

#define GOLDEN SOURCE_ROOT "/tests/golden/field_rights.txt"

/* ---- the table as text ----------------------------------------------------------------------- */

static const uint32_t job_requeue[] = { JOB_REQUEUE_FIELDS },
                      job_watched[] = { JOB_WATCHED_FIELDS },
                      job_identity[] = { JOB_IDENTITY_FIELDS },
                      job_secret[] = { JOB_SECRET_FIELDS }, job_told[] = { JOB_JOBCOMP_FIELDS },
                      job_asked[] = { JOB_JOBCOMP_ASKED_FIELDS },
                      step_secret[] = { STEP_SECRET_FIELDS },
                      node_secret[] = { NODE_SECRET_FIELDS },
                      node_watched[] = { NODE_WATCHED_FIELDS },
                      node_identity[] = { NODE_IDENTITY_FIELDS },
                      part_watched[] = { PART_WATCHED_FIELDS },
                      part_identity[] = { PART_IDENTITY_FIELDS };

#define LIST(t, a, w)                                                                              \
    {                                                                                              \
        &t##_record_fields, a, ARRAY_SIZE(a), w                                                    \
    }
static const struct {
    const struct fieldtable *table;
    const uint32_t *numbers;
    size_t n;
    const char *word;
} lists[] = {
    LIST(job, job_requeue, "requeue=clear"),
    LIST(job, job_watched, "watch"),
    LIST(job, job_identity, "watch=identity"),
    LIST(node, node_watched, "watch"),
    LIST(node, node_identity, "watch=identity"),
    LIST(partition, part_watched, "watch"),
    LIST(partition, part_identity, "watch=identity"),
    LIST(job, job_secret, "secret"),
    LIST(step, step_secret, "secret"),
    LIST(node, node_secret, "secret"),
    LIST(job, job_told, "jobcomp"),
    LIST(job, job_asked, "jobcomp=asked"),
};

#define LUA_WRITE_ROW(name, kind, field) { &LUA_TABLE, field, name ":" #kind },
#define LUA_READ_ROW(name, kind, field) { &LUA_TABLE, field, name ":" #kind ":read" },
static const struct {
    const struct fieldtable *table;
    uint32_t number;
    const char *text;
} scripts[] = {
#define LUA_TABLE job_record_fields
    JOB_LUA(LUA_WRITE_ROW) JOB_LUA_READ(LUA_READ_ROW)
#undef LUA_TABLE
#define LUA_TABLE partition_record_fields
        PART_LUA_READ(LUA_READ_ROW)
#undef LUA_TABLE
#define LUA_TABLE reservation_record_fields
            RESV_LUA_READ(LUA_READ_ROW)
};

static const char *const submits[] = {
    [FIELD_SUBMIT_ADMIN] = " submit=admin", [FIELD_SUBMIT_USER] = " submit=user"
};
static const char *const whens[] = { [FIELD_UPDATE_PENDING] = " update=pending",
                                     [FIELD_UPDATE_UNENDED] = " update=unended",
                                     [FIELD_UPDATE_ALWAYS] = " update=always" };
static const char *const whos[] = {
    [FIELD_BY_OWNER] = "", [FIELD_BY_OPERATOR] = ",operator", [FIELD_BY_SAME_USER] = ",same-user"
};
static const char *const clears[] = {
    [FIELD_CLEAR_OPERATOR] = " clear=operator", [FIELD_CLEAR_NEVER] = " clear=never"
};
static const char *const rules[] = { [PBSAFE_TEXT] = "text",
                                     [PBSAFE_ANY] = "any",
                                     [PBSAFE_ADDRESS] = "address",
                                     [PBSAFE_VARIABLE] = "variable" };

static void add_rights(struct strbuf *sb, const struct field_row *row)
{
    if (row->submit != FIELD_SUBMIT_NEVER)
        strbuf_add(sb, submits[row->submit]);
    if (row->update != FIELD_UPDATE_NEVER && row->by == FIELD_BY_ADMIN)
        strbuf_add(sb, " update=admin");
    else if (row->update != FIELD_UPDATE_NEVER)
        strbuf_addf(sb, "%s%s", whens[row->update], whos[row->by]);
    if (row->clear != FIELD_CLEAR_AS_UPDATE)
        strbuf_add(sb, clears[row->clear]);
}

static void add_lists(struct strbuf *sb, const struct fieldtable *t, uint32_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (size_t k = 0; lists[i].table == t && k < lists[i].n; k++)
            if (lists[i].numbers[k] == number)
                strbuf_addf(sb, " %s", lists[i].word);
}

static void add_scripts(struct strbuf *sb, const struct fieldtable *t, uint32_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        const char *kind = strstr(scripts[i].text, "LUA_");

        if (scripts[i].table != t || scripts[i].number != number)
            continue;
        strbuf_addf(sb, " lua=%.*s", (int)(kind - scripts[i].text), scripts[i].text);
        for (const char *p = kind + strlen("LUA_"); *p; p++)
            strbuf_addc(sb, *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p);
    }
}

/* How commands show it and scontrol update names it. */
static void add_commands(struct strbuf *sb, const struct fieldtable *t, const char *field)
{
#define KEY(name, kind, member) { "key", name, #member },
#define SHOWN(name, heading, member) { "show", name, #member },
    static const struct {
        const char *word, *name, *field;
    } rows[] = { JOB_SHOWN(SHOWN) JOB_KEYS(KEY) };

    for (size_t i = 0; t == &job_record_fields && i < ARRAY_SIZE(rows); i++)
        if (strcmp(rows[i].field, field) == 0)
            strbuf_addf(sb, " %s=%s", rows[i].word, rows[i].name);
}

static void add_text_rule(struct strbuf *sb, const char *message, const char *field)
{
    const char *of_message, *of_field;
    enum pbsafe_rule rule;

    for (size_t i = 0; pbsafe_row(i, &of_message, &of_field, &rule); i++)
        if (strcmp(of_message, message) == 0 && strcmp(of_field, field) == 0)
            strbuf_addf(sb, " text=%s", rules[rule]);
}

/* A line for each field, in the order of the numbers. */
static void describe(struct strbuf *sb, const struct fieldtable *t)
{
    for (unsigned i = 0; i < t->desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &t->desc->fields[i];
        const struct field_row *row = field_row(t, f->id);

        assert_non_null(row);
        strbuf_addf(sb, "%s.%s = %u", t->desc->short_name, f->name, f->id);
        add_rights(sb, row);
        add_lists(sb, t, f->id);
        add_scripts(sb, t, f->id);
        add_text_rule(sb, t->desc->short_name, f->name);
        add_commands(sb, t, f->name);
        strbuf_addc(sb, '\n');
    }
}

/* ---- the tests ------------------------------------------------------------------------------- */

static const struct fieldtable *const tables[] = { &job_record_fields, &step_record_fields,
                                                   &node_record_fields, &partition_record_fields,
                                                   &reservation_record_fields };

static bool has_line(const char *text, const char *line, size_t len)
{
    for (const char *p = text; (p = strstr(p, line)) != NULL; p++)
        if ((p == text || p[-1] == '\n') && p[len] == '\n')
            return true;
    return false;
}

/* Each line of `these` is one of `those`.  The files' orders differ. */
static size_t count_missing(char *these, const char *those, const char *say)
{
    size_t missing = 0;

    for (char *line = these, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (*line != '#' && !has_line(those, line, (size_t)(end - line))) {
            print_message("# %s: %s\n", say, line);
            missing++;
        }
        *end = '\n';
    }
    return missing;
}

static void test_rights(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf now = STRBUF_INIT;
    _cleanup_free_ char *golden = NULL;
    size_t len;

    assert_int_equal(readfile(GOLDEN, 1u << 20, &golden, &len), 0);
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        describe(&now, tables[i]);
    assert_int_equal(count_missing(golden, now.buf, "golden line that the table does not give"), 0);
    assert_int_equal(count_missing(now.buf, golden, "the table gives what no golden line says"), 0);
}

static void test_rows(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        const struct fieldtable *t = tables[i];

        assert_int_equal(t->n, t->desc->n_fields);
        for (size_t k = 1; k < t->n; k++)
            assert_true(t->rows[k - 1].number < t->rows[k].number);
        for (size_t k = 0; k < t->n; k++)
            assert_ptr_equal(field_row(t, t->rows[k].number), &t->rows[k]);
        assert_null(field_row(t, 0));
        assert_null(field_row(t, 9999));
        assert_null(field_row(t, UINT32_MAX));
    }
}

static void test_names(void **state)
{
    assert_int_equal(JOB_F_TIME_LIMIT_MIN, 99);
    assert_int_equal(JOB_F_TIME_LIMIT_MIN, protobuf_c_message_descriptor_get_field_by_name(
                                               &pst__job_record__descriptor, "time_limit_min")
                                               ->id);
    assert_int_equal(PART_F_NAME, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rights), cmocka_unit_test(test_rows),
                                        cmocka_unit_test(test_names) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
