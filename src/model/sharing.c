/* sharing.c - fields that are kept once for all jobs; see sharing.h */
#include "model/sharing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "fields.h"

/* Those that are likely the same for many jobs of a user, or of all.  What differs from job to job
 * costs a little more here than alone: submit_line is the largest of those that may or may not. */
#define TEXT(name, number)                                                                         \
    {                                                                                              \
        number, offsetof(Pst__JobRecord, name)                                                     \
    }
static const struct {
    uint32_t number;
    size_t at;
} fields[] = {
    TEXT(user_name, JOB_F_USER_NAME),
    TEXT(group_name, JOB_F_GROUP_NAME),
    TEXT(name, JOB_F_NAME),
    TEXT(account, JOB_F_ACCOUNT),
    TEXT(qos, JOB_F_QOS),
    TEXT(partition, JOB_F_PARTITION),
    TEXT(wckey, JOB_F_WCKEY),
    TEXT(comment, JOB_F_COMMENT),
    TEXT(reservation, JOB_F_RESERVATION),
    TEXT(alloc_host, JOB_F_ALLOC_HOST),
    TEXT(mail_user, JOB_F_MAIL_USER),
    TEXT(features, JOB_F_FEATURES),
    TEXT(prefer, JOB_F_PREFER),
    TEXT(req_nodes, JOB_F_REQ_NODES),
    TEXT(exc_nodes, JOB_F_EXC_NODES),
    TEXT(tres_per_node, JOB_F_TRES_PER_NODE),
    TEXT(tres_per_job, JOB_F_TRES_PER_JOB),
    TEXT(tres_per_socket, JOB_F_TRES_PER_SOCKET),
    TEXT(tres_per_task, JOB_F_TRES_PER_TASK),
    TEXT(req_gres, JOB_F_REQ_GRES),
    TEXT(licenses, JOB_F_LICENSES),
    TEXT(distribution, JOB_F_DISTRIBUTION),
    TEXT(network, JOB_F_NETWORK),
    TEXT(gres_flags, JOB_F_GRES_FLAGS),
    TEXT(gpu_bind, JOB_F_GPU_BIND),
    TEXT(work_dir, JOB_F_WORK_DIR),
    TEXT(std_in, JOB_F_STD_IN),
    TEXT(std_out, JOB_F_STD_OUT),
    TEXT(std_err, JOB_F_STD_ERR),
    TEXT(open_mode, JOB_F_OPEN_MODE),
    TEXT(export_env, JOB_F_EXPORT_ENV),
    TEXT(command, JOB_F_COMMAND),
    TEXT(submit_line, JOB_F_SUBMIT_LINE),
    TEXT(container, JOB_F_CONTAINER),
    TEXT(req_tres, JOB_F_REQ_TRES),
    TEXT(alloc_tres, JOB_F_ALLOC_TRES),
    TEXT(batch_host, JOB_F_BATCH_HOST),
    TEXT(mcs_label, JOB_F_MCS_LABEL),
    TEXT(qos_req, JOB_F_QOS_REQ),
    TEXT(cluster_features, JOB_F_CLUSTER_FEATURES),
    TEXT(clusters, JOB_F_CLUSTERS),
};
#define DIGESTS ARRAY_SIZE(fields) /* the bits behind: digests of script and environment */
#define ALL_FIELDS UINT64_MAX
_Static_assert(DIGESTS + 2 <= 64, "a bit each");

static char **text_at(Pst__JobRecord *r, size_t i)
{
    return (char **)((char *)r + fields[i].at);
}

static ProtobufCBinaryData *digest_at(Pst__JobRecord *r, size_t i)
{
    return i == 0 ? &r->script_digest : &r->env_digest;
}

static protobuf_c_boolean *has_digest(Pst__JobRecord *r, size_t i)
{
    return i == 0 ? &r->has_script_digest : &r->has_env_digest;
}

static bool is_in(uint64_t which, size_t bit)
{
    return which >> bit & 1;
}

/* In place of an own value of len bytes, or of NULL. */
static char *make_common(struct cluster *c, char *own, size_t len)
{
    char *common = own ? texts_keep(&c->texts, own, len) : NULL;

    free(own);
    return common;
}

int model_share_some(struct cluster *c, Pst__JobRecord *r, uint64_t which)
{
    int result = 0;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        char **at = text_at(r, i);

        if (!*at || !is_in(which, i))
            continue;
        *at = make_common(c, *at, strlen(*at));
        result = *at ? result : -ENOMEM;
    }
    for (size_t i = 0; i < 2; i++) {
        ProtobufCBinaryData *d = digest_at(r, i);

        if (!*has_digest(r, i) || !d->data || !is_in(which, DIGESTS + i))
            continue;
        d->data = (uint8_t *)make_common(c, (char *)d->data, d->len);
        if (d->data)
            continue;
        *has_digest(r, i) = false;
        d->len = 0;
        result = -ENOMEM;
    }
    return result;
}

static void drop_fields(struct cluster *c, Pst__JobRecord *r, uint64_t which)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        char **at = text_at(r, i);

        if (!is_in(which, i))
            continue;
        texts_drop(&c->texts, *at);
        *at = NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        ProtobufCBinaryData *d = digest_at(r, i);

        if (!is_in(which, DIGESTS + i) || !*has_digest(r, i))
            continue;
        texts_drop(&c->texts, (char *)d->data);
        *d = (ProtobufCBinaryData){ 0 };
        *has_digest(r, i) = false;
    }
}

void model_unshare(struct cluster *c, Pst__JobRecord *r)
{
    drop_fields(c, r, ALL_FIELDS);
}

/* The fields of `to`, which are absent, get the values that `from` has. */
static int keep_fields(struct cluster *c, Pst__JobRecord *to, const Pst__JobRecord *from)
{
    Pst__JobRecord *src = (Pst__JobRecord *)from; /* read only */

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const char *text = *text_at(src, i);

        if (text && !(*text_at(to, i) = texts_keep(&c->texts, text, strlen(text))))
            return -ENOMEM;
    }
    for (size_t i = 0; i < 2; i++) {
        const ProtobufCBinaryData *d = digest_at(src, i);

        if (!*has_digest(src, i))
            continue;
        *has_digest(to, i) = true;
        if (!d->len)
            continue;
        digest_at(to, i)->data = (uint8_t *)texts_keep(&c->texts, d->data, d->len);
        if (!digest_at(to, i)->data)
            return -ENOMEM;
        digest_at(to, i)->len = d->len;
    }
    return 0;
}

int model_own(struct cluster *c, const Pst__JobRecord *r, Pst__JobRecord **ret)
{
    Pst__JobRecord rest = *r; /* shallow: the fields that are not kept once */
    ProtobufCMessage *copy;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        *text_at(&rest, i) = NULL;
    for (size_t i = 0; i < 2; i++) {
        *digest_at(&rest, i) = (ProtobufCBinaryData){ 0 };
        *has_digest(&rest, i) = false;
    }
    if (pb_dup(&rest.base, &copy) < 0)
        return -ENOMEM;
    *ret = (Pst__JobRecord *)copy;
    if (keep_fields(c, *ret, r) == 0)
        return 0;
    model_unshare(c, *ret);
    protobuf_c_message_free_unpacked(copy, NULL);
    return -ENOMEM;
}

static uint64_t field_bit(uint32_t number)
{
    if (number == JOB_F_SCRIPT_DIGEST || number == JOB_F_ENV_DIGEST)
        return UINT64_C(1) << (DIGESTS + (number == JOB_F_ENV_DIGEST));
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (fields[i].number == number)
            return UINT64_C(1) << i;
    return 0;
}

uint64_t model_unshare_patched(struct cluster *c, Pst__JobRecord *r, const Pst__JobPatch *p)
{
    uint64_t which = 0;

    for (size_t i = 0; p->set && i < ARRAY_SIZE(fields); i++)
        if (*text_at(p->set, i))
            which |= UINT64_C(1) << i;
    for (size_t i = 0; p->set && i < 2; i++)
        if (*has_digest(p->set, i))
            which |= UINT64_C(1) << (DIGESTS + i);
    for (size_t i = 0; i < p->n_clear; i++)
        which |= field_bit(p->clear[i]);
    drop_fields(c, r, which);
    return which;
}
