/* jobshow.c - the block of `defined options` that -v prints; see jobshow.h.
 *
 * Users compare it with what they meant: sizes, times and words stand here as they were understood,
 * whatever way they were written.  A value that needs no such change is printed as it was given. */
#include "cli/job/jobshow.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/cli.h"
#include "cli/job/jobtext.h"
#include "cli/job/jobvalue.h"
#include "cli/job/submit.h"

/* Hyphens do not count: jobid stands before job-name. */
static int by_name(const void *a, const void *b)
{
    const char *x = (*(const struct opt *const *)a)->name;
    const char *y = (*(const struct opt *const *)b)->name;

    do {
        x += *x == '-';
        y += *y == '-';
    } while (*x == *y && *x && (x++, y++, true));
    return (unsigned char)*x - (unsigned char)*y;
}

static void show_minutes(struct strbuf *sb, const char *value)
{
    uint32_t minutes;
    char buf[64];

    if (time_limit_parse(value, &minutes, NULL) < 0 || minutes == TIME_LIMIT_INFINITE) {
        strbuf_add(sb, "UNLIMITED"); /* negative numbers too */
        return;
    }
    time_fmt_hms((int64_t)minutes * 60, buf, sizeof(buf));
    strbuf_add(sb, buf);
}

/* The largest unit that divides it; no unit for MiB, and "0?" for none of them. */
static void show_size(struct strbuf *sb, const char *value)
{
    static const char units[] = "MGTP?";
    uint64_t mib = 0;
    size_t unit = 0;

    (void)size_mib_parse(value, &mib, NULL); /* was checked */
    while (mib % 1024 == 0 && units[unit] != '?') {
        mib /= 1024;
        unit++;
    }
    strbuf_addf(sb, "%llu", (unsigned long long)mib);
    if (unit)
        strbuf_addc(sb, units[unit]);
}

static void show_moment(struct strbuf *sb, const char *value)
{
    int64_t now = now_us(), us = 0;
    char buf[64];

    (void)time_when_parse(value, now, true, &us, NULL); /* was checked */
    time_fmt_stamp(us, "Unknown", now, buf, sizeof(buf));
    strbuf_add(sb, buf);
}

static void show_nodes(struct strbuf *sb, const struct jobopts *jo)
{
    uint32_t counts[NODE_COUNTS_MAX], min, max;
    int n = strpbrk(jo->value[JO_NODES], ",:")
                ? jobtext_node_counts(jo->value[JO_NODES], counts, NODE_COUNTS_MAX)
                : 0;

    jobopts_nodes(jo, &min, &max);
    if (n > 0) {
        min = counts[0];
        max = counts[n - 1];
    }
    strbuf_addf(sb, max && max != min ? "%u-%u" : "%u", min, max);
}

static void show_switches(struct strbuf *sb, const char *value)
{
    const char *at = strchr(value, '@');
    uint32_t seconds;
    char buf[64];

    strbuf_addn(sb, value, at ? (size_t)(at - value) : strlen(value));
    if (at && time_delay_parse(at + 1, &seconds, NULL) == 0) {
        time_fmt_hms(seconds, buf, sizeof(buf));
        strbuf_addf(sb, "@%s", buf);
    } else if (at) {
        strbuf_add(sb, "@UNLIMITED");
    }
}

/* A path as the job will find it: below the working directory. */
static void show_path(struct strbuf *sb, const struct jobopts *jo, const char *value)
{
    _cleanup_free_ char *dir = *value == '/' ? NULL : submit_work_dir(jo);

    strbuf_addf(sb, "%s%s%s", dir ? dir : "", dir ? "/" : "", value);
}

static void show_profile(struct strbuf *sb, const char *value)
{
    _cleanup_free_ char *text = wordlist_profile(value);

    check_mem_or_die(text ? 0 : -ENOMEM);
    strbuf_add(sb, text);
}

static void show_signal(struct strbuf *sb, const char *value)
{
    struct jobtext_signal sig;
    _cleanup_free_ char *text = NULL;

    strbuf_add(sb, jobtext_signal_parse(value, &sig, &text) == 0 ? text : value);
}

static void show_mail(struct strbuf *sb, const char *value)
{
    uint32_t bits = 0;
    unsigned at = 0;
    size_t start = sb->len;

    (void)jobtext_mail_parse(value, &bits); /* was checked */
    for (const char *word; (word = jobtext_mail_word(bits, &at));)
        strbuf_addf(sb, "%s%s", sb->len > start ? "," : "", word);
    if (sb->len == start)
        strbuf_add(sb, "NONE");
}

/* Words with a capital at their head: high is High. */
static void show_capital(struct strbuf *sb, const char *value)
{
    size_t at = sb->len;

    strbuf_add(sb, value);
    if (sb->len > at && sb->buf[at] >= 'a' && sb->buf[at] <= 'z')
        sb->buf[at] = (char)(sb->buf[at] - 'a' + 'A');
}

static void show_gres(struct strbuf *sb, const char *value)
{
    for (const char *p = value; *p; p += *p == ',') {
        size_t len = strcspn(p, ",");

        strbuf_addf(sb, "%s%s%.*s", p > value ? "," : "",
                    len > 5 && strncmp(p, "gres/", 5) == 0 ? "" : "gres/", (int)len, p);
        p += len;
    }
}

/* A number by its name, as signals of --kill-command are known. */
static void show_signal_name(struct strbuf *sb, const char *value)
{
    uint64_t n;
    const char *name = parse_u64(value, 1, 64, &n) == 0 ? sigabbrev_np((int)n) : NULL;

    strbuf_add(sb, name ? name : value);
}

/* Options of which a single one is shown in a way of its own.  True when this is one. */
static bool show_special(struct strbuf *sb, const struct jobopts *jo, enum jobopt id)
{
    const char *value = jo->value[id];

    switch (id) {
    case JO_VERBOSE:
        strbuf_addf(sb, "%d", jo->verbose);
        return true;
    case JO_OUTPUT:
    case JO_ERROR:
    case JO_INPUT:
        if (jo->cmd == JOBOPTS_SBATCH)
            show_path(sb, jo, jobopts_file(jo, id));
        return jo->cmd == JOBOPTS_SBATCH;
    case JO_REQUEUE:
    case JO_NO_REQUEUE:
        strbuf_add(sb, id == JO_REQUEUE ? "requeue" : "no-requeue");
        return true;
    case JO_EXCLUSIVE:
        strbuf_add(sb, *value ? value : "exclusive");
        return true;
    case JO_CPU_FREQ:
        show_capital(sb, value);
        return true;
    case JO_KILL_COMMAND:
        show_signal_name(sb, *value ? value : "1");
        return true;
    case JO_NO_BELL:
    case JO_BELL:
        strbuf_add(sb, id == JO_BELL ? "bell-always" : "bell-never");
        return true;
    default:
        return false;
    }
}

static void show_value(struct strbuf *sb, const struct jobopts *jo, enum jobopt id)
{
    const char *value = jo->value[id];

    if (show_special(sb, jo, id))
        return;
    switch ((enum jobvalue_kind)jobopts_kind(id)) {
    case KIND_TIME:
        show_minutes(sb, value);
        break;
    case KIND_MEM:
        show_size(sb, value);
        break;
    case KIND_WHEN:
        show_moment(sb, value);
        break;
    case KIND_NODES:
        show_nodes(sb, jo);
        break;
    case KIND_SWITCHES:
        show_switches(sb, value);
        break;
    case KIND_PROFILE:
        show_profile(sb, value);
        break;
    case KIND_WARN:
        show_signal(sb, value);
        break;
    case KIND_MAILTYPE:
        show_mail(sb, value);
        break;
    case KIND_OPENMODE:
        strbuf_addc(sb, strchr("aA", value[0]) ? 'a' : 't');
        break;
    case KIND_GRES:
        show_gres(sb, value);
        break;
    default:
        strbuf_add(sb, *value ? value : "set");
        break;
    }
}

void jobshow_defined(const struct jobopts *jo)
{
    const struct opt_command *cmd = jobopts_command(jo->cmd);
    const struct opt *given[JO_MAX_];
    const char *nodes = jo->in_allocation ? getenv("SLURM_JOB_NODELIST") : NULL;
    size_t n = 0;

    for (size_t i = 0; i < cmd->n; i++) {
        if (jo->from[cmd->rows[i].id] && (cmd->rows[i].applies & jo->cmd) &&
            (cmd->rows[i].id != JO_NODES || !jo->derived_nodes))
            given[n++] = &cmd->rows[i];
    }
    qsort(given, n, sizeof(given[0]), by_name);
    if (jobopts_has(jo, JO_THREADS_PER_CORE) && !jobopts_has(jo, JO_CPU_BIND))
        cli_info("Setting --cpu-bind=threads as a default of --threads-per-core use");
    (void)fprintf(stderr, "%s: defined options\n", cmd->name);
    (void)fprintf(stderr, "%s: -------------------- --------------------\n", cmd->name);
    if (nodes && *nodes)
        (void)fprintf(stderr, "%s: %-20s: %s\n", cmd->name, "(null)", nodes);
    for (size_t i = 0; i < n; i++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

        show_value(&sb, jo, (enum jobopt)given[i]->id);
        (void)fprintf(stderr, "%s: %-20s: %s\n", cmd->name, given[i]->name, strbuf_str(&sb));
    }
    (void)fprintf(stderr, "%s: -------------------- --------------------\n", cmd->name);
    (void)fprintf(stderr, "%s: end of defined options\n", cmd->name);
    if (jo->cmd == JOBOPTS_SRUN && jobopts_has(jo, JO_CPUS_PER_TASK) && !jobopts_has(jo, JO_EXACT))
        cli_info("Implicitly setting --exact, because -c/--cpus-per-task given.");
}
