/* fmt_core.c - parse output formats, render rows, sort lines; see fmt_core.h.
 *
 * Rows are rendered as they arrive, straight into the output buffer: a cell is written by its
 * getter and justified in place.  Sorting keeps the rendered line and its keys, never the record.
 * Invariant: every fmt_col has a field of the table and a suffix. */
#include "cli/fmt_core.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

const struct fmt_field *fmt_by_letter(const struct fmt_table *table, char letter)
{
    if (letter)
        for (size_t i = 0; i < table->n; i++)
            if (table->rows[i].letter == letter)
                return &table->rows[i];
    return NULL;
}

const struct fmt_field *fmt_by_name(const struct fmt_table *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].name && strcasecmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    return NULL;
}

static int add_col(struct fmt *f, const struct fmt_col *col, const char *suffix, size_t suffix_len)
{
    struct fmt_col *cols = reallocarray(f->cols, f->n + 1, sizeof(*cols));

    if (!cols)
        return -ENOMEM;
    f->cols = cols;
    cols[f->n] = *col;
    cols[f->n].suffix = strndup(suffix, suffix_len);
    if (!cols[f->n].suffix)
        return -ENOMEM;
    f->n++;
    return 0;
}

/* Append text to the suffix of the last column, or to the prefix when there is none. */
static int add_text(struct fmt *f, const char *text, size_t len)
{
    char **field = f->n ? &f->cols[f->n - 1].suffix : &f->prefix;
    size_t old = *field ? strlen(*field) : 0;
    char *grown = realloc(*field, old + len + 1);

    if (!grown)
        return -ENOMEM;
    memcpy(grown + old, text, len);
    grown[old + len] = '\0';
    *field = grown;
    return 0;
}

/* Read "[.|#][size]" at p; gives back where it ends. */
static const char *parse_size(const char *p, struct fmt_col *col)
{
    for (; *p == '.' || *p == '#'; p++) {
        if (*p == '.')
            col->right = true;
        else
            col->fit = true;
    }
    for (; isdigit((unsigned char)*p); p++)
        if (col->width < FMT_WIDTH_MAX)
            col->width = col->width * 10 + (unsigned)(*p - '0');
    return p;
}

static int add_all_letters(struct fmt *f, const struct fmt_table *table)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    int r;

    for (const char *l = letters; *l; l++) {
        const struct fmt_field *field = fmt_by_letter(table, *l);
        struct fmt_col col = { .field = field };

        if (!field)
            continue;
        if (f->n && (r = add_text(f, "|", 1)) < 0)
            return r;
        r = add_col(f, &col, "", 0);
        if (r < 0)
            return r;
    }
    return 0;
}

int fmt_parse_short(struct fmt *f, const struct fmt_table *table, const char *spec, fmt_bad_fn *bad,
                    void *ctx)
{
    const char *p = spec;
    int r = 0;

    if (strcasecmp(spec, "%all") == 0)
        return add_all_letters(f, table);
    while (*p && r >= 0) {
        const char *next = p + strcspn(p, "%");

        if (next > p) {
            r = add_text(f, p, (size_t)(next - p));
            p = next;
            continue;
        }
        struct fmt_col col = { 0 };
        char letter[2] = { 0 };

        next = parse_size(p + 1, &col);
        letter[0] = *next;
        col.field = fmt_by_letter(table, *next);
        if (col.field) {
            r = add_col(f, &col, "", 0);
            p = next + 1;
        } else {
            bad(ctx, letter);
            r = add_text(f, p, (size_t)(next - p) + (*next != '\0'));
            p = next + (*next != '\0');
        }
    }
    return r;
}

int fmt_parse_long(struct fmt *f, const struct fmt_table *table, const char *spec, fmt_bad_fn *bad,
                   void *ctx)
{
    while (*spec) {
        size_t len = strcspn(spec, ","), name_len;
        _cleanup_free_ char *item = strndup(spec, len);
        struct fmt_col col = { 0 };
        const char *rest = "";
        int r;

        if (!item)
            return -ENOMEM;
        name_len = strcspn(item, ":");
        if (item[name_len]) {
            item[name_len] = '\0';
            rest = parse_size(item + name_len + 1, &col);
        }
        if (!col.width)
            col.width = FMT_LONG_WIDTH;
        col.field = fmt_by_name(table, item);
        if (!col.field)
            bad(ctx, item);
        else if ((r = add_col(f, &col, rest, strlen(rest))) < 0)
            return r;
        spec += len + (spec[len] == ',');
    }
    return 0;
}

void fmt_done(struct fmt *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->cols[i].suffix);
    free(f->cols);
    free(f->prefix);
    *f = (struct fmt)FMT_INIT;
}

void fmt_justify(struct strbuf *sb, size_t start, unsigned width, bool right)
{
    size_t len = sb->len - start;

    if (!width || len == width)
        return;
    if (len > width) {
        sb->len = start + width;
        sb->buf[sb->len] = '\0';
        return;
    }
    strbuf_pad(sb, ' ', width - len);
    if (right && !sb->failed) {
        memmove(sb->buf + start + (width - len), sb->buf + start, len);
        memset(sb->buf + start, ' ', width - len);
    }
}

void fmt_header(const struct fmt *f, struct strbuf *out)
{
    if (f->prefix)
        strbuf_add(out, f->prefix);
    for (size_t i = 0; i < f->n; i++) {
        size_t start = out->len;

        strbuf_add(out, f->cols[i].field->header);
        fmt_justify(out, start, f->cols[i].width, f->cols[i].right);
        strbuf_add(out, f->cols[i].suffix);
    }
    strbuf_addc(out, '\n');
}

void fmt_row(const struct fmt *f, const void *row, struct strbuf *out)
{
    if (!f->n && !f->prefix)
        return;
    if (f->prefix)
        strbuf_add(out, f->prefix);
    for (size_t i = 0; i < f->n; i++) {
        const struct fmt_col *col = &f->cols[i];
        size_t start = out->len;

        col->field->get(out, row);
        fmt_justify(out, start, col->width, col->right);
        if (col->suffix[0] && !col->suffix[1])
            strbuf_addc(out, col->suffix[0]);
        else if (col->suffix[0])
            strbuf_add(out, col->suffix);
    }
    strbuf_addc(out, '\n');
}

void fmt_fit(struct fmt *f, const void *row, struct strbuf *scratch)
{
    for (size_t i = 0; i < f->n; i++) {
        struct fmt_col *col = &f->cols[i];
        size_t start = scratch->len;

        if (!col->fit)
            continue;
        col->field->get(scratch, row);
        if (scratch->len - start > col->width)
            col->width = (unsigned)(scratch->len - start);
        scratch->len = start;
    }
}

void fmt_need_names(const char *names, const ProtobufCMessageDescriptor *desc,
                    struct pb_fieldset *set)
{
    char word[64];

    for (const char *p = names; p && *p;) {
        size_t len = strcspn(p, " ");
        const ProtobufCFieldDescriptor *field;

        assert(len < sizeof(word));
        memcpy(word, p, len);
        word[len] = '\0';
        field = protobuf_c_message_descriptor_get_field_by_name(desc, word);
        assert(field);
        pb_fieldset_add(set, field->id);
        p += len;
        p += strspn(p, " ");
    }
}

void fmt_needs(const struct fmt *f, const ProtobufCMessageDescriptor *desc, struct pb_fieldset *set)
{
    for (size_t i = 0; i < f->n; i++)
        fmt_need_names(f->cols[i].field->needs, desc, set);
}

int fmt_sort_parse(struct fmt_sort *s, const struct fmt_table *table, const char *spec,
                   char *ret_bad)
{
    bool descending = false;

    s->n = 0;
    for (const char *p = spec; *p; p++) {
        const struct fmt_field *field;

        if (*p == ',' || *p == '#' || isspace((unsigned char)*p))
            continue;
        if (*p == '+' || *p == '-') {
            descending = *p == '-';
            continue;
        }
        field = fmt_by_letter(table, *p);
        if (!field || field->unsorted || s->n == FMT_SORT_MAX) {
            *ret_bad = *p;
            return -EINVAL;
        }
        s->keys[s->n].field = field;
        s->keys[s->n++].descending = descending;
        descending = false;
    }
    return 0;
}

void fmt_sort_needs(const struct fmt_sort *s, const ProtobufCMessageDescriptor *desc,
                    struct pb_fieldset *set)
{
    for (size_t i = 0; i < s->n; i++)
        fmt_need_names(s->keys[i].field->needs, desc, set);
}

/* ---- sorted lines -------------------------------------------------------------------------------
 */

/* Keys are numbers; a text key is the offset of a NUL-terminated string in the text pool, and equal
 * texts in a row share one offset, which makes runs of equal partitions or states cheap to compare.
 */
struct line {
    size_t start;
    size_t len;
    uint64_t tie;
    size_t keys; /* index of the first key */
};

struct fmt_lines {
    const struct fmt_sort *sort;
    struct strbuf text; /* lines, back to back */
    struct strbuf pool; /* key texts */
    int64_t *keys;
    size_t n_keys, cap_keys;
    struct line *lines;
    size_t n, cap;
    int64_t last_text[FMT_SORT_MAX]; /* offset of the latest text of each key, -1 = none */
};

int fmt_lines_new(const struct fmt_sort *sort, struct fmt_lines **ret_lines)
{
    struct fmt_lines *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->sort = sort;
    for (size_t i = 0; i < FMT_SORT_MAX; i++)
        l->last_text[i] = -1;
    *ret_lines = l;
    return 0;
}

struct fmt_lines *fmt_lines_free(struct fmt_lines *l)
{
    if (!l)
        return NULL;
    strbuf_done(&l->text);
    strbuf_done(&l->pool);
    free(l->keys);
    free(l->lines);
    free(l);
    return NULL;
}

static int grow(void **array, size_t *cap, size_t want, size_t item)
{
    size_t n = MAX(*cap * 2, MAX(want, (size_t)1024));
    void *grown;

    if (want <= *cap)
        return 0;
    grown = reallocarray(*array, n, item);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    *cap = n;
    return 0;
}

static int64_t text_key(struct fmt_lines *l, size_t key, const struct fmt_field *field,
                        const void *row)
{
    size_t start = l->pool.len;

    field->get(&l->pool, row);
    strbuf_addc(&l->pool, '\0');
    if (l->pool.failed)
        return 0;
    if (l->last_text[key] >= 0 && strcmp(l->pool.buf + l->last_text[key], l->pool.buf + start) == 0)
        l->pool.len = start;
    else
        l->last_text[key] = (int64_t)start;
    return l->last_text[key];
}

int fmt_lines_add(struct fmt_lines *l, struct strbuf *out, size_t start, const void *row,
                  uint64_t tie)
{
    struct line *line;

    if (grow((void **)&l->lines, &l->cap, l->n + 1, sizeof(*l->lines)) < 0 ||
        grow((void **)&l->keys, &l->cap_keys, l->n_keys + l->sort->n, sizeof(*l->keys)) < 0 ||
        out->failed)
        return -ENOMEM;
    line = &l->lines[l->n++];
    *line = (struct line){
        .start = l->text.len, .len = out->len - start, .tie = tie, .keys = l->n_keys
    };
    strbuf_addn(&l->text, out->buf + start, out->len - start);
    out->len = start;
    for (size_t i = 0; i < l->sort->n; i++) {
        const struct fmt_field *field = l->sort->keys[i].field;

        l->keys[l->n_keys++] = field->num ? field->num(row) : text_key(l, i, field, row);
    }
    return l->text.failed || l->pool.failed ? -ENOMEM : 0;
}

static int compare_lines(const void *pa, const void *pb, void *arg)
{
    const struct line *a = pa, *b = pb;
    const struct fmt_lines *l = arg;

    for (size_t i = 0; i < l->sort->n; i++) {
        int64_t ka = l->keys[a->keys + i], kb = l->keys[b->keys + i];
        int c;

        if (ka == kb)
            continue;
        if (l->sort->keys[i].field->num)
            c = ka < kb ? -1 : 1;
        else
            c = strcmp(l->pool.buf + ka, l->pool.buf + kb);
        if (c)
            return l->sort->keys[i].descending ? -c : c;
    }
    return a->tie < b->tie ? -1 : a->tie > b->tie;
}

void fmt_lines_flush(struct fmt_lines *l, struct strbuf *out)
{
    qsort_r(l->lines, l->n, sizeof(*l->lines), compare_lines, l);
    for (size_t i = 0; i < l->n; i++)
        strbuf_addn(out, l->text.buf + l->lines[i].start, l->lines[i].len);
    l->n = l->n_keys = 0;
    l->text.len = 0;
}
