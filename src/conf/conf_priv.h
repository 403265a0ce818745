/* conf_priv.h - what the files of src/conf share: the loaded object and the state of a load
 *
 * Strings in a struct conf live in its source texts or its pool and go with it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "base/err.h"
#include "base/hostlist.h"
#include "conf/conf.h"
#include "conf/conf_keys.h"

#define CONF_MAX_SOURCES 1024u     /* files one configuration may be spread over */
#define CONF_MAX_TOTAL (64u << 20) /* bytes of all of them */
#define CONF_MAX_GRES_FILES 1024u  /* device files of one gres.conf line */
#define CONF_MAX_ROWS 131072u      /* DownNodes lines; gres.conf lines */
#define CONF_MAX_PROBLEMS 1000u    /* problems listed; the rest is only counted */

/* A value as written. */
struct conf_val {
    const char *text;
    uint64_t num;
    const char *file;
    unsigned line;
    bool set;
};

/* One line about one thing, DEFAULT lines merged in.  vals has the table's number of elements. */
struct conf_row {
    const char *file;
    unsigned line;
    struct conf_val *vals;
};
struct conf_rows {
    struct conf_row *items;
    size_t n, cap;
};

struct conf_multi { /* a value of a repeatable key */
    enum conf_key key;
    struct conf_val val;
    const char *addr; /* of name(addr) */
};

struct conf_source {
    char *name, *text;
    size_t len;
    uint64_t hash; /* of the text as it was read; CONF_FULL */
    bool absolute; /* an Include names it by an absolute path */
};

struct conf_pool;

struct conf_nodeset {
    const char *name, *list;            /* list: its configured nodes, folded */
    const char *feature, *nodes_config; /* as written; NULL: not given */
};

struct conf {
    char *path, *dir, *key_file, *munge_socket;
    struct conf_val vals[CONF_KEY_MAX_];
    struct conf_multi *multi;
    size_t nmulti, multi_cap;
    struct conf_source *sources;
    size_t nsources;
    uint64_t hash; /* see conf_says_hash() */
    struct conf_pool *pool;

    struct conf_node *nodes;
    size_t nnodes, nodes_cap;
    uint32_t *node_table; /* open addressing, index + 1, 0 = free */
    size_t node_table_size;
    struct conf_part *parts;
    size_t nparts;
    struct conf_nodeset *nodesets;
    size_t nnodesets;
    struct conf_gres *gres;
    size_t ngres, gres_cap;
    struct conf_cgroup cgroup;
    struct conf_val cgroup_vals[CK_MAX_];
    struct conf_val gather_vals[GAK_MAX_];
    struct conf_rows namespaces, helpers;
    struct conf_val oci_vals[OK_MAX_];
    bool has_oci;              /* there is an oci.conf */
    struct conf_power *powers; /* conf_power.c */
    size_t npowers, powers_cap;

    _Atomic uint64_t slurm_uid; /* 1 << 32 | uid once known */
};

/* Keys of earlier releases whose values wait for the end of slurm.conf; see conf_older.h. */
enum conf_older {
    CONF_OLDER_CONTROL,
    CONF_OLDER_CONTROL_ADDR,
    CONF_OLDER_BACKUP,
    CONF_OLDER_BACKUP_ADDR,
    CONF_OLDER_FAST_SCHEDULE,
    CONF_OLDER_KEEP_ALIVE,
    CONF_OLDER_MAX_,
};

/* The state of one load; it lives until conf_load() returns. */
struct conf_loader {
    struct conf *c;
    enum conf_scope scope;
    struct conf_problems *problems; /* may be NULL */
    struct err *err;                /* gets the first error */
    size_t nproblems, nerrors;
    const struct conf_text *texts; /* in place of files when not NULL */
    size_t ntexts, total;
    const char *reading[CONF_MAX_INCLUDE_DEPTH + 1]; /* the files being read, outermost first */
    unsigned depth;
    bool absolute; /* the Include that is being followed names an absolute path */
    struct conf_val node_default[NK_MAX_], part_default[PK_MAX_];
    struct conf_rows parts, nodesets, downs;
    struct conf_val older[CONF_OLDER_MAX_];
};

/* conf_problem.c: note an error or a warning about file:line.  Never fails: without memory only the
 * count and l->err remain. */
void conf_error(struct conf_loader *l, const char *file, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void conf_warn(struct conf_loader *l, const char *file, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Likewise, of a value that is not taken. */
void conf_wrong(struct conf_loader *l, const char *file, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* conf_pool.c: strings that live as long as the pool.  NULL without memory. */
struct conf_pool *conf_pool_free(struct conf_pool *pool);
char *conf_pool_strndup(struct conf_pool **pool, const char *text, size_t len);
char *conf_pool_strdup(struct conf_pool **pool, const char *text);

/* conf_source.c: read a file, owned by l->c from then on.  *ret is a copy of the entry.
 * Errors: -ENOENT and others of open(2), -EFBIG, -EILSEQ a NUL byte, -E2BIG too many files. */
int conf_source_read(struct conf_loader *l, const char *path, struct conf_source *ret);
const char *conf_source_error(int r); /* a phrase for what conf_source_read() returned */
/* A file that need not be there.  1: read; 0: not there, or a mistake that is told.  -ENOMEM. */
int conf_source_optional(struct conf_loader *l, const char *path, struct conf_source *ret);
/* Call fn for every file that the pattern of an Include names, in order of name.
 * Returns fn's first failure, -ENOENT when a plain name does not exist. */
typedef int conf_include_fn(struct conf_loader *l, const char *path);
int conf_source_include(struct conf_loader *l, const char *pattern, conf_include_fn *fn);

/* conf_row.c */
/* Take one pair into row->vals (room for the table's rows); problems are noted. */
void conf_row_pair(struct conf_loader *l, enum conf_table_id table, struct conf_row *row,
                   const char *key, const char *value);
/* Likewise all pairs left in a line. */
void conf_row_parse(struct conf_loader *l, enum conf_table_id table, struct conf_row *row,
                    char *rest);
/* Likewise a whole file of single keys into vals, and audit them: 1.  0: without a file that can
 * be read they stay as they are.  -ENOMEM. */
int conf_row_file(struct conf_loader *l, const char *path, enum conf_table_id table,
                  struct conf_val *vals);
/* Move an older spelling's value to the key that took its place. */
void conf_row_alias(struct conf_row *row, int old_key, int new_key);
/* Of two keys that exclude each other the one written in this line drops the other of a DEFAULT
 * line. */
void conf_row_exclude(const struct conf_row *row, struct conf_val *defaults, int a, int b);
/* vals[i] = row->vals[i] where set, else defaults[i]. */
void conf_row_merge(struct conf_row *row, enum conf_table_id table,
                    const struct conf_val *defaults);
/* Append a copy of vals to rows.  Errors: -ENOMEM, -E2BIG. */
int conf_rows_add(struct conf_rows *rows, enum conf_table_id table, const struct conf_row *row,
                  size_t max);
void conf_rows_done(struct conf_rows *rows);
/* Text and number of a value, the row's default when it was not written. */
const char *conf_val_text(enum conf_table_id table, int key, const struct conf_val *v);
uint64_t conf_val_num(enum conf_table_id table, int key, const struct conf_val *v);
/* Note unknown words of the LIST values and keys without effect among vals. */
void conf_row_audit(struct conf_loader *l, enum conf_table_id table, const struct conf_val *vals);

/* conf_node.c, conf_part.c, conf_gres.c, conf_cgroup.c: one line each; 0, or -ENOMEM, -E2BIG. */
int conf_node_line(struct conf_loader *l, const struct conf_row *row);
int conf_down_apply(struct conf_loader *l);
uint32_t conf_node_index(const struct conf *c, const char *name); /* UINT32_MAX: no such node */
/* Room in the table of names for n nodes in all.  -ENOMEM. */
int conf_node_reserve(struct conf *c, size_t n);
/* Let conf_node_index() find node `index`; there is room. */
void conf_node_insert(struct conf *c, uint32_t index);
int conf_part_line(struct conf_loader *l, const struct conf_row *row);
int conf_parts_resolve(struct conf_loader *l);
int conf_gres_load(struct conf_loader *l);
int conf_cgroup_load(struct conf_loader *l);
void conf_cgroup_fill(struct conf *c);
int conf_gather_load(struct conf_loader *l);  /* acct_gather.conf */
int conf_helpers_load(struct conf_loader *l); /* helpers.conf, with node_features/helpers */
int conf_oci_load(struct conf_loader *l);     /* oci.conf */
/* conf_power.c: a PowerAction line; the keys that may name one. */
int conf_power_line(struct conf_loader *l, const struct conf_row *row);
void conf_power_check(struct conf_loader *l);
void conf_powers_free(struct conf *c);
int conf_namespace_load(
    struct conf_loader
        *l); /* job_container.conf, when NamespaceType or JobContainerType needs the file */

/* conf_nodeexpr.c: where nodes are listed: host lists, node sets, ALL, feature{}, node{}, -item.
 * *ret_bm is over the configured nodes.  Errors: -EINVAL after noting the problem, -ENOMEM. */
int conf_nodeexpr(struct conf_loader *l, const struct conf_val *at, const char *what,
                  struct bitmap **ret_bm);

/* conf_check.c: mistakes that a single line does not show. */
void conf_check(struct conf_loader *l);

/* conf_get.c: user by name or number, -ENOENT when there is none. */
int conf_user_id(const char *name, uid_t *ret_uid);

/* Is this resource name in GresTypes? */
bool conf_gres_declared(const struct conf *c, const char *name, size_t len);

/* conf_pool.c: make room for one more element of `size` bytes beyond the n in items, a pointer to a
 * vector's pointer.  -ENOMEM. */
int conf_grow(void *items, size_t *cap, size_t n, size_t size);
uint64_t conf_hash(const char *text); /* of a name, for tables in memory */
