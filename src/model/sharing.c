/* sharing.c - fields that are kept once for all jobs; see sharing.h */
#include "model/sharing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "fieldlists.h"

/* Those with the word `common` in proto/fields.def. */
static const struct {
    uint32_t number;
    size_t at;
} fields[] = {
#define X(member, number_) { number_, offsetof(Pst__JobRecord, member) },
    JOB_COMMON_TEXTS(X)
#undef X
};
static const struct {
    uint32_t number;
    size_t at, has;
} digests[] = {
#define X(member, number_)                                                                         \
    { number_, offsetof(Pst__JobRecord, member), offsetof(Pst__JobRecord, has_##member) },
    JOB_COMMON_BYTES(X)
#undef X
};
#define DIGESTS ARRAY_SIZE(fields) /* the bits behind those of texts */
#define ALL_FIELDS UINT64_MAX
_Static_assert(DIGESTS + ARRAY_SIZE(digests) <= COMMON_FIELDS_MAX, "a bit each");

static char **text_at(Pst__JobRecord *r, size_t i)
{
    return (char **)((char *)r + fields[i].at);
}

static ProtobufCBinaryData *digest_at(Pst__JobRecord *r, size_t i)
{
    return (ProtobufCBinaryData *)(void *)((char *)r + digests[i].at);
}

static protobuf_c_boolean *has_digest(Pst__JobRecord *r, size_t i)
{
    return (protobuf_c_boolean *)(void *)((char *)r + digests[i].has);
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
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++) {
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
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++) {
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
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++) {
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
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++) {
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

int model_adopt(struct cluster *c, Pst__JobRecord *r)
{
    int result = 0;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        char **at = text_at(r, i);

        if (!*at)
            continue;
        *at = texts_keep(&c->texts, *at, strlen(*at));
        result = *at ? result : -ENOMEM;
    }
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++) {
        ProtobufCBinaryData *d = digest_at(r, i);

        if (!*has_digest(r, i) || !d->len)
            continue;
        d->data = (uint8_t *)texts_keep(&c->texts, d->data, d->len);
        if (d->data)
            continue;
        *d = (ProtobufCBinaryData){ 0 };
        *has_digest(r, i) = false;
        result = -ENOMEM;
    }
    return result;
}

size_t cluster_common_fields(uint32_t *numbers)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        numbers[n++] = fields[i].number;
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++)
        numbers[n++] = digests[i].number;
    return n;
}

static uint64_t field_bit(uint32_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (fields[i].number == number)
            return UINT64_C(1) << i;
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++)
        if (digests[i].number == number)
            return UINT64_C(1) << (DIGESTS + i);
    return 0;
}

uint64_t model_unshare_patched(struct cluster *c, Pst__JobRecord *r, const Pst__JobPatch *p)
{
    uint64_t which = 0;

    for (size_t i = 0; p->set && i < ARRAY_SIZE(fields); i++)
        if (*text_at(p->set, i))
            which |= UINT64_C(1) << i;
    for (size_t i = 0; p->set && i < ARRAY_SIZE(digests); i++)
        if (*has_digest(p->set, i))
            which |= UINT64_C(1) << (DIGESTS + i);
    for (size_t i = 0; i < p->n_clear; i++)
        which |= field_bit(p->clear[i]);
    drop_fields(c, r, which);
    return which;
}
