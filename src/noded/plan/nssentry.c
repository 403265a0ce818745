/* nssentry.c - see nssentry.h */
#include "noded/plan/nssentry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/people/groups.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "nss/nsstext.h"
#include "stepd/shared/jobuser.h"
#include "stepd/shared/spool.h"

/* A field without what would end it: such a text is left out, and the rest is told. */
static const char *field_text(const char *text)
{
    for (const char *p = text; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127 || *p == ':')
            return "";
    return text ? text : "";
}

static const char *path_text(const char *text)
{
    return text && *text == '/' ? field_text(text) : "";
}

/* By its number where it has no name that could be told. */
static int put_group(struct strbuf *sb, gid_t gid)
{
    _cleanup_free_ char *name = NULL;
    int r = groups_name(gid, &name);

    if (r < 0 && r != -ENOENT)
        return r;
    if (name && nsstext_name(name))
        strbuf_addf(sb, "%s:%u\n", name, gid);
    else
        strbuf_addf(sb, "%u:%u\n", gid, gid);
    return 0;
}

int nssentry_put(struct strbuf *sb, const Pst__JobOnNode *on)
{
    struct job_user u;
    int r = on->job->uid ? jobuser_find(on, &u) : -ENODATA;

    if (r < 0)
        return r;
    if (!u.named || !nsstext_name(u.name) || strcmp(u.name, "root") == 0)
        r = -ENODATA;
    if (r == 0)
        strbuf_addf(sb, "%s%s:%u:%u:%s:%s:%s\n", NSSTEXT_HEAD, u.name, on->job->uid, on->job->gid,
                    field_text(u.gecos), path_text(u.home), path_text(u.shell));
    for (size_t i = 0; r == 0 && i < u.ngids; i++)
        r = put_group(sb, u.gids[i]);
    jobuser_done(&u);
    return r < 0 ? r : sb->failed ? -ENOMEM : sb->len > NSSTEXT_MAX ? -E2BIG : 0;
}

static int make_folder(const struct noded *d, const Pst__JobOnNode *on)
{
    char dir[SPOOL_PATH_MAX], path[SPOOL_PATH_MAX + 8];

    spool_job_dir(d->spool, on->job->job_id, on->run_id, dir, sizeof(dir));
    (void)snprintf(path, sizeof(path), "%s/nss", dir);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -errno;
    return chmod(path, 0755) < 0 ? -errno : 0; /* whatever the umask */
}

void nssentry_plan(const struct noded *d, Pst__StepFile *sf)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const Pst__JobRecord *job = sf->job->job;
    const char *value;
    size_t len;
    int r;

    if (!conf_option(d->conf, CONF_LAUNCH_PARAMETERS, "enable_nss_slurm", &value, &len) ||
        sf->nss_text.len || !job->uid)
        return;
    r = nssentry_put(&sb, sf->job);
    if (r == 0)
        r = make_folder(d, sf->job);
    if (r == 0 && !(sf->nss_text.data = malloc(sb.len)))
        r = -ENOMEM;
    if (r < 0) {
        log_error("no answers for nss_slurm: %s job=%u uid=%u", strerror(-r), job->job_id,
                  job->uid);
        return;
    }
    memcpy(sf->nss_text.data, sb.buf, sb.len);
    sf->nss_text.len = sb.len;
    sf->has_nss_text = true;
}
