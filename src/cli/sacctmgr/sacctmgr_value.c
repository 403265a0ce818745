/* sacctmgr_value.c - pieces of values: words of lists, numbers, and what is said of a bad one */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr_keys.h"

bool smgr_is(const char *word, const char *name, size_t min)
{
    size_t len = strlen(word);

    return len >= min && len <= strlen(name) && strncasecmp(word, name, len) == 0;
}

void smgr_add_string(char ***list, size_t *n, const char *text, size_t len)
{
    char *copy = strndup(text, len);

    if (!copy)
        check_mem_or_die(-ENOMEM);
    *list = xrealloc_or_die(*list, *n + 1, sizeof(**list));
    (*list)[(*n)++] = copy;
}

void smgr_lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text - 'A' + 'a');
}

/* Names of a comma list, once each. */
void smgr_add_words(char ***list, size_t *n, const char *text, bool in_lower)
{
    while (*text) {
        size_t len = strcspn(text, ",");
        bool have = false;

        while (len && (text[len - 1] == ' '))
            len--;
        if (len) {
            smgr_add_string(list, n, text, len);
            if (in_lower)
                smgr_lower((*list)[*n - 1]);
            for (size_t i = 0; i + 1 < *n; i++)
                have |= strcmp((*list)[i], (*list)[*n - 1]) == 0;
            if (have)
                free((*list)[--*n]);
        }
        text += strcspn(text, ",");
        text += strspn(text, ", ");
    }
}

const ProtobufCFieldDescriptor *smgr_field_of(const ProtobufCMessageDescriptor *d, const char *name)
{
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(d, name);

    if (!f) /* a row of the table above is wrong: ours to fix */
        abort();
    return f;
}

void smgr_bad(struct smgr_line *l, const char *key, const char *value, const char *why)
{
    smgr_fail(l->s, " Bad %s value: %s%s%s\n", key, value, why ? ": " : "", why ? why : "");
    l->failed = true;
}

uint32_t smgr_number(struct smgr_line *l, const char *key, const char *value)
{
    uint64_t n;

    if (strcmp(value, "-1") == 0 || strcasecmp(value, "unlimited") == 0 ||
        strcasecmp(value, "infinite") == 0)
        return CLEAR;
    if (parse_u64(value, 0, UINT32_MAX - 2, &n) < 0) {
        smgr_bad(l, key, value, NULL);
        return 0;
    }
    return (uint32_t)n;
}

double smgr_real(struct smgr_line *l, const char *key, const char *value)
{
    char *end;
    double d = strtod(value, &end);

    if (!*value || *end || d != d || (d < 0 && d != -1)) {
        smgr_bad(l, key, value, NULL);
        return 0;
    }
    return d;
}
