/* ids.c - parsing of job and step names; see ids.h.  Pure functions. */
#include "cli/base/ids.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sluid.h"

static const struct {
    const char *name;
    uint32_t id;
} step_names[] = {
    { "batch", STEP_ID_BATCH },
    { "extern", STEP_ID_EXTERN },
    { "interactive", STEP_ID_INTERACTIVE },
    { "TBD", STEP_ID_PENDING },
};

void ids_done(struct ids *ids)
{
    free(ids->task_set);
    *ids = (struct ids){ 0 };
}

/* Digits at *p to *ret; moves *p past them.  False: none, or too large. */
static bool read_number(const char **p, uint32_t *ret)
{
    uint64_t value = 0;
    const char *s = *p;

    if (!isdigit((unsigned char)*s))
        return false;
    for (; isdigit((unsigned char)*s); s++) {
        value = value * 10 + (uint64_t)(*s - '0');
        if (value > UINT32_MAX)
            return false;
    }
    *p = s;
    *ret = (uint32_t)value;
    return true;
}

/* One element of a set: "7", "1-3", "1-9:2".  False on bad syntax. */
static bool read_element(const char **p, uint32_t *first, uint32_t *last, uint32_t *step)
{
    if (!read_number(p, first))
        return false;
    *last = *first;
    *step = 1;
    if (**p != '-')
        return true;
    ++*p;
    if (!read_number(p, last) || *last < *first)
        return false;
    if (**p != ':')
        return true;
    ++*p;
    return read_number(p, step) && *step > 0;
}

bool ids_check_set(const char *set)
{
    uint32_t first, last, step;

    if (strlen(set) >= ARRAY_SET_MAX)
        return false;
    for (;;) {
        if (!read_element(&set, &first, &last, &step))
            return false;
        if (*set == '\0')
            return true;
        if (*set++ != ',')
            return false;
    }
}

bool ids_set_has(const char *set, uint32_t task)
{
    uint32_t first, last, step;

    while (read_element(&set, &first, &last, &step)) {
        if (task >= first && task <= last && (task - first) % step == 0)
            return true;
        if (*set++ != ',')
            break;
    }
    return false;
}

/* "_4", "_[1-3]", "_*" after the job number. */
static int parse_array(const char **p, struct ids *ids)
{
    const char *end;

    ++*p;
    if (**p == '*') {
        ++*p;
        ids->array = IDS_ALL_TASKS;
        return 0;
    }
    if (**p != '[') {
        ids->array = IDS_ONE_TASK;
        return read_number(p, &ids->task_id) ? 0 : -EINVAL;
    }
    end = strchr(*p, ']');
    if (!end)
        return -EINVAL;
    ids->array = IDS_TASK_SET;
    ids->task_set = strndup(*p + 1, (size_t)(end - *p - 1));
    if (!ids->task_set)
        return -ENOMEM;
    *p = end + 1;
    return ids_check_set(ids->task_set) ? 0 : -EINVAL;
}

static int parse_parts(const char *p, struct ids *ids)
{
    if (!read_number(&p, &ids->job_id) || ids->job_id == 0)
        return -EINVAL;
    if (*p == '_') {
        int r = parse_array(&p, ids);

        if (r < 0)
            return r;
    } else if (*p == '+') {
        p++;
        ids->has_het = true;
        if (!read_number(&p, &ids->het_offset))
            return -EINVAL;
    }
    if (*p == '.') {
        ids->has_step = true;
        return step_parse(p + 1, &ids->step_id);
    }
    return *p == '\0' ? 0 : -EINVAL;
}

/* A run, or a step of it.  -ENOENT: the text begins with no SLUID. */
static int parse_run(const char *text, struct ids *ids)
{
    size_t len = strcspn(text, ".");
    char run[SLUID_TEXT_SIZE];

    if (len >= sizeof(run))
        return -ENOENT;
    memcpy(run, text, len);
    run[len] = '\0';
    if (!sluid_parse(run))
        return -ENOENT;
    (void)sluid_text(sluid_parse(run), ids->sluid);
    ids->has_step = text[len] == '.';
    return ids->has_step ? step_parse(text + len + 1, &ids->step_id) : 0;
}

int ids_parse(const char *text, struct ids *ret_ids, struct err *err)
{
    struct ids ids = { 0 };
    int r = parse_run(text, &ids);

    if (r == -ENOENT)
        r = parse_parts(text, &ids);
    if (r < 0) {
        ids_done(&ids);
        return r == -ENOMEM ? r : err_set(err, r, "Invalid job id: %.200s", text);
    }
    *ret_ids = ids;
    return 0;
}

const char *ids_mistake(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;

    if (!*text)
        return "JobID must not be an empty string";
    if (*text == '-' && isdigit((unsigned char)text[1]))
        return "JobID can not be a negative number";
    if (strspn(text, "0") == digits)
        return "JobID can not be zero";
    if (*rest == '_' && !rest[1])
        return "Job Array ID must not be an empty string";
    if (*rest == '+' && !rest[1])
        return "HetJob component must not be an empty string";
    if (*rest == '.' && !rest[1])
        return "StepID must not be an empty string";
    if (*rest == '.')
        return "StepID includes unexpected non-numeric characters";
    return "JobID includes unexpected non-numeric characters";
}

const char *step_name(uint32_t step_id, char *buf, unsigned size)
{
    for (size_t i = 0; i < ARRAY_SIZE(step_names); i++) {
        if (step_names[i].id == step_id)
            return step_names[i].name;
    }
    (void)snprintf(buf, size, "%u", step_id);
    return buf;
}

int step_parse(const char *text, uint32_t *ret_step_id)
{
    const char *p = text;
    uint32_t id;

    for (size_t i = 0; i < ARRAY_SIZE(step_names); i++) {
        if (strcmp(step_names[i].name, text) == 0) {
            *ret_step_id = step_names[i].id;
            return 0;
        }
    }
    if (!read_number(&p, &id) || *p != '\0' || id >= STEP_ID_MAX_NORMAL)
        return -EINVAL;
    *ret_step_id = id;
    return 0;
}
