/* out_updatefail.c - what scontrol update says about a bad value; see out_updatefail.h.  Each
 * kind of record has sentences of its own, which programs know. */
#include "cli/query/out_updatefail.h"

#include <errno.h>
#include <string.h>

#include "base/timefmt.h"

#define ERROR "scontrol: error: "

/* Shared is the older name of OverSubscribe, which is told. */
static const char *key_told(const struct row *row)
{
    return strcmp(row->key, "Shared") == 0 ? "OverSubscribe" : row->key;
}

static int fail_job_value(const struct row *row, const char *text, struct err *err)
{
    size_t digits = strspn(text, "0123456789");

    switch (row->value) {
    case V_WHEN: /* and the others are changed */
        if (!*text)
            return err_set(err, -EAGAIN, "%s", "");
        return err_set(err, -EAGAIN, "Invalid time specification (pos=%d): %s",
                       time_when_mistake(text), text);
    case V_NODES_RANGE:
        return err_set(err, -EAGAIN, ERROR "\"%s\" is not a valid node count", text);
    case V_JOB_LIMIT:
    case V_MINUTES:
    case V_DELAY:
        return err_set(err, -EINVAL, ERROR "Invalid %s value", row->key);
    case V_MAIL:
        return err_set(err, -EINVAL, "Invalid MailType: %s", text);
    case V_CPUS_RANGE:
        if (*text && !text[digits])
            return err_set(err, -EINVAL, ERROR "Invalid %s value: %s", row->key, text);
        return err_set(err, -EINVAL,
                       ERROR "Invalid numeric value \"%s\" for %s.\n" ERROR "Invalid %s value: %s",
                       text, row->key, key_told(row), text);
    default:
        return err_set(err, -EINVAL, ERROR "Invalid %s value: %s", key_told(row), text);
    }
}

static int fail_part_value(const struct row *row, const char *word, const char *text,
                           struct err *err)
{
    const char *values = NULL;

    switch (row->value) {
    case V_YES_NO:
    case V_PART_USER:
    case V_PART_TOPO:
        values = "YES and NO";
        break;
    case V_PART_STATE:
        values = "UP, DOWN, DRAIN and INACTIVE";
        break;
    case V_PART_SHARE:
        values = "NO, EXCLUSIVE, YES:#, and FORCE:#";
        break;
    case V_PART_EXCLUSIVE:
        values = "NO, NODE, USER and TOPO";
        break;
    case V_MINUTES:
    case V_CPU_BIND:
        return err_set(err, -EINVAL, ERROR "Invalid input %s", word);
    case V_PREEMPT:
        return err_set(err, -EINVAL, ERROR "Invalid input: %s", word);
    case V_NUMBER:
    case V_NUMBER_INF:
    case V_NUMBER_WORD:
        return err_set(err, -EINVAL, ERROR "Invalid numeric value \"%s\" for %s.", text, row->key);
    default:
        return err_set(err, -EINVAL, ERROR "Invalid %s value: %s", key_told(row), text);
    }
    return err_set(err, -EINVAL, ERROR "Invalid input: %s\n" ERROR "Acceptable %s values are %s",
                   word, key_told(row), values);
}

int update_fail(enum update_kind kind, const struct row *row, const char *word, const char *text,
                struct err *err)
{
    if (kind == UPDATE_JOB)
        return fail_job_value(row, text, err);
    if (kind == UPDATE_PART)
        return fail_part_value(row, word, text, err);
    if (row->value == V_NODE_STATE)
        return err_set(err, -EBADMSG, "Invalid input: %s", word);
    if (row->value == V_CPU_BIND)
        return err_set(err, -EINVAL, ERROR "Invalid input %s", word);
    return err_set(err, -EINVAL, ERROR "Invalid value %s for %s", word, row->key);
}

const char *update_said(const struct err *err)
{
    const char *text = err->text;

    return strncmp(text, ERROR, strlen(ERROR)) == 0 ? text + strlen(ERROR) : text;
}
