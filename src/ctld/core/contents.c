/* contents.c - script and environment of a submission, and their names; see contents.h. */
#include "ctld/core/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctld/core/rlimits.h"
#include "model/array.h"

/* An array's own figures take the place of an outer one's. */
static void add_without_array(struct strbuf *sb, const ProtobufCBinaryData *env)
{
    size_t len;

    for (size_t at = 0; at < env->len; at += len + 1) {
        const char *entry = (const char *)env->data + at;

        len = strnlen(entry, env->len - at);
        if (strncmp(entry, "SLURM_ARRAY_", 12) != 0) {
            strbuf_addn(sb, entry, len);
            strbuf_addc(sb, '\0');
        }
    }
}

static int make_env(struct contents *c, const Pst__SubmitRequest *req, const Pst__JobRecord *job)
{
    int r;

    if (job)
        limits_add(job, &c->env);
    if (!req->array) {
        strbuf_addn(&c->env, req->environment.data, req->environment.len);
        return c->env.failed ? -ENOMEM : digest_of(strbuf_str(&c->env), c->env.len, &c->env_name);
    }
    add_without_array(&c->env, &req->environment);
    r = c->env.failed ? -ENOMEM : digest_begin(&c->run);
    return r < 0 ? r : digest_add(c->run, strbuf_str(&c->env), c->env.len);
}

int contents_make(struct contents *c, const Pst__SubmitRequest *req, const Pst__JobRecord *job)
{
    int r = 0;

    *c = (struct contents){ .has_script = req->has_script && req->script.len };
    if (c->has_script)
        r = digest_of(req->script.data, req->script.len, &c->script);
    if (r == 0)
        r = make_env(c, req, job);
    if (r < 0)
        contents_done(c);
    return r;
}

/* They are the same for every task and are asked for at every start, when the record has only
 * the tasks that are left. */
int contents_array(struct contents *c, const char *tasks, uint32_t count)
{
    size_t from = c->env.len;
    uint32_t first, last, step;
    int r;

    array_bounds(tasks, &first, &last, &step);
    strbuf_addf(&c->env, "SLURM_ARRAY_TASK_COUNT=%u", count);
    strbuf_addc(&c->env, '\0');
    strbuf_addf(&c->env, "SLURM_ARRAY_TASK_MAX=%u", last);
    strbuf_addc(&c->env, '\0');
    strbuf_addf(&c->env, "SLURM_ARRAY_TASK_MIN=%u", first);
    strbuf_addc(&c->env, '\0');
    strbuf_addf(&c->env, "SLURM_ARRAY_TASK_STEP=%u", step);
    strbuf_addc(&c->env, '\0');
    r = c->env.failed ? -ENOMEM : digest_add(c->run, c->env.buf + from, c->env.len - from);
    if (r < 0)
        return r;
    return digest_end(TAKE_PTR(c->run), &c->env_name);
}

void contents_done(struct contents *c)
{
    strbuf_done(&c->env);
    c->run = digest_drop(c->run);
}

/* ---- of requests ----------------------------------------------------------------------------- */

/* Where it stands in the text is no part of it. */
static int digest_entry(const Pst__CrontabJob *entry, struct digest *ret)
{
    Pst__CrontabJob bare = *entry;
    _cleanup_free_ uint8_t *packed = NULL;
    size_t len;

    bare.has_first_line = bare.has_last_line = false;
    len = pst__crontab_job__get_packed_size(&bare);
    packed = malloc(len ? len : 1);
    if (!packed)
        return -ENOMEM;
    (void)pst__crontab_job__pack(&bare, packed);
    return digest_of(packed, len, ret);
}

int contents_make_cron(struct contents *c, const Pst__CrontabJob *entry)
{
    static const Pst__SubmitRequest nothing = PST__SUBMIT_REQUEST__INIT;
    int r = contents_make(c, entry->submit ? entry->submit : &nothing,
                          entry->submit ? entry->submit->job : NULL);

    if (r == 0)
        r = digest_entry(entry, &c->entry);
    if (r < 0)
        contents_done(c);
    return r;
}

static int make_one(struct contents *c, const ProtobufCMessage *request, size_t i)
{
    if (request->descriptor == &pst__crontab_set_request__descriptor)
        return contents_make_cron(c, ((const Pst__CrontabSetRequest *)request)->jobs[i]);
    if (request->descriptor == &pst__fed_copy_request__descriptor) {
        const Pst__SubmitRequest *copy = ((const Pst__FedCopyRequest *)request)->submit;

        return contents_make(c, copy, copy->job);
    }
    return contents_make(c, (const Pst__SubmitRequest *)request,
                         ((const Pst__SubmitRequest *)request)->job);
}

int contents_digest(ProtobufCMessage *request, const uint8_t *bytes, size_t len)
{
    Pst__SubmitRequest *req;
    struct digest d;
    uint8_t *own;
    int r;

    if (!request || request->descriptor != &pst__submit_request__descriptor)
        return 0;
    req = (Pst__SubmitRequest *)request;
    if (!req->idempotency_key || req->has_content_digest)
        return 0;
    r = digest_of(bytes, len, &d);
    if (r < 0)
        return r;
    own = malloc(DIGEST_SIZE);
    if (!own)
        return -ENOMEM;
    memcpy(own, d.bytes, DIGEST_SIZE);
    req->has_content_digest = true;
    req->content_digest = (ProtobufCBinaryData){ DIGEST_SIZE, own };
    return 0;
}

int contents_of_request(const ProtobufCMessage *request, struct contents **ret, size_t *ret_n)
{
    size_t n = request->descriptor == &pst__submit_request__descriptor ? 1
               : request->descriptor == &pst__fed_copy_request__descriptor
                   ? ((const Pst__FedCopyRequest *)request)->submit != NULL
               : request->descriptor == &pst__crontab_set_request__descriptor
                   ? ((const Pst__CrontabSetRequest *)request)->n_jobs
                   : 0;
    struct contents *list;
    int r = 0;

    *ret = NULL;
    *ret_n = 0;
    if (!n)
        return 0;
    list = calloc(n, sizeof(*list));
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++)
        r = make_one(&list[i], request, i);
    if (r < 0) {
        contents_free(list, n);
        return r;
    }
    *ret = list;
    *ret_n = n;
    return 0;
}

void contents_free(struct contents *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        contents_done(&list[i]);
    free(list);
}
