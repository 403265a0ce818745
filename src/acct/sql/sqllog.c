/* sqllog.c - statements in the log; see sqllog.h.  Pure: base/log.c has what is on. */
#include "acct/sql/sqllog.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/logflags.h"

static const struct subject {
    enum log_subject bit;
    const char *words[3]; /* a statement with one of them is meant */
} subjects[] = {
    { LOG_SUBJECT_DB_QUERY, { "" } }, /* all */
    { LOG_SUBJECT_DB_ARCHIVE, { "DELETE FROM" } },
    { LOG_SUBJECT_DB_JOB, { "jobs", "contents", "suspensions" } },
    { LOG_SUBJECT_DB_STEP, { "steps" } },
    { LOG_SUBJECT_DB_EVENT, { "events", " nodes" } },
    { LOG_SUBJECT_DB_RESERVATION, { "reservations", "usage_resv" } },
    { LOG_SUBJECT_DB_USAGE, { "usage_" } },
    { LOG_SUBJECT_DB_TRES, { "usage_tres", "entities" } },
    { LOG_SUBJECT_DB_ASSOC, { "entities", "txns" } },
    { LOG_SUBJECT_DB_QOS, { "entities" } },
    { LOG_SUBJECT_DB_RESOURCE, { "entities" } },
    { LOG_SUBJECT_DB_WCKEY, { "entities" } },
};

static bool is_meant(const struct subject *s, const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(s->words) && s->words[i]; i++)
        if (strstr(text, s->words[i]))
            return true;
    return false;
}

void sqllog_statement(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
        if (log_has_flag(subjects[i].bit) && is_meant(&subjects[i], text)) {
            log_info("%s: %s", logflags_word(subjects[i].bit), text);
            return; /* once */
        }
}
