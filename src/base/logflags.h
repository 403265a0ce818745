/* logflags.h - DebugFlags: lines about one subject, asked for by name
 *
 * A subject is off until somebody asks for it; then its lines go to the daemon log at level info,
 * each with the word of the subject first: `[...] Backfill: ...`.  A subject that is off costs one
 * load of an atomic, and the arguments of its lines are not computed.
 *
 *     log_flag(STEPS, "StepId=%u.%u created", job_id, step_id);
 *
 * Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

enum log_subject {
#define LOG_FLAG(name, word) LOG_SUBJECT_##name,
#include "base/logflags.def"
#undef LOG_FLAG
    LOG_SUBJECTS
};

/* The words in list, with commas, in any case, are on from now on and all others off.  NULL: none.
 * Words that are no subject are passed over: DebugFlags has words without lines. */
void logflags_set(const char *list);
/* One of them.  A word that is no subject changes nothing. */
void logflags_change(const char *word, bool on);
/* The words that are on, with commas between; cut to whole words when there is no room. */
void logflags_list(char *buf, size_t size);
/* "Backfill" */
const char *logflags_word(enum log_subject subject);

static inline bool log_has_flag(enum log_subject subject)
{
    return log_subjects() >> subject & 1;
}

#define log_flag(name, fmt, ...)                                                                   \
    do {                                                                                           \
        if (log_has_flag(LOG_SUBJECT_##name))                                                      \
            log_info("%s: " fmt, logflags_word(LOG_SUBJECT_##name) __VA_OPT__(, ) __VA_ARGS__);    \
    } while (0)
