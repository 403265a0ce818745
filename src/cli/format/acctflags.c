/* acctflags.c - flags of a job in accounting; see acctflags.h */
#include "cli/format/acctflags.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define FLAG(name) (1u << (name))

enum { SCHED_SUBMIT, SCHED_MAIN, SCHED_BACKFILL, START_RECEIVED };

static const struct {
    const char *word, *json;
} flags[] = {
    [SCHED_SUBMIT] = { "SchedSubmit", "STARTED_ON_SUBMIT" },
    [SCHED_MAIN] = { "SchedMain", "STARTED_ON_SCHEDULE" },
    [SCHED_BACKFILL] = { "SchedBackfill", "STARTED_ON_BACKFILL" },
    [START_RECEIVED] = { "StartReceived", "START_RECEIVED" },
};

bool acctflags_parse(const char *list, uint32_t *ret_mask, const char **ret_bad, int *ret_len)
{
    uint32_t mask = 0;

    for (const char *p = list; *p;) {
        size_t len = strcspn(p, ","), i = 0;

        while (i < ARRAY_SIZE(flags) &&
               (strlen(flags[i].word) != len || strncasecmp(flags[i].word, p, len) != 0))
            i++;
        if (len && i == ARRAY_SIZE(flags)) {
            *ret_bad = p;
            *ret_len = (int)len;
            return false;
        }
        if (len)
            mask |= 1u << i;
        p += len + (p[len] == ',');
    }
    *ret_mask = mask;
    return true;
}

uint32_t acctflags_of(const Pst__JobRecord *j)
{
    uint32_t mask = FLAG(START_RECEIVED); /* a record begins with it, before the job has nodes */

    if (j->started_on == PST__JOB_STARTED_ON__STARTED_ON_SUBMIT)
        mask |= FLAG(SCHED_SUBMIT);
    if (j->started_on == PST__JOB_STARTED_ON__STARTED_ON_SCHEDULE)
        mask |= FLAG(SCHED_MAIN);
    if (j->started_on == PST__JOB_STARTED_ON__STARTED_ON_BACKFILL)
        mask |= FLAG(SCHED_BACKFILL);
    return mask;
}

void acctflags_put(struct strbuf *sb, const Pst__JobRecord *j)
{
    uint32_t mask = acctflags_of(j);
    const char *between = "";

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (mask & 1u << i) {
            strbuf_addf(sb, "%s%s", between, flags[i].word);
            between = ",";
        }
}

void acctflags_json(struct json *js, const Pst__JobRecord *j)
{
    uint32_t mask = acctflags_of(j);

    json_list(js, "flags");
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (mask & 1u << i)
            json_str(js, NULL, flags[i].json);
    json_list_end(js);
}
