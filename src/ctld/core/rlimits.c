/* rlimits.c - resource limits kept with the environment; see rlimits.h. */
#include "ctld/core/rlimits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/timefmt.h"
#include "model/tx.h"

static const char prefix[] = "SLURM_RLIMIT_";

void limits_done(Pst__JobRecord *rec)
{
    for (size_t i = 0; i < rec->n_rlimits; i++)
        pst__rlimit__free_unpacked(rec->rlimits[i], NULL);
    free(rec->rlimits);
    rec->rlimits = NULL;
    rec->n_rlimits = 0;
}

void limits_add(const Pst__JobRecord *rec, struct strbuf *env)
{
    for (size_t i = 0; i < rec->n_rlimits; i++) {
        if (!rec->rlimits[i]->name || strchr(rec->rlimits[i]->name, '='))
            continue;
        strbuf_addf(env, "%s%s=%llu", prefix, rec->rlimits[i]->name,
                    (unsigned long long)rec->rlimits[i]->soft);
        strbuf_addn(env, "", 1);
    }
}

/* "NAME=VALUE" of one entry; false when it is none of ours. */
static bool parse_entry(const char *entry, size_t len, Pst__Rlimit **ret)
{
    size_t skip = sizeof(prefix) - 1;
    const char *eq = len > skip ? memchr(entry + skip, '=', len - skip) : NULL;
    uint64_t value;

    if (!eq || strncmp(entry, prefix, skip) != 0 || parse_u64(eq + 1, 0, UINT64_MAX, &value) < 0)
        return false;
    *ret = malloc(sizeof(**ret));
    if (!*ret)
        return false;
    pst__rlimit__init(*ret);
    (*ret)->name = strndup(entry + skip, (size_t)(eq - entry) - skip);
    SET(*ret, soft, value);
    return true;
}

void limits_split(const uint8_t *data, size_t len, Pst__JobRecord *rec,
                  ProtobufCBinaryData *ret_env)
{
    const char *p = (const char *)data, *end = p + len;

    rec->rlimits = NULL;
    rec->n_rlimits = 0;
    while (p < end) {
        const char *stop = memchr(p, '\0', (size_t)(end - p));
        Pst__Rlimit **bigger, *one;

        if (!stop || !parse_entry(p, (size_t)(stop - p), &one))
            break; /* they come first */
        bigger = realloc(rec->rlimits, (rec->n_rlimits + 1) * sizeof(*bigger));
        if (!bigger) {
            pst__rlimit__free_unpacked(one, NULL);
            break;
        }
        rec->rlimits = bigger;
        rec->rlimits[rec->n_rlimits++] = one;
        p = stop + 1;
    }
    *ret_env = (ProtobufCBinaryData){ .len = (size_t)(end - p), .data = (uint8_t *)p };
}
