/* conf_row.c - pairs of one line into typed values, for every kind of line.
 *
 * A row is an array with one element per key of its table, so DEFAULT lines merge by copying and
 * each kind of line reads its values by enumerator. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "conf/conf_older.h"
#include "conf/lex/conf_lex.h"

void conf_row_pair(struct conf_loader *l, enum conf_table_id table, struct conf_row *row,
                   const char *key, const char *value)
{
    struct err err = { .text = "" };
    int i = conf_key_find(table, key);
    uint64_t num;

    if (i < 0) {
        key = conf_older_key(l, table, row, key, value);
        if (!key)
            return;
        i = conf_key_find(table, key);
    }
    if (i < 0) {
        conf_key_unknown(table, key, &err);
        conf_error(l, row->file, row->line, "%s", err.text);
        return;
    }
    value = conf_older_value(l, table, row, i, value);
    if (conf_value_check(table, i, value, &num, &err) < 0) {
        conf_error(l, row->file, row->line, "%s", err.text);
        return;
    }
    if (row->vals[i].set)
        conf_warn(l, row->file, row->line, "%s is given more than once; the last value is used",
                  conf_tables[table].rows[i].name);
    row->vals[i] = (struct conf_val){
        .text = value, .num = num, .file = row->file, .line = row->line, .set = true
    };
}

void conf_row_parse(struct conf_loader *l, enum conf_table_id table, struct conf_row *row,
                    char *rest)
{
    struct err err = { .text = "" };
    char *key, *value;
    int r;

    while ((r = conf_lex_pair(&rest, &key, &value, &err)) > 0)
        conf_row_pair(l, table, row, key, value);
    if (r < 0)
        conf_error(l, row->file, row->line, "%s", err.text);
}

int conf_row_file(struct conf_loader *l, const char *path, enum conf_table_id table,
                  struct conf_val *vals)
{
    struct conf_source src;
    struct conf_lex lx;
    struct conf_row row = { .vals = vals };
    char *line;
    int r = conf_source_optional(l, path, &src);

    if (r <= 0)
        return r;
    row.file = src.name;
    conf_lex_init(&lx, src.text, src.len);
    while (conf_lex_line(&lx, &line, &row.line))
        conf_row_parse(l, table, &row, line);
    conf_row_audit(l, table, vals);
    return 1;
}

void conf_row_alias(struct conf_row *row, int old_key, int new_key)
{
    if (row->vals[old_key].set && !row->vals[new_key].set)
        row->vals[new_key] = row->vals[old_key];
    row->vals[old_key] = (struct conf_val){ 0 };
}

void conf_row_exclude(const struct conf_row *row, struct conf_val *defaults, int a, int b)
{
    if (row->vals[a].set)
        defaults[b] = (struct conf_val){ 0 };
    if (row->vals[b].set)
        defaults[a] = (struct conf_val){ 0 };
}

void conf_row_merge(struct conf_row *row, enum conf_table_id table, const struct conf_val *defaults)
{
    for (size_t i = 0; i < conf_tables[table].n; i++) {
        if (!row->vals[i].set)
            row->vals[i] = defaults[i];
    }
}

int conf_rows_add(struct conf_rows *rows, enum conf_table_id table, const struct conf_row *row,
                  size_t max)
{
    size_t bytes = conf_tables[table].n * sizeof(*row->vals);
    struct conf_val *vals;

    if (rows->n >= max)
        return -E2BIG;
    if (conf_grow(&rows->items, &rows->cap, rows->n, sizeof(*rows->items)) < 0)
        return -ENOMEM;
    vals = malloc(bytes);
    if (!vals)
        return -ENOMEM;
    memcpy(vals, row->vals, bytes);
    rows->items[rows->n++] =
        (struct conf_row){ .file = row->file, .line = row->line, .vals = vals };
    return 0;
}

void conf_rows_done(struct conf_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        free(rows->items[i].vals);
    free(rows->items);
    *rows = (struct conf_rows){ 0 };
}

const char *conf_val_text(enum conf_table_id table, int key, const struct conf_val *v)
{
    return v->set ? v->text : conf_tables[table].rows[key].def;
}

uint64_t conf_val_num(enum conf_table_id table, int key, const struct conf_val *v)
{
    const char *def = conf_tables[table].rows[key].def;
    uint64_t num = 0;

    if (v->set)
        return v->num;
    if (def)
        (void)conf_value_check(table, key, def, &num, NULL); /* defaults are sound: tested */
    return num;
}

/* Is a word that was found wrong for this reason refused?  Misspelt it would not hold, or nobody
 * would see what was to be found out. */
static bool is_refused(enum conf_table_id table, int key, int why)
{
    static const struct {
        enum conf_table_id table;
        int key;
        bool values; /* wrong ones, too; else unknown words alone */
    } refused[] = {
        { CONF_TBL_KEY, CONF_ACCOUNTING_STORAGE_ENFORCE, true },
        { CONF_TBL_KEY, CONF_DEBUG_FLAGS, false },
        { CONF_TBL_KEY, CONF_PREEMPT_MODE, true },
        { CONF_TBL_KEY, CONF_PREP_PLUGINS, false },
        { CONF_TBL_KEY, CONF_PROLOG_FLAGS, false },
        { CONF_TBL_KEY, CONF_PROPAGATE_RESOURCE_LIMITS, false },
        { CONF_TBL_KEY, CONF_PROPAGATE_RESOURCE_LIMITS_EXCEPT, false },
        { CONF_TBL_KEY, CONF_SELECT_TYPE_PARAMETERS, false },
        { CONF_TBL_KEY, CONF_TASK_PLUGIN_PARAM, true },
        { CONF_TBL_PART, PK_PREEMPT_MODE, true },
        { CONF_TBL_PART, PK_SELECT_TYPE_PARAMETERS, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (refused[i].table == table && refused[i].key == key)
            return why == -ENOENT || (refused[i].values && why == -EINVAL);
    return false;
}

static void audit_list(struct conf_loader *l, enum conf_table_id table, int key,
                       const struct conf_val *v)
{
    for (const char *p = v->text; *p;) {
        size_t len = strcspn(p, ", ");
        struct err err = { .text = "" };
        int r = len ? conf_word_check(table, key, p, len, &err) : 0;

        if (r == -ENOENT && conf_older_word(table, key, p, len))
            conf_warn(l, v->file, v->line, "%s: %.*s is a word of earlier releases without effect",
                      conf_tables[table].rows[key].name, (int)len, p);
        else if (r < 0 && is_refused(table, key, r))
            conf_error(l, v->file, v->line, "%s", err.text);
        else if (r == -EINVAL)
            conf_wrong(l, v->file, v->line, "%s", err.text);
        else if (err.text[0])
            conf_warn(l, v->file, v->line, "%s", err.text);
        p += len;
        p += *p != '\0';
    }
}

/* No warning for a key that is set to its default, or to "none". */
static bool says_nothing(enum conf_table_id table, int key, const struct conf_val *v)
{
    const struct conf_keydef *row = &conf_tables[table].rows[key];
    const char *slash = strrchr(v->text, '/'), *word = slash ? slash + 1 : v->text;
    const struct conf_val unset = { 0 };

    if (v->text[0] == '\0' || strcasecmp(word, "none") == 0)
        return true;
    if (!row->def)
        return false;
    if (row->type == CONF_T_NUM || row->type == CONF_T_BOOL || row->type == CONF_T_MIB ||
        row->type == CONF_T_DUR)
        return v->num == conf_val_num(table, key, &unset);
    return strcasecmp(row->def, v->text) == 0;
}

void conf_row_audit(struct conf_loader *l, enum conf_table_id table, const struct conf_val *vals)
{
    const struct conf_table *t = &conf_tables[table];

    for (size_t i = 0; i < t->n; i++) {
        const struct conf_val *v = &vals[i];

        if (!v->set)
            continue;
        if (t->rows[i].type == CONF_T_LIST ||
            (t->rows[i].type == CONF_T_WORD && !says_nothing(table, (int)i, v)))
            audit_list(l, table, (int)i, v);
        if ((t->rows[i].flags & CONF_F_KNOWN) && !says_nothing(table, (int)i, v))
            conf_warn(l, v->file, v->line, "key %s is accepted without effect: %s", t->rows[i].name,
                      conf_why(table, (int)i, ""));
    }
}
