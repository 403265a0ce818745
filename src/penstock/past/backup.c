/* backup.c - penstock backup; see backup.h */
#include "penstock/past/backup.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acct/sql/sql.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "journal/journal.h"
#include "journal/copyparts.h"
#include "penstock/past/conftext.h"
#include "penstock/past/filecopy.h"
#include "penstock/past/manifest.h"
#include "penstock/penstock.h"

#define TRIES 5 /* the journal lets files go while they are copied */
#define DATABASE "accounting.sqlite"
#define PATH_BYTES (INSTANCE_PATH_MAX + 256)

static const char *const subfolders[] = { "state", "state/journal", "keys" };

struct backup {
    const char *state, *to;
    struct conf *conf;
    char dir[PATH_BYTES]; /* being made, beside `to`; "": none */
    struct manifest manifest;
    struct err err;
};

static int copy_one(struct backup *b, const char *from, const char *path, uint64_t bytes,
                    unsigned mode)
{
    struct manifest_file f = { .mode = mode };
    char to[2 * PATH_BYTES];
    int r;

    if (!manifest_path_good(path))
        return err_set(&b->err, -EINVAL, "%s: a file of this name cannot be in a backup", from);
    (void)snprintf(f.path, sizeof(f.path), "%s", path);
    (void)snprintf(to, sizeof(to), "%s/%s", b->dir, path);
    r = filecopy(from, to, bytes, mode, &f.size, &f.digest, &b->err);
    if (r == 0)
        r = manifest_add(&b->manifest, &f);
    return r < 0 && !b->err.text[0] ? err_set(&b->err, r, "%s", strerrordesc_np(-r)) : r;
}

/* ---- accounting ------------------------------------------------------------------------------ */

/* A copy that the database makes of itself, in one read transaction. */
static int copy_database(struct backup *b)
{
    _cleanup_(sql_close) struct sql *db = NULL;
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    struct manifest_file f = { .mode = 0600, .path = "state/" DATABASE };
    char from[PATH_BYTES], to[2 * PATH_BYTES];
    int r;

    (void)snprintf(from, sizeof(from), "%s/" DATABASE, b->state);
    (void)snprintf(to, sizeof(to), "%s/state/" DATABASE, b->dir);
    r = sql_open(from, SQL_READ, &db, &b->err);
    if (r == -ENOENT) {
        b->err.text[0] = '\0';
        return 0; /* slurmdbd keeps it, or nobody */
    }
    if (r == 0)
        r = sql_prepare(db, "VACUUM INTO ?", &stmt);
    if (r == 0) {
        sql_bind_text(stmt, 0, to);
        r = sql_run(stmt);
    }
    if (r < 0)
        return err_set(&b->err, r, "%s cannot be copied: %s", from,
                       db ? sql_error(db) : strerrordesc_np(-r));
    if (chmod(to, 0600) < 0)
        return err_set(&b->err, -errno, "%s: %s", to, strerror(errno));
    r = filecopy_digest(to, &f.size, &f.digest, &b->err);
    return r < 0 ? r : manifest_add(&b->manifest, &f);
}

/* ---- the log --------------------------------------------------------------------------------- */

static int copy_parts(struct backup *b, const struct journal_parts *parts)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < parts->n; i++) {
        char from[2 * PATH_BYTES], path[MANIFEST_PATH_BYTES];

        (void)snprintf(from, sizeof(from), "%s/journal/%s", b->state, parts->items[i].name);
        (void)snprintf(path, sizeof(path), "state/journal/%s", parts->items[i].name);
        r = copy_one(b, from, path, parts->items[i].bytes, 0600);
    }
    b->manifest.record = parts->last;
    return r;
}

/* What was copied in a try that failed is taken back. */
static int forget_parts(struct backup *b, size_t files)
{
    char path[2 * PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/state/journal", b->dir);
    filecopy_remove(path);
    b->manifest.n = files;
    b->err.text[0] = '\0';
    return mkdir(path, 0700) < 0 ? err_set(&b->err, -errno, "%s: %s", path, strerror(errno)) : 0;
}

static int copy_journal(struct backup *b)
{
    size_t files = b->manifest.n;
    int r = -ENOENT;

    for (int i = 0; r == -ENOENT && i < TRIES; i++) {
        _cleanup_val_(journal_parts_done) struct journal_parts parts = { 0 };

        r = forget_parts(b, files);
        if (r == 0)
            r = journal_parts_list(b->state, &parts, &b->err);
        if (r == 0)
            r = copy_parts(b, &parts);
    }
    if (r == 0 && !b->manifest.record)
        r = err_set(&b->err, -ENOENT, "%s: the log has no record yet", b->state);
    return r;
}

static void note_finding(void *ctx, const char *line)
{
    struct backup *b = ctx;

    if (!b->err.text[0])
        (void)err_set(&b->err, -EUCLEAN, "the copy of the log is damaged: %s", line);
}

static int check_journal(struct backup *b)
{
    struct err ignored = b->err;
    char path[2 * PATH_BYTES];
    int r;

    (void)snprintf(path, sizeof(path), "%s/state", b->dir);
    r = journal_verify(path, note_finding, b);
    if (r == 0)
        b->err = ignored; /* it was a summary */
    return r > 0 ? -EUCLEAN : r;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool is_left_out(const char *name)
{
    return name[0] == '.' || strncmp(name, "accounting", 10) == 0 || strcmp(name, "lock") == 0 ||
           strstr(name, ".tmp") || strstr(name, ".log") || strstr(name, ".pid");
}

/* Plain files of StateSaveLocation: the controller's keys, and what sites keep there. */
static int copy_others(struct backup *b)
{
    DIR *d = opendir(b->state);
    struct dirent *e;
    int r = 0;

    if (!d)
        return err_set(&b->err, -errno, "%s: %s", b->state, strerror(errno));
    while (r == 0 && (e = readdir(d))) {
        char from[2 * PATH_BYTES], path[MANIFEST_PATH_BYTES];
        struct stat st;

        (void)snprintf(from, sizeof(from), "%s/%s", b->state, e->d_name);
        (void)snprintf(path, sizeof(path), "state/%.180s", e->d_name);
        if (is_left_out(e->d_name) || lstat(from, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        r = copy_one(b, from, path, UINT64_MAX, st.st_mode & 044 ? 0644 : 0600);
    }
    (void)closedir(d);
    return r;
}

static int copy_key(struct backup *b)
{
    const char *key = conf_key_file(b->conf);

    return key && access(key, F_OK) == 0 ? copy_one(b, key, "keys/slurm.key", UINT64_MAX, 0600) : 0;
}

static int write_manifest(struct backup *b)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    char path[2 * PATH_BYTES];
    int r;

    (void)snprintf(b->manifest.cluster, sizeof(b->manifest.cluster), "%s",
                   conf_str(b->conf, CONF_CLUSTER_NAME));
    b->manifest.time_us = now_us();
    manifest_write(&b->manifest, &text);
    (void)snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, b->dir);
    r = conftext_write(path, &text, &b->err);
    if (r == 0 && chmod(path, 0600) < 0)
        r = err_set(&b->err, -errno, "%s: %s", path, strerror(errno));
    return r;
}

/* The names, too, are to survive. */
static int sync_folders(struct backup *b)
{
    char path[2 * PATH_BYTES];
    int r = filecopy_sync_folder(b->dir, &b->err);

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(subfolders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", b->dir, subfolders[i]);
        r = filecopy_sync_folder(path, &b->err);
    }
    return r;
}

static int make_folders(struct backup *b)
{
    char path[2 * PATH_BYTES];
    int n = snprintf(b->dir, sizeof(b->dir), "%s.XXXXXX", b->to);

    if (n < 0 || (size_t)n >= sizeof(b->dir)) {
        b->dir[0] = '\0';
        return err_set(&b->err, -ENAMETOOLONG, "%s: the path is too long", b->to);
    }
    if (rmdir(b->to) < 0 && errno != ENOENT) /* an empty one makes room */
        return b->dir[0] = '\0',
               err_set(&b->err, -errno, "%s: %s: name a new folder, or an empty one", b->to,
                       strerror(errno));
    if (!mkdtemp(b->dir)) {
        b->dir[0] = '\0';
        return err_set(&b->err, -errno, "%s cannot be made: %s", b->to, strerror(errno));
    }
    for (size_t i = 0; i < ARRAY_SIZE(subfolders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", b->dir, subfolders[i]);
        if (mkdir(path, 0700) < 0)
            return err_set(&b->err, -errno, "%s: %s", path, strerror(errno));
    }
    return 0;
}

static int fill_folder(struct backup *b)
{
    int r = copy_database(b);

    if (r == 0)
        r = copy_journal(b);
    if (r == 0)
        r = check_journal(b);
    if (r == 0)
        r = copy_others(b);
    if (r == 0)
        r = copy_key(b);
    if (r == 0)
        r = write_manifest(b);
    if (r == 0)
        r = sync_folders(b);
    if (r == 0 && rename(b->dir, b->to) < 0)
        r = err_set(&b->err, -errno, "%s: %s", b->to, strerror(errno));
    return r;
}

int backup_make(const char *conf_path, const char *state, const char *to)
{
    struct backup b = { .state = state, .to = to };
    int r = conf_load(conf_path, CONF_CLIENT, &b.conf, NULL, &b.err);

    if (r == 0)
        r = make_folders(&b);
    if (r == 0)
        r = fill_folder(&b);
    if (r < 0) {
        (void)say_error("%s", b.err.text[0] ? b.err.text : strerrordesc_np(-r));
        if (b.dir[0])
            filecopy_remove(b.dir);
    } else {
        say("%s: %zu files, the log up to record %" PRIu64, to, b.manifest.n, b.manifest.record);
    }
    manifest_done(&b.manifest);
    conf_free(b.conf);
    return r < 0 ? STATUS_FAILED : STATUS_OK;
}

int cmd_backup(int argc, char **argv)
{
    static const struct option longs[] = { { "state", required_argument, NULL, 's' },
                                           { NULL, 0, NULL, 0 } };
    char state[INSTANCE_PATH_MAX];
    const char *from = NULL;
    int c, r;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c != 's')
            return bad_option();
        from = optarg;
    }
    if (argc - optind != 1 || !*argv[optind])
        return usage_error("backup needs the name of a new folder");
    for (size_t n = strlen(argv[optind]); n > 1 && argv[optind][n - 1] == '/';)
        argv[optind][--n] = '\0';
    r = from ? journal_find(from, state) : journal_of_site(state);
    return r == STATUS_OK ? backup_make(conf_default_path(), state, argv[optind]) : r;
}
