/* restfresh.c - tags of answers; see restfresh.h */
#include "rest/restfresh.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "rest/restcall.h"

#define DIGITS 16u

void restfresh_tag(uint64_t version, char ret[RESTFRESH_TAG])
{
    (void)snprintf(ret, RESTFRESH_TAG, "W/\"%016llx\"", (unsigned long long)version); /* fits */
}

/* The number between quotes, 0: it is no tag of ours. */
static uint64_t read_tag(const char *text, size_t len)
{
    uint64_t version = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (len != DIGITS || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
        version = version << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return version;
}

/* The next tag of a list; 0 at its end.  Tags of others are passed over. */
static uint64_t next_tag(const char **p)
{
    while (*p && (*p = strchr(*p, '"'))) {
        const char *text = *p + 1, *end = strchr(text, '"');
        uint64_t version = end ? read_tag(text, (size_t)(end - text)) : 0;

        *p = end ? end + 1 : NULL;
        if (version)
            return version;
    }
    return 0;
}

uint64_t restfresh_first(const char *header)
{
    return next_tag(&header);
}

bool restfresh_names(const char *header, uint64_t version)
{
    for (uint64_t named; (named = next_tag(&header));)
        if (named == version)
            return true;
    return false;
}

uint64_t restfresh_digest(const struct rest_call *call)
{
    uint64_t digest = XXH3_64bits(call->js.out->buf ? call->js.out->buf : "", call->js.out->len);

    return digest ? digest : 1;
}
