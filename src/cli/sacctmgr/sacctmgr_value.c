/* sacctmgr_value.c - pieces of values: words of lists, numbers, and what is said of a bad one */
#include <errno.h>
#include <math.h>
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

/* Lines about options of QOS, jobs and resources go where their answers go. */
static void tell_option(struct smgr_line *l, const char *fmt, const char *word)
{
    bool out = l->entity == SMGR_QOS || l->entity == SMGR_JOB ||
               (l->entity == SMGR_RESOURCE && l->mode == SMGR_MODIFY);

    (void)fflush(stdout);                            /* in the order it was said */
    (void)fprintf(out ? stdout : stderr, fmt, word); /* a failure cannot be told */
    l->s->status = CLI_EXIT_FAILED;
    l->failed = true;
}

void smgr_unknown_option(struct smgr_line *l)
{
    tell_option(l, " Unknown option: %s\n", l->word ? l->word : "");
    if (!l->from_file && (l->entity != SMGR_USER || l->mode != SMGR_ADD))
        tell_option(l, " Use keyword 'where' to modify condition\n%s", "");
}

void smgr_bad(struct smgr_line *l, const char *key, const char *value, const char *why)
{
    smgr_fail(l->s, " Bad %s value: %s%s%s\n", key, value, why ? ": " : "", why ? why : "");
    l->failed = true;
}

/* A QOS is made or changed without the value; all else is refused. */
static void refuse_value(struct smgr_line *l)
{
    if (l->entity == SMGR_QOS || (l->entity == SMGR_RESOURCE && l->mode == SMGR_ADD))
        l->ignored = true;
    else
        smgr_unknown_option(l);
}

void smgr_invalid(struct smgr_line *l, const char *key, const char *value)
{
    (void)fflush(stdout); /* in the order it was said */
    (void)fprintf(stderr, "sacctmgr: error: Invalid value for %s (%s)\n", key, value);
    refuse_value(l);
}

/* Whole numbers of any size: what is negative takes the value away, what is empty is 0, and of
 * large ones the lower 32 bits count. */
bool smgr_number(struct smgr_line *l, const char *key, const char *value, uint32_t *ret)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(value, &end, 10);
    if (*end || errno || (*value && end == value)) {
        smgr_invalid(l, key, value);
        return false;
    }
    *ret = n < 0 ? CLEAR : (uint32_t)n;
    return true;
}

bool smgr_real(struct smgr_line *l, const char *key, const char *value, double *ret)
{
    char *end;
    double d = strtod(value, &end);

    if (!*value || *end || !isfinite(d) || (d < 0 && d != -1)) {
        (void)fflush(stdout); /* in the order it was said */
        (void)fprintf(stderr, "sacctmgr: error: %s value (%s) is not a valid number\n", key, value);
        refuse_value(l);
        return false;
    }
    *ret = d;
    return true;
}
