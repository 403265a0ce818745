/* confbundle.c - a configuration as one message; see confbundle.h */
#include "configless/confbundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"

/* ---- made ------------------------------------------------------------------------------------ */

static Pst__ConfFile *file_of(const struct conf_shared_file *from)
{
    static const Pst__ConfFileKind kinds[] = {
        [CONF_SHARE_ALL] = PST__CONF_FILE_KIND__CONF_FILE_SHARED,
        [CONF_SHARE_NODE] = PST__CONF_FILE_KIND__CONF_FILE_NODE,
        [CONF_SHARE_NODE_SCRIPT] = PST__CONF_FILE_KIND__CONF_FILE_NODE_SCRIPT,
        [CONF_SHARE_TASK_SCRIPT] = PST__CONF_FILE_KIND__CONF_FILE_TASK_SCRIPT,
    };
    Pst__ConfFile *f = malloc(sizeof(*f));

    if (!f)
        return NULL;
    pst__conf_file__init(f);
    f->name = strdup(from->name);
    f->has_kind = f->has_data = true;
    f->kind = kinds[from->share];
    f->data.data = malloc(from->len + 1);
    if (!f->name || !f->data.data) {
        pst__conf_file__free_unpacked(f, NULL);
        return NULL;
    }
    memcpy(f->data.data, from->data, from->len);
    f->data.len = from->len;
    return f;
}

static int fill_bundle(Pst__ConfBundle *b, const struct conf_shared *files, bool node)
{
    struct digest d;
    int r;

    b->files = calloc(files->n + 1, sizeof(Pst__ConfFile *));
    if (!b->files)
        return -ENOMEM;
    for (size_t i = 0; i < files->n; i++) {
        if (!node && files->files[i].share != CONF_SHARE_ALL)
            continue;
        b->files[b->n_files] = file_of(&files->files[i]);
        if (!b->files[b->n_files])
            return -ENOMEM;
        b->n_files++;
    }
    r = confbundle_digest(b, &d);
    if (r < 0)
        return r;
    b->digest.data = malloc(DIGEST_SIZE);
    if (!b->digest.data)
        return -ENOMEM;
    memcpy(b->digest.data, d.bytes, DIGEST_SIZE);
    b->digest.len = DIGEST_SIZE;
    b->has_digest = true;
    return 0;
}

int confbundle_make(const struct conf_shared *files, bool node, int64_t since_us,
                    Pst__ConfBundle **ret)
{
    Pst__ConfBundle *b = malloc(sizeof(*b));
    int r;

    if (!b)
        return -ENOMEM;
    pst__conf_bundle__init(b);
    b->has_since_us = true;
    b->since_us = since_us;
    r = fill_bundle(b, files, node);
    if (r < 0) {
        pst__conf_bundle__free_unpacked(b, NULL);
        return r;
    }
    *ret = b;
    return 0;
}

/* ---- named ----------------------------------------------------------------------------------- */

/* A number in eight bytes, the lowest first: the digest does not depend on the machine. */
static int add_number(struct digest_run *run, uint64_t n)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(n >> (8 * i));
    return digest_add(run, bytes, sizeof(bytes));
}

static int add_file(struct digest_run *run, const Pst__ConfFile *f)
{
    const char *name = f->name ? f->name : "";
    int r = digest_add(run, name, strlen(name) + 1);

    if (r == 0)
        r = add_number(run, (uint64_t)f->kind);
    if (r == 0)
        r = add_number(run, f->data.len);
    return r == 0 && f->data.len ? digest_add(run, f->data.data, f->data.len) : r;
}

int confbundle_digest(const Pst__ConfBundle *b, struct digest *ret)
{
    struct digest_run *run;
    int r = digest_begin(&run);

    if (r < 0)
        return r;
    for (size_t i = 0; i < b->n_files && r == 0; i++)
        r = add_file(run, b->files[i]);
    if (r == 0)
        return digest_end(run, ret);
    (void)digest_drop(run); /* always NULL */
    return r;
}

/* ---- checked --------------------------------------------------------------------------------- */

/* Two names that cannot both be there: the same, or one a folder of the other. */
static bool names_collide(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return (!a[n] && (!b[n] || b[n] == '/')) || (!b[n] && a[n] == '/');
}

static int check_file(const Pst__ConfBundle *b, size_t i, size_t *total, struct err *err)
{
    const Pst__ConfFile *f = b->files[i];

    if (!f->name || !conf_shared_name_ok(f->name))
        return err_set(err, -EINVAL, "file %zu has a name that cannot be written below a folder",
                       i + 1);
    if (i == 0 && strcmp(f->name, "slurm.conf") != 0)
        return err_set(err, -EINVAL, "the first file is %.255s, not slurm.conf", f->name);
    if ((unsigned)f->kind > PST__CONF_FILE_KIND__CONF_FILE_TASK_SCRIPT)
        return err_set(err, -EINVAL, "%.255s is of a kind that is not known", f->name);
    if (f->data.len > CONF_SHARED_TOTAL - *total)
        return err_set(err, -EINVAL, "the files are larger than %u bytes together",
                       CONF_SHARED_TOTAL);
    *total += f->data.len;
    for (size_t k = 0; k < i; k++)
        if (names_collide(b->files[k]->name, f->name))
            return err_set(err, -EINVAL, "%.200s and %.200s cannot both be there",
                           b->files[k]->name, f->name);
    return 0;
}

int confbundle_check(const Pst__ConfBundle *b, struct err *err)
{
    struct digest said, is;
    size_t total = 0;
    int r = 0;

    if (b->n_files == 0)
        return err_set(err, -EINVAL, "there is no file in it");
    if (b->n_files > CONF_SHARED_FILES)
        return err_set(err, -EINVAL, "there are more than %u files in it", CONF_SHARED_FILES);
    for (size_t i = 0; i < b->n_files && r == 0; i++)
        r = check_file(b, i, &total, err);
    if (r < 0)
        return r;
    r = confbundle_digest(b, &is);
    if (r < 0)
        return err_nomem(err);
    if (!digest_read(&said, b->digest.data, b->digest.len) || !digest_equal(&said, &is))
        return err_set(err, -EINVAL, "its digest is not that of its files");
    return 0;
}

int confbundle_load(const Pst__ConfBundle *b, enum conf_scope scope, struct conf **ret_conf,
                    struct err *err)
{
    _cleanup_free_ struct conf_text *texts = calloc(b->n_files + 1, sizeof(*texts));

    if (!texts)
        return err_nomem(err);
    for (size_t i = 0; i < b->n_files; i++)
        texts[i] = (struct conf_text){ .name = b->files[i]->name,
                                       .text = (const char *)b->files[i]->data.data,
                                       .len = b->files[i]->data.len };
    return conf_load_text(texts, b->n_files, scope, ret_conf, NULL, err);
}
