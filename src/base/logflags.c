/* logflags.c - DebugFlags: lines about one subject; see logflags.h */
#include "base/logflags.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static const char *const words[] = {
#define LOG_FLAG(name, word) [LOG_SUBJECT_##name] = (word),
#include "base/logflags.def"
#undef LOG_FLAG
};

_Static_assert(ARRAY_SIZE(words) == LOG_SUBJECTS && LOG_SUBJECTS <= 64, "a bit for each subject");

/* The bit of the word of this length; 0: no subject. */
static uint64_t bit_of(const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strncasecmp(words[i], word, len) == 0 && words[i][len] == '\0')
            return UINT64_C(1) << i;
    return 0;
}

void logflags_set(const char *list)
{
    uint64_t on = 0;

    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        on |= bit_of(list, len);
    }
    log_set_subjects(on, UINT64_MAX);
}

void logflags_change(const char *word, bool on)
{
    uint64_t bit = bit_of(word, strlen(word));

    log_set_subjects(on ? bit : 0, bit);
}

void logflags_list(char *buf, size_t size)
{
    size_t len = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!log_has_flag((enum log_subject)i) || len + strlen(words[i]) + 2 > size)
            continue;
        len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? "," : "", words[i]);
    }
}

const char *logflags_word(enum log_subject subject)
{
    return words[subject];
}
