/* restore.c - penstock restore; see restore.h */
#include "penstock/past/restore.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/readfile.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "penstock/past/filecopy.h"
#include "penstock/past/manifest.h"
#include "penstock/penstock.h"

#define PATH_BYTES (INSTANCE_PATH_MAX + 256)

struct restore {
    const char *from, *state, *key_path;
    uid_t owner;
    char dir[PATH_BYTES]; /* being made, beside `state`; "": none */
    struct manifest manifest;
    struct err err;
};

static int read_manifest(struct restore *r)
{
    _cleanup_free_ char *text = NULL;
    char path[PATH_BYTES];
    size_t len = 0;
    int e;

    (void)snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, r->from);
    e = readfile(path, MANIFEST_BYTES_MAX, &text, &len);
    if (e < 0)
        return err_set(&r->err, e, "%s: %s: the folder of a backup is meant", path,
                       strerrordesc_np(-e));
    e = manifest_parse(text, len, &r->manifest, &r->err);
    if (e < 0)
        err_prefix(&r->err, "%s", r->from);
    return e;
}

/* Copy one file, and compare. */
static int copy_file(struct restore *r, const struct manifest_file *f, const char *to)
{
    char from[2 * PATH_BYTES];
    struct digest digest;
    uint64_t size;
    int e;

    (void)snprintf(from, sizeof(from), "%s/%s", r->from, f->path);
    e = filecopy(from, to, UINT64_MAX, f->mode, &size, &digest, &r->err);
    if (e == 0 && (size != f->size || !digest_equal(&digest, &f->digest)))
        e = err_set(&r->err, -EBADMSG, "%s is not what was backed up: its checksum differs", from);
    if (e == 0 && geteuid() == 0 && chown(to, r->owner, (gid_t)-1) < 0)
        e = err_set(&r->err, -errno, "%s: %s", to, strerror(errno));
    return e;
}

static int copy_state(struct restore *r)
{
    char to[2 * PATH_BYTES];
    int e = 0;

    for (size_t i = 0; e == 0 && i < r->manifest.n; i++) {
        const struct manifest_file *f = &r->manifest.files[i];

        if (strncmp(f->path, "state/", 6) != 0)
            continue;
        (void)snprintf(to, sizeof(to), "%s/%s", r->dir, f->path + 6);
        e = copy_file(r, f, to);
    }
    return e;
}

static int make_folders(struct restore *r)
{
    char journal[2 * PATH_BYTES];
    int n = snprintf(r->dir, sizeof(r->dir), "%s.XXXXXX", r->state);

    if (n < 0 || (size_t)n >= sizeof(r->dir) || !mkdtemp(r->dir)) {
        r->dir[0] = '\0';
        return err_set(&r->err, -errno, "%s cannot be made: %s", r->state, strerror(errno));
    }
    (void)snprintf(journal, sizeof(journal), "%s/journal", r->dir);
    if (mkdir(journal, 0700) < 0 || (geteuid() == 0 && (chown(r->dir, r->owner, (gid_t)-1) < 0 ||
                                                        chown(journal, r->owner, (gid_t)-1) < 0)))
        return err_set(&r->err, -errno, "%s: %s", journal, strerror(errno));
    return 0;
}

/* The cluster's key, unless there is one. */
static int place_key(struct restore *r)
{
    for (size_t i = 0; i < r->manifest.n; i++) {
        const struct manifest_file *f = &r->manifest.files[i];
        int e;

        if (strcmp(f->path, "keys/slurm.key") != 0)
            continue;
        if (!r->key_path || access(r->key_path, F_OK) == 0) {
            say("the cluster's key is left in %s/%s%s%s", r->from, f->path,
                r->key_path ? ": there is one in " : "", r->key_path ? r->key_path : "");
            return 0;
        }
        e = copy_file(r, f, r->key_path);
        if (e < 0)
            (void)unlink(r->key_path); /* it was ours, and is not sound */
        return e;
    }
    return 0;
}

static int put_in_place(struct restore *r)
{
    char journal[2 * PATH_BYTES];
    int e;

    (void)snprintf(journal, sizeof(journal), "%s/journal", r->dir);
    e = filecopy_sync_folder(journal, &r->err);
    if (e == 0)
        e = filecopy_sync_folder(r->dir, &r->err);
    if (e < 0)
        return e;
    if (rename(r->dir, r->state) < 0) /* over an empty folder, or to a new name */
        return err_set(&r->err, -errno, "%s: %s: it must be empty, or not be there", r->state,
                       strerror(errno));
    r->dir[0] = '\0';
    return 0;
}

/* An early word, before much is copied; the rename decides. */
static int check_empty(struct restore *r)
{
    if (rmdir(r->state) < 0 && errno != ENOENT)
        return err_set(&r->err, -errno, "%s: %s: it must be empty, or not be there", r->state,
                       strerror(errno));
    return 0;
}

int restore_make(const char *from, const char *state, const char *key_path, unsigned owner)
{
    struct restore r = { .from = from, .state = state, .key_path = key_path, .owner = owner };
    char when[64];
    int e = read_manifest(&r);

    if (e == 0)
        e = check_empty(&r);
    if (e == 0)
        e = make_folders(&r);
    if (e == 0)
        e = copy_state(&r);
    if (e == 0)
        e = place_key(&r);
    if (e == 0)
        e = put_in_place(&r);
    if (e < 0) {
        (void)say_error("%s", r.err.text[0] ? r.err.text : strerrordesc_np(-e));
        if (r.dir[0])
            filecopy_remove(r.dir);
    } else {
        time_fmt_stamp(r.manifest.time_us, "-", r.manifest.time_us, when, sizeof(when));
        say("%s: cluster %s as of %s, record %" PRIu64, state, r.manifest.cluster, when,
            r.manifest.record);
    }
    manifest_done(&r.manifest);
    return e < 0 ? STATUS_FAILED : STATUS_OK;
}

int cmd_restore(int argc, char **argv)
{
    static const struct option longs[] = { { "state", required_argument, NULL, 's' },
                                           { NULL, 0, NULL, 0 } };
    const char *state = NULL, *path = conf_default_path();
    struct err err = { .text = "" };
    struct conf *conf = NULL;
    int c, r;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c != 's')
            return bad_option();
        state = optarg;
    }
    if (argc - optind != 1)
        return usage_error("restore needs the folder of a backup");
    if (conf_load(path, CONF_CLIENT, &conf, NULL, &err) < 0)
        return say_error("%s", err.text);
    if (!state)
        state = conf_str(conf, CONF_STATE_SAVE_LOCATION);
    r = state ? restore_make(argv[optind], state, conf_key_file(conf), conf_slurm_uid(conf))
              : say_error("%s: it has no StateSaveLocation: name one with --state", path);
    conf_free(conf);
    return r;
}
