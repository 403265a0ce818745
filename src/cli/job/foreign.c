/* foreign.c - #PBS and #BSUB lines; see foreign.h.
 *
 * A table says which option a letter means; letters that need more have a function.  The lists of
 * letters are those that the two systems know: another letter is a mistake, as it is there. */
#include "cli/job/foreign.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/words.h"
#include "cli/base/cli.h"

#define LINE_MAX_BYTES 4096u
#define LINE_MAX_WORDS 128u

static const char *const letters[] = {
    [FOREIGN_PBS] = "+a:A:c:C:e:hIj:J:k:l:m:M:N:o:p:q:r:S:t:u:v:VW:z",
    [FOREIGN_BSUB] = "+c:e:J:m:M:n:o:q:W:x",
};

static int take_value(struct jobopts *jo, enum jobopt id, const char *value)
{
    return opts_take(jobopts_command(jo->cmd), id, value, OPT_FROM_SCRIPT, jo);
}

static int take_number(struct jobopts *jo, enum jobopt id, uint64_t n)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
    return take_value(jo, id, text);
}

/* "2:ppn=3" are 2 nodes with 3 tasks each; "n1+n2" are names. */
static int take_nodes(struct jobopts *jo, char *value)
{
    char *ppn = strstr(value, ":ppn=");
    uint64_t nodes, each = 0;
    int status;

    if (ppn && parse_u64(ppn + 5, 1, INT32_MAX, &each) < 0)
        each = 0;
    value[strcspn(value, ":")] = '\0';
    if (parse_u64(value, 1, INT32_MAX, &nodes) < 0) {
        nodes = 1;
        for (char *plus = value; (plus = strchr(plus, '+')); nodes++)
            *plus = ',';
        status = take_value(jo, JO_NODELIST, value);
    } else {
        status = take_number(jo, JO_NODES, nodes);
    }
    return status == 0 && each ? take_number(jo, JO_NTASKS, MIN(nodes * each, INT32_MAX)) : status;
}

/* A size of PBS has a b at its end: 10gb. */
static int take_size(struct jobopts *jo, enum jobopt id, char *value)
{
    size_t len = strlen(value);

    if (len > 1 && strchr("bB", value[len - 1]))
        value[len - 1] = '\0';
    return take_value(jo, id, value);
}

/* One NAME=VALUE of #PBS -l. */
static int take_resource(struct jobopts *jo, char *item)
{
    static const struct {
        const char *name;
        enum jobopt id;
    } plain[] = {
        { "host", JO_NODELIST },
        { "mppdepth", JO_CPUS_PER_TASK },
        { "mppnodes", JO_NODELIST },
        { "mppnppn", JO_NTASKS_PER_NODE },
        { "mppwidth", JO_NTASKS },
        { "ncpus", JO_MINCPUS },
        { "walltime", JO_TIME },
    }, sizes[] = {
        { "file", JO_TMP },
        { "mem", JO_MEM },
        { "mppmem", JO_MEM },
        { "pmem", JO_MEM_PER_CPU },
    };
    char *value = strchr(item, '=');

    if (!value)
        return 0;
    *value++ = '\0';
    if (strcasecmp(item, "nodes") == 0)
        return take_nodes(jo, value);
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        if (strcasecmp(item, plain[i].name) == 0)
            return take_value(jo, plain[i].id, value);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        if (strcasecmp(item, sizes[i].name) == 0)
            return take_size(jo, sizes[i].id, value);
    return 0;
}

static int take_resources(struct jobopts *jo, char *value)
{
    char *item;
    int status = 0;

    while (status == 0 && (item = strsep(&value, ",")))
        status = take_resource(jo, item);
    return status;
}

/* Letters of #PBS -m: a aborted, b begun, e ended, n none. */
static int take_mail(struct jobopts *jo, const char *value)
{
    static const struct {
        char letter;
        const char *event;
    } events[] = { { 'a', "FAIL" }, { 'b', "BEGIN" }, { 'e', "END" }, { 'n', "NONE" } };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        if (strchr(value, events[i].letter))
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", events[i].event);
    return take_value(jo, JO_MAIL_TYPE, strbuf_str(&sb));
}

static int take_pbs(struct jobopts *jo, int letter, char *value)
{
    switch (letter) {
    case 'a':
        return take_value(jo, JO_BEGIN, value);
    case 'A':
        return take_value(jo, JO_ACCOUNT, value);
    case 'e':
        return take_value(jo, JO_ERROR, value);
    case 'h':
        return take_value(jo, JO_HOLD, NULL);
    case 'J':
    case 't':
        return take_value(jo, JO_ARRAY, value);
    case 'l':
        return take_resources(jo, value);
    case 'm':
        return take_mail(jo, value);
    case 'M':
        return take_value(jo, JO_MAIL_USER, value);
    case 'N':
        return take_value(jo, JO_JOB_NAME, value);
    case 'o':
        return take_value(jo, JO_OUTPUT, value);
    case 'q':
        return take_value(jo, JO_PARTITION, value);
    case 'r':
        return take_value(jo, strchr("yY", value[0]) ? JO_REQUEUE : JO_NO_REQUEUE, NULL);
    case 'v':
        return take_value(jo, JO_EXPORT, value);
    case 'W':
        return strncasecmp(value, "depend=", 7) == 0 ? take_value(jo, JO_DEPENDENCY, value + 7) : 0;
    default:
        return 0;
    }
}

static int take_bsub(struct jobopts *jo, int letter, char *value)
{
    switch (letter) {
    case 'c':
        return take_value(jo, JO_CHDIR, value);
    case 'e':
        return take_value(jo, JO_ERROR, value);
    case 'J':
        return take_value(jo, JO_JOB_NAME, value);
    case 'm':
        return take_value(jo, JO_NODELIST, value);
    case 'M':
        return take_value(jo, JO_MEM_PER_CPU, value);
    case 'n':
        return take_value(jo, JO_NTASKS, value);
    case 'o':
        return take_value(jo, JO_OUTPUT, value);
    case 'q':
        return take_value(jo, JO_PARTITION, value);
    case 'W':
        return take_value(jo, JO_TIME, value);
    case 'x':
        return take_value(jo, JO_EXCLUSIVE, NULL);
    default:
        return 0;
    }
}

int foreign_line(enum foreign_kind kind, const char *text, size_t len, struct jobopts *jo)
{
    char buf[LINE_MAX_BYTES + 1], *argv[LINE_MAX_WORDS + 2] = { (char *)"sbatch" };
    int letter, n, status = 0;

    len = words_before_comment(text, len);
    n = len <= LINE_MAX_BYTES ? words_split(text, len, buf, argv + 1, LINE_MAX_WORDS) : -E2BIG;
    if (n < 0) {
        cli_error("%s in a line of options: %.80s",
                  n == -EINVAL ? "A quote is not closed" : "Too many words", text);
        return CLI_EXIT_FAILED;
    }
    argv[n + 1] = NULL;
    optind = 0; /* glibc: start over */
    opterr = 1;
    while (status == 0 && (letter = getopt(n + 1, argv, letters[kind])) != -1) {
        if (letter == '?') {
            cli_error("Unrecognized command line parameter %c", letter);
            return CLI_EXIT_FAILED;
        }
        status = kind == FOREIGN_PBS ? take_pbs(jo, letter, optarg) : take_bsub(jo, letter, optarg);
    }
    return status;
}
