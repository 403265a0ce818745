/* fmt_core.h - output formats of the query commands: "%.18i %.9P" and "jobid:10,state"
 *
 * A command has one table of fields; a format is a list of columns over it.  Pure data, one thread
 * per object.  Functions returning int give 0 or a negative errno. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/pb/pbutil.h"
#include "base/strbuf.h"

#define FMT_WIDTH_MAX 100000u
#define FMT_LONG_WIDTH 20u /* of -O fields without a size */

/* Append the value for row to sb.  row is the command's own structure. */
typedef void fmt_get_fn(struct strbuf *sb, const void *row);
/* A number that sorts as the value does. */
typedef int64_t fmt_num_fn(const void *row);

struct fmt_field {
    char letter;      /* of -o; 0 = none */
    bool hidden;      /* an alias: not part of %all and of the field lists */
    const char *name; /* of -O; NULL = none */
    const char *header;
    fmt_get_fn *get;
    fmt_num_fn *num;   /* sort key; NULL = the text sorts */
    const char *needs; /* record fields, blanks between: "alloc batch_host" */
    unsigned kind;     /* the command's own */
    bool unsorted;     /* no letter of a sort order */
    bool uncut;        /* a value longer than the column stays whole */
    fmt_get_fn *sort;  /* text to sort by; NULL = the value */
    bool starred;      /* a star at its end stays when the value is cut */
    bool whole_header; /* a header longer than the column stays whole when it stands at the right */
};

struct fmt_table {
    const struct fmt_field *rows;
    size_t n;
    const char *what; /* "job", "sinfo": word in the message about an unknown field */
    const char *bare; /* field of a size without letter ("%9"), NULL = none */
    bool strict;      /* a column that is none goes, with the text behind it */
    bool all_blank;   /* %all: a blank behind the columns of capital letters */
};

struct fmt_col {
    const struct fmt_field *field;
    unsigned width; /* 0 = as long as the value */
    bool right;
    bool fit;     /* '#': at least width; fmt_fit() widens it */
    bool cuts;    /* a value longer than width goes short, whatever the field says */
    char *suffix; /* never NULL */
};

struct fmt {
    char *prefix; /* text before the first column, may be NULL */
    struct fmt_col *cols;
    size_t n;
};
#define FMT_INIT                                                                                   \
    {                                                                                              \
        0                                                                                          \
    }

/* The fields as lines `KIND<TAB>name<TAB>letter<TAB>header<TAB>hidden`, "-" for what a field has
 * not, for --help-interface. */
void fmt_print_names(const struct fmt_table *table, const char *kind, FILE *f);

/* Called once for each part of a format that is not understood; the part is left out. */
typedef void fmt_bad_fn(void *ctx, const char *spec);

/* The short form: %[[.]size]letter[text].  "%all" makes every lettered field, '|' between.  Text
 * that looks like a column but is none stays as text after the column before it, unless the table
 * is strict; a % that nothing or another one follows is dropped.  -ENOMEM. */
int fmt_parse_short(struct fmt *f, const struct fmt_table *table, const char *spec, fmt_bad_fn *bad,
                    void *ctx);
/* The long form: name[:[.]size[suffix]],... or name:suffix, which makes the column as long as its
 * value; names in any case, empty ones are left out.  -ENOMEM. */
int fmt_parse_long(struct fmt *f, const struct fmt_table *table, const char *spec, fmt_bad_fn *bad,
                   void *ctx);
void fmt_done(struct fmt *f);

const struct fmt_field *fmt_by_letter(const struct fmt_table *table, char letter);
const struct fmt_field *fmt_by_name(const struct fmt_table *table, const char *name);

/* Append a line with its newline, which is empty for a format without columns and prefix. */
void fmt_header(const struct fmt *f, struct strbuf *out);
void fmt_row(const struct fmt *f, const void *row, struct strbuf *out);
/* Widen the '#' columns for this row. */
void fmt_fit(struct fmt *f, const void *row, struct strbuf *scratch);

/* Cut or pad what sb holds from `start` on to width.  width 0 = leave. */
void fmt_justify(struct strbuf *sb, size_t start, unsigned width, bool right);

/* Add the record fields that the columns need.  Names not in desc are ours to fix: asserted. */
void fmt_needs(const struct fmt *f, const ProtobufCMessageDescriptor *desc,
               struct pb_fieldset *set);

/* Sort keys: "P,t,-p", each a letter with + or - before it. */
#define FMT_SORT_MAX 16u
struct fmt_sort {
    struct {
        const struct fmt_field *field;
        bool descending;
    } keys[FMT_SORT_MAX];
    size_t n;
};
/* -EINVAL: *ret_bad is the letter that is no sort key; ret_bad NULL: such letters are passed
 * over. */
int fmt_sort_parse(struct fmt_sort *s, const struct fmt_table *table, const char *spec,
                   char *ret_bad);
void fmt_sort_needs(const struct fmt_sort *s, const ProtobufCMessageDescriptor *desc,
                    struct pb_fieldset *set);

/* Rendered lines waiting for their turn: text and keys only, the records are gone. */
struct fmt_lines;
int fmt_lines_new(const struct fmt_sort *sort, struct fmt_lines **ret_lines);
struct fmt_lines *fmt_lines_free(struct fmt_lines *l); /* always NULL */
/* Add the line [start, out->len) of out, which is cut off again.  tie orders equal keys.
 * -ENOMEM. */
int fmt_lines_add(struct fmt_lines *l, struct strbuf *out, size_t start, const void *row,
                  uint64_t tie);
/* Sort and append all lines to out.  -ENOMEM. */
int fmt_lines_flush(struct fmt_lines *l, struct strbuf *out);
/* Sort and write all lines to f, without a copy of them.  -EIO, -ENOMEM. */
int fmt_lines_write(struct fmt_lines *l, FILE *f);
