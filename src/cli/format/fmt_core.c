/* fmt_core.c - parse output formats, render rows, sort lines; see fmt_core.h.
 *
 * Rows are rendered as they arrive, straight into the output buffer: a cell is written by its
 * getter and justified in place.  Sorting keeps the rendered line and its keys, never the record.
 * Invariant: every fmt_col has a field of the table and a suffix. */
#include "cli/format/fmt_core.h"
#include "cli/query/out_query.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/safetext.h"

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

/* Read "[.|#]" of the short form at p; gives back where it ends. */
static const char *parse_marks(const char *p, struct fmt_col *col)
{
    for (; *p == '.' || *p == '#'; p++) {
        if (*p == '.')
            col->right = true;
        else
            col->fit = true;
    }
    return p;
}

static const char *parse_size(const char *p, struct fmt_col *col)
{
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
        if (r == 0 && table->all_blank && isupper((unsigned char)*l))
            r = add_text(f, " ", 1);
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

        if (!p[1] || p[1] == '%') { /* no column, no text */
            p++;
            continue;
        }
        next = parse_size(parse_marks(p + 1, &col), &col);
        letter[0] = *next;
        col.field = *next || !col.width || !table->bare ? fmt_by_letter(table, *next)
                                                        : fmt_by_name(table, table->bare);
        if (col.field) {
            r = add_col(f, &col, "", 0);
            p = next + (*next != '\0');
        } else {
            bad(ctx, letter);
            next += *next != '\0';
            if (table->strict)
                next += strcspn(next, "%");
            else
                r = add_text(f, p, (size_t)(next - p));
            p = next;
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
        struct fmt_col col = { .width = FMT_LONG_WIDTH };
        const char *rest = "";
        int r;

        if (!item)
            return -ENOMEM;
        if (!len) {
            spec++;
            continue;
        }
        name_len = strcspn(item, ":");
        if (item[name_len]) {
            item[name_len] = '\0';
            col.width = 0; /* no digits behind the colon: as wide as the value */
            col.right = item[name_len + 1] == '.';
            rest = item + name_len + 1 + col.right;
            rest = parse_size(rest + (rest[0] == '-' && isdigit((unsigned char)rest[1])), &col);
            col.cuts = !col.right;
        }
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
        const struct fmt_col *col = &f->cols[i];
        size_t start = out->len;

        strbuf_add(out, col->field->header);
        if (!col->field->whole_header || !col->right || out->len - start < col->width)
            fmt_justify(out, start, col->width, col->right);
        strbuf_add(out, col->suffix);
    }
    strbuf_addc(out, '\n');
}

static void justify_value(const struct fmt_col *col, struct strbuf *out, size_t start)
{
    bool star = col->field->starred && col->width && out->len - start > col->width &&
                out->buf[out->len - 1] == '*';

    fmt_justify(out, start, col->width, col->right);
    if (star)
        out->buf[out->len - 1] = '*';
}

void fmt_row(const struct fmt *f, const void *row, struct strbuf *out)
{
    if (f->prefix)
        strbuf_add(out, f->prefix);
    for (size_t i = 0; i < f->n; i++) {
        const struct fmt_col *col = &f->cols[i];
        size_t start = out->len;

        col->field->get(out, row);
        if (out->len > start)
            safetext_clean_n(out->buf + start, out->len - start);
        if (!col->field->uncut || col->cuts || out->len - start < col->width)
            justify_value(col, out, start);
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

void fmt_needs(const struct fmt *f, const ProtobufCMessageDescriptor *desc, struct pb_fieldset *set)
{
    for (size_t i = 0; i < f->n; i++)
        query_need_names(f->cols[i].field->needs, desc, set);
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
        if ((!field || field->unsorted) && !ret_bad) {
            descending = false;
            continue;
        }
        if (!field || field->unsorted || s->n == FMT_SORT_MAX) {
            if (ret_bad)
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
        query_need_names(s->keys[i].field->needs, desc, set);
}

/* ---- sorted lines ---------------------------------------------------------------------------- */

/* Keys are numbers.  The texts of a text key are interned as they come (the key is the number of
 * the text) and ranked before sorting, so that sorting compares numbers only. */
struct line {
    size_t start;
    uint64_t tie;
    uint32_t len;
};

/* What is sorted: all keys of a line in one number where they fit, the first of them otherwise. */
struct place {
    uint64_t packed;
    uint32_t line;
};

struct text_pool {
    struct strbuf texts; /* NUL-terminated, back to back */
    size_t *starts;
    size_t n, cap;
    uint32_t *index; /* by hash: number + 1, 0 = empty */
    size_t n_index;
};

struct fmt_lines {
    const struct fmt_sort *sort;
    struct strbuf text; /* lines, back to back */
    struct strbuf scratch;
    struct text_pool pool;
    int64_t *keys; /* those of a line side by side, in the order of arrival */
    size_t n_keys, cap_keys;
    struct place *order;
    bool packed;
    struct line *lines;
    size_t n, cap;
};

int fmt_lines_new(const struct fmt_sort *sort, struct fmt_lines **ret_lines)
{
    struct fmt_lines *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->sort = sort;
    *ret_lines = l;
    return 0;
}

struct fmt_lines *fmt_lines_free(struct fmt_lines *l)
{
    if (!l)
        return NULL;
    strbuf_done(&l->text);
    strbuf_done(&l->scratch);
    strbuf_done(&l->pool.texts);
    free(l->pool.starts);
    free(l->pool.index);
    free(l->keys);
    free(l->order);
    free(l->lines);
    free(l);
    return NULL;
}

static int grow_lines(void **array, size_t *cap, size_t want, size_t item)
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

static size_t pool_slot(const struct text_pool *p, const char *text, size_t len)
{
    uint64_t h = fnv_bytes(text, len, FNV_BEGIN);
    size_t at = (h ^ h >> 32) & (p->n_index - 1);

    while (p->index[at] && strcmp(p->texts.buf + p->starts[p->index[at] - 1], text) != 0)
        at = (at + 1) & (p->n_index - 1);
    return at;
}

static int pool_rehash(struct text_pool *p)
{
    size_t n = p->n_index ? p->n_index * 2 : 256;
    uint32_t *index = calloc(n, sizeof(*index));

    if (!index)
        return -ENOMEM;
    free(p->index);
    p->index = index;
    p->n_index = n;
    for (size_t i = 0; i < p->n; i++) {
        const char *text = p->texts.buf + p->starts[i];

        p->index[pool_slot(p, text, strlen(text))] = (uint32_t)i + 1;
    }
    return 0;
}

/* The number of a text, or -ENOMEM. */
static int64_t pool_intern(struct text_pool *p, const char *text, size_t len)
{
    size_t at;

    if ((p->n + 1) * 2 > p->n_index && pool_rehash(p) < 0)
        return -ENOMEM;
    at = pool_slot(p, text, len);
    if (p->index[at])
        return p->index[at] - 1;
    if (p->n == UINT32_MAX - 1 ||
        grow_lines((void **)&p->starts, &p->cap, p->n + 1, sizeof(*p->starts)) < 0)
        return -ENOMEM;
    p->starts[p->n] = p->texts.len;
    strbuf_addn(&p->texts, text, len);
    strbuf_addc(&p->texts, '\0');
    p->index[at] = (uint32_t)++p->n;
    return p->texts.failed ? -ENOMEM : (int64_t)p->n - 1;
}

static int64_t text_key(struct fmt_lines *l, const struct fmt_field *field, const void *row)
{
    strbuf_reset(&l->scratch);
    (field->sort ? field->sort : field->get)(&l->scratch, row);
    if (l->scratch.failed)
        return -ENOMEM;
    return pool_intern(&l->pool, strbuf_str(&l->scratch), l->scratch.len);
}

int fmt_lines_add(struct fmt_lines *l, struct strbuf *out, size_t start, const void *row,
                  uint64_t tie)
{
    struct line *line;

    if (l->n == UINT32_MAX || out->len - start > UINT32_MAX ||
        grow_lines((void **)&l->lines, &l->cap, l->n + 1, sizeof(*l->lines)) < 0 ||
        grow_lines((void **)&l->keys, &l->cap_keys, l->n_keys + l->sort->n, sizeof(*l->keys)) < 0 ||
        out->failed)
        return -ENOMEM;
    line = &l->lines[l->n++];
    *line = (struct line){ .start = l->text.len, .tie = tie, .len = (uint32_t)(out->len - start) };
    strbuf_addn(&l->text, out->buf + start, out->len - start);
    out->len = start;
    for (size_t i = 0; i < l->sort->n; i++) {
        const struct fmt_field *field = l->sort->keys[i].field;
        int64_t key = field->num ? field->num(row) : text_key(l, field, row);

        if (!field->num && key < 0)
            return -ENOMEM;
        l->keys[l->n_keys++] = key;
    }
    return l->text.failed ? -ENOMEM : 0;
}

static int compare_texts(const void *pa, const void *pb, void *arg)
{
    const struct text_pool *p = arg;

    return strcmp(p->texts.buf + p->starts[*(const uint32_t *)pa],
                  p->texts.buf + p->starts[*(const uint32_t *)pb]);
}

/* Replace the numbers of texts by their place in the alphabet.  Without memory the order stays that
 * of arrival. */
static void rank_texts(struct fmt_lines *l)
{
    size_t n = l->pool.n;
    _cleanup_free_ uint32_t *order = calloc(n + 1, sizeof(*order));
    _cleanup_free_ uint32_t *rank = calloc(n + 1, sizeof(*rank));

    if (!n || !order || !rank)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof(*order), compare_texts, &l->pool);
    for (size_t i = 0; i < n; i++)
        rank[order[i]] = (uint32_t)i;
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->sort->n; k++)
            if (!l->sort->keys[k].field->num)
                l->keys[i * l->sort->n + k] = rank[l->keys[i * l->sort->n + k]];
}

static int compare_places(const void *pa, const void *pb, void *arg)
{
    const struct place *a = pa, *b = pb;
    const struct fmt_lines *l = arg;
    size_t n = l->sort->n;
    uint64_t ta, tb;

    if (l->packed && a->packed != b->packed)
        return a->packed < b->packed ? -1 : 1;
    for (size_t i = 0; i < n && !l->packed; i++) {
        int64_t ka = l->keys[a->line * n + i], kb = l->keys[b->line * n + i];

        if (ka != kb)
            return (ka < kb) != l->sort->keys[i].descending ? -1 : 1;
    }
    ta = l->lines[a->line].tie;
    tb = l->lines[b->line].tie;
    /* Equal jobs follow the direction of the last key; tasks of one array always ascend. */
    if (n && l->sort->keys[n - 1].descending && ta >> 32 != tb >> 32)
        return ta > tb ? -1 : 1;
    return ta < tb ? -1 : ta > tb;
}

/* Bits that the values of key k span; *ret_least is the smallest. */
static unsigned key_bits(const struct fmt_lines *l, size_t k, int64_t *ret_least)
{
    int64_t least = INT64_MAX, most = INT64_MIN;

    for (size_t i = 0; i < l->n; i++) {
        int64_t key = l->keys[i * l->sort->n + k];

        least = MIN(least, key);
        most = MAX(most, key);
    }
    *ret_least = least;
    return most > least ? 64 - (unsigned)__builtin_clzll((uint64_t)most - (uint64_t)least) : 0;
}

/* Put all keys of each line into one number that sorts as they do, if 64 bits are enough. */
static void pack_keys(struct fmt_lines *l)
{
    size_t n = l->sort->n;
    int64_t least[FMT_SORT_MAX];
    unsigned bits[FMT_SORT_MAX], total = 0;

    for (size_t k = 0; k < n; k++)
        total += bits[k] = key_bits(l, k, &least[k]);
    l->packed = total < 64;
    for (size_t i = 0; i < l->n; i++) {
        l->order[i] = (struct place){ .line = (uint32_t)i };
        for (size_t k = 0; k < n && l->packed; k++) {
            uint64_t value = (uint64_t)l->keys[i * n + k] - (uint64_t)least[k];

            if (l->sort->keys[k].descending)
                value = ((UINT64_C(1) << bits[k]) - 1) - value;
            l->order[i].packed = l->order[i].packed << bits[k] | value;
        }
    }
}

/* -ENOMEM leaves the lines as they are. */
static int sort_lines(struct fmt_lines *l)
{
    free(l->order);
    l->order = calloc(l->n + 1, sizeof(*l->order));
    if (!l->order)
        return -ENOMEM;
    rank_texts(l);
    pack_keys(l);
    qsort_r(l->order, l->n, sizeof(*l->order), compare_places, l);
    return 0;
}

static void forget_lines(struct fmt_lines *l)
{
    l->n = l->n_keys = 0;
    l->text.len = 0;
}

int fmt_lines_flush(struct fmt_lines *l, struct strbuf *out)
{
    int r = sort_lines(l);

    for (size_t i = 0; i < l->n && r == 0; i++) {
        const struct line *line = &l->lines[l->order[i].line];

        strbuf_addn(out, l->text.buf + line->start, line->len);
    }
    forget_lines(l);
    return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

int fmt_lines_write(struct fmt_lines *l, FILE *f)
{
    int r = sort_lines(l);

    for (size_t i = 0; i < l->n && r == 0; i++) {
        const struct line *line = &l->lines[l->order[i].line];

        if (fwrite_unlocked(l->text.buf + line->start, 1, line->len, f) != line->len)
            r = -EIO;
    }
    forget_lines(l);
    return r;
}

void fmt_print_names(const struct fmt_table *table, const char *kind, FILE *f)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct fmt_field *field = &table->rows[i];

        (void)fprintf(f, "%s\t%s\t%c\t%s\t%s\n", kind, field->name ? field->name : "-",
                      field->letter ? field->letter : '-', field->header,
                      field->hidden ? "hidden" : "shown");
    }
}
