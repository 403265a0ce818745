/* gresopts.c - see gresopts.h */
#include "cli/job/gresopts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bind/gpubind.h"
#include "base/cleanup.h"
#include "base/gres/gpucount.h"
#include "base/gres/grestext.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/job/jobtext.h"

#define INVALID_GRES "Invalid generic resource (gres) specification"
#define INVALID_TRES "Invalid Trackable RESource (TRES) specification"

static bool is_given(const struct jobopts *jo, enum jobopt id)
{
    return jobopts_has(jo, id) && jo->value[id][0];
}

static bool from_user(const struct jobopts *jo, enum jobopt id)
{
    return is_given(jo, id) && jo->from[id] != 1 + OPT_FROM_ENV;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* What stands behind "gpu:": "2", "a100" or "a100:2"; what follows a type is a count. */
static bool is_amount(const char *text, size_t len)
{
    char last[32];
    size_t at = len;
    uint64_t n;

    while (at && !strchr(":=", text[at - 1]))
        at--;
    if (at == len || len - at >= sizeof(last))
        return at == 0 && len > 0;
    memcpy(last, text + at, len - at);
    last[len - at] = '\0';
    return at == 0 || size_count_parse(last, &n, NULL) == 0;
}

static bool is_clean(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (iscntrl((unsigned char)text[i]))
            return false;
    return true;
}

/* "tool:a:0": none, of which nobody asks whether the cluster has it. */
static bool asks_for_none(const char *word, size_t len)
{
    size_t zeros = 0;

    while (zeros < len && word[len - zeros - 1] == '0')
        zeros++;
    return zeros && zeros < len && strchr(":=", word[len - zeros - 1]);
}

static int add_gres(struct strbuf *sb, const char *word, size_t len, const char *types,
                    struct err *err)
{
    size_t name;

    if (len > 5 && strncmp(word, "gres/", 5) == 0) {
        word += 5;
        len -= 5;
    }
    name = MIN(strcspn(word, ":="), len);
    if (!is_clean(word, len) ||
        (name && !asks_for_none(word, len) && !wordlist_has_n(types, word, name)))
        return err_set(err, -EINVAL, INVALID_GRES);
    if (name < len && !is_amount(word + name + 1, len - name - 1))
        return err_set(err, -EINVAL, INVALID_TRES);
    strbuf_addf(sb, "%sgres/%.*s", sb->len ? "," : "", (int)len, word);
    return 0;
}

int gresopts_list(const char *text, const char *gres_types, char **ret_text, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    *ret_text = NULL;
    if (strcasecmp(text, "none") == 0)
        return 0;
    do {
        size_t len = strcspn(text, ",");
        int r = add_gres(&sb, text, len, gres_types, err);

        if (r < 0)
            return r;
        text += len;
    } while (*text++ == ',');
    return strbuf_detach(&sb, ret_text);
}

int gresopts_gpus(const char *text, char separator, char **ret_text, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    *ret_text = NULL;
    do {
        size_t len = strcspn(text, ","), type = 0;

        if (!is_clean(text, len) || !is_amount(text, len))
            return err_set(err, -EINVAL, INVALID_TRES);
        while (type < len && !strchr(":=", text[type]))
            type++;
        strbuf_addf(&sb, "%sgres/gpu", sb.len ? "," : "");
        if (type < len)
            strbuf_addf(&sb, ":%.*s%c%.*s", (int)type, text, separator, (int)(len - type - 1),
                        text + type + 1);
        else
            strbuf_addf(&sb, "%c%.*s", isdigit((unsigned char)*text) ? separator : ':', (int)len,
                        text);
        text += len;
    } while (*text++ == ',');
    return strbuf_detach(&sb, ret_text);
}

/* ---- what a task gets ------------------------------------------------------------------------ */

static bool is_gpu(const char *tres, size_t len)
{
    return len >= 8 && strncmp(tres, "gres/gpu", 8) == 0 && (len == 8 || strchr(":=", tres[8]));
}

static bool is_cpu(const char *tres, size_t len)
{
    return len >= 3 && strncmp(tres, "cpu", 3) == 0 && (len == 3 || strchr(":=", tres[3]));
}

static uint32_t cpus_of(const char *word, size_t len)
{
    char text[32] = "";
    uint64_t n = 0;

    if (len > 4 && len - 4 < sizeof(text))
        memcpy(text, word + 4, len - 4);
    return parse_u64(text, 1, INT32_MAX, &n) == 0 ? (uint32_t)n : 0;
}

/* Words of --tres-per-task that no option of their own replaces. */
static uint32_t add_words(const struct jobopts *jo, struct strbuf *sb)
{
    uint32_t cpus = 0;

    for (const char *p = jobopts_get(jo, JO_TRES_PER_TASK); p && *p;) {
        size_t len = strcspn(p, ",");
        bool own = (is_gpu(p, len) && is_given(jo, JO_GPUS_PER_TASK)) ||
                   (is_cpu(p, len) && is_given(jo, JO_CPUS_PER_TASK));

        if (is_cpu(p, len))
            cpus = cpus_of(p, len);
        if (!own)
            strbuf_addf(sb, "%s%.*s", sb->len ? "," : "", (int)len, p);
        p += len + (p[len] == ',');
    }
    return cpus;
}

int gresopts_per_task(const struct jobopts *jo, char **ret_text, uint32_t *ret_cpus)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_free_ char *gpus = NULL;
    uint32_t cpus;

    *ret_text = NULL;
    if (is_given(jo, JO_CPUS_PER_TASK))
        strbuf_addf(&sb, "cpu=%s", jobopts_get(jo, JO_CPUS_PER_TASK));
    cpus = add_words(jo, &sb);
    if (is_given(jo, JO_GPUS_PER_TASK) &&
        gresopts_gpus(jobopts_get(jo, JO_GPUS_PER_TASK), '=', &gpus, NULL) == 0 &&
        gres_text_count(gpus, "gpu", NULL, NULL))
        strbuf_addf(&sb, "%s%s", sb.len ? "," : "", gpus);
    if (ret_cpus)
        *ret_cpus = (uint32_t)jobopts_num(jo, JO_CPUS_PER_TASK, cpus);
    if (sb.len)
        return strbuf_detach(&sb, ret_text);
    if (!jobopts_has(jo, JO_TRES_PER_TASK) || is_given(jo, JO_TRES_PER_TASK))
        return 0;
    *ret_text = strdup(""); /* asked for, and nothing named */
    return *ret_text ? 0 : -ENOMEM;
}

/* ---- how tasks are bound --------------------------------------------------------------------- */

/* "gres/gpu:per_task:2", of each name that tasks ask for. */
static void add_binding(const char *per_task, struct strbuf *sb)
{
    for (const char *p = per_task; p && *p; p += *p == ',') {
        size_t len = strcspn(p, ","), name = MIN(strcspn(p, ":="), len);
        char word[72];
        uint64_t n;

        (void)snprintf(word, sizeof(word), "%.*s", (int)name, p);
        p += len;
        if (strncmp(word, "gres/", 5) != 0 || (sb->len && strstr(strbuf_str(sb), word)))
            continue;
        n = gres_text_count(per_task, word + 5, NULL, NULL);
        if (n)
            strbuf_addf(sb, "%s%s:per_task:%llu", sb->len ? "+" : "", word, (unsigned long long)n);
    }
}

char *gresopts_bind(const struct jobopts *jo)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_free_ char *per_task = NULL;
    const char *given = jobopts_get(jo, JO_TRES_BIND), *gpus = jobopts_get(jo, JO_GPU_BIND);
    char *text = NULL;

    if (given)
        return strdup(given);
    if (gpus)
        return asprintf(&text, "gres/gpu:%s", gpus) < 0 ? NULL : text;
    if (gresopts_per_task(jo, &per_task, NULL) < 0)
        return NULL;
    add_binding(per_task, &sb);
    return sb.len && strbuf_detach(&sb, &text) == 0 ? text : NULL;
}

char *gresopts_step_bind(const struct jobopts *jo)
{
    char *text = gresopts_bind(jo), *end = text ? strchr(text, '+') : NULL;
    uint64_t tasks = jobopts_num(jo, JO_NTASKS_PER_GPU, 0);

    if (end)
        *end = '\0'; /* GPUs come first or not at all */
    if (text && !is_gpu(text, strcspn(text, ","))) {
        free(text);
        text = NULL;
    }
    if (!text && tasks && asprintf(&text, "gres/gpu:single:%llu", (unsigned long long)tasks) < 0)
        return NULL;
    return text;
}

/* ---- options that exclude each other --------------------------------------------------------- */

static int fatal_line(const char *text)
{
    cli_print_fatal("%s", text);
    return CLI_EXIT_FAILED;
}

static bool names_one(const char *list, bool (*is)(const char *, size_t))
{
    for (const char *p = list; p && *p;) {
        size_t len = strcspn(p, ",");

        if (is(p, len))
            return true;
        p += len + (p[len] == ',');
    }
    return false;
}

/* What a step says of GPUs counts, not what its job's environment repeats. */
static void forget_job(struct jobopts *jo)
{
    static const enum jobopt others[] = { JO_GPUS, JO_GPUS_PER_NODE, JO_GPUS_PER_SOCKET,
                                          JO_GPUS_PER_TASK, JO_TRES_PER_TASK };
    const char *gres = jobopts_get(jo, JO_GRES);

    if (jo->from[JO_GPUS_PER_TASK] < jo->from[JO_TRES_PER_TASK] &&
        names_one(jobopts_get(jo, JO_TRES_PER_TASK), is_gpu))
        jobopts_clear(jo, JO_GPUS_PER_TASK);
    if (!gres || strcasecmp(gres, "none") != 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (jobopts_has(jo, others[i]) && jo->from[others[i]] < jo->from[JO_GRES] &&
            (others[i] != JO_TRES_PER_TASK || names_one(jobopts_get(jo, others[i]), is_gpu)))
            jobopts_clear(jo, others[i]);
}

static int check_pairs(const struct jobopts *jo)
{
    static const struct {
        enum jobopt id;
        const char *text;
    } not_with_tasks_per_gpu[] = {
        { JO_GPUS_PER_TASK,
          "--gpus-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU" },
        { JO_GPUS_PER_SOCKET,
          "--gpus-per-socket is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU" },
        { JO_NTASKS_PER_NODE,
          "--ntasks-per-node is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU" },
    };
    const char *per_task = from_user(jo, JO_TRES_PER_TASK) ? jobopts_get(jo, JO_TRES_PER_TASK) : "";

    for (size_t i = 0; i < ARRAY_SIZE(not_with_tasks_per_gpu); i++)
        if (from_user(jo, JO_NTASKS_PER_GPU) && from_user(jo, not_with_tasks_per_gpu[i].id))
            return fatal_line(not_with_tasks_per_gpu[i].text);
    if (from_user(jo, JO_CPUS_PER_TASK) && names_one(per_task, is_cpu))
        return fatal_line("You can not have --tres-per-task=cpu= and --cpus-per-task please use "
                          "one or the other");
    if (from_user(jo, JO_GPUS_PER_TASK) && names_one(per_task, is_gpu))
        return fatal_line("You can not have --tres-per-task=gres/gpu= and --gpus-per-task please "
                          "use one or the other");
    if (from_user(jo, JO_CPUS_PER_GPU) &&
        (from_user(jo, JO_CPUS_PER_TASK) || names_one(per_task, is_cpu)))
        return fatal_line("--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually "
                          "exclusive");
    if (from_user(jo, JO_GPUS_PER_NODE) && from_user(jo, JO_GRES)) {
        _cleanup_free_ char *list = NULL;

        if (gresopts_list(jobopts_get(jo, JO_GRES), "gpu", &list, NULL) == 0 && list)
            return fatal_line("--gpus-per-node and --gres=gpu are mutually exclusive.");
    }
    return 0;
}

/* CPUs and memory of --tres-per-task are options of their own. */
static int check_per_task(const struct jobopts *jo)
{
    static const char not_here[] = "mem,energy,node,billing,fs,vmem,pages,bb";

    for (const char *p = jobopts_get(jo, JO_TRES_PER_TASK); p && *p;) {
        size_t len = strcspn(p, ","), name = MIN(strcspn(p, ":="), len);
        size_t base = MIN(strcspn(p, "/"), name);

        if (is_cpu(p, len) && !cpus_of(p, len))
            return fatal_line("Invalid --tres-per-task=cpu=0");
        if (wordlist_has_n(not_here, p, base)) {
            cli_print_fatal("Invalid TRES for --tres-per-task: %.*s", (int)MIN(name, (size_t)64),
                            p);
            return CLI_EXIT_FAILED;
        }
        p += len + (p[len] == ',');
    }
    return 0;
}

static int check_flags(const struct jobopts *jo)
{
    static const char words[] = "disable-binding,enforce-binding,one-task-per-sharing,"
                                "multiple-tasks-per-sharing,allow-task-sharing";
    const char *flags = jobopts_get(jo, JO_GRES_FLAGS);

    for (const char *p = flags; p && *p;) {
        size_t len = strcspn(p, ",");

        if (!wordlist_has_n_nocase(words, p, len)) {
            cli_error("Invalid --gres-flags specification: %.200s", flags);
            return CLI_EXIT_USAGE;
        }
        p += len + (p[len] == ',');
    }
    if (wordlist_has_nocase(flags, "enforce-binding") &&
        wordlist_has_nocase(flags, "disable-binding")) {
        cli_error("Invalid --gres-flags combo: disable-binding and enforce-binding are mutually "
                  "exclusive.");
        return CLI_EXIT_USAGE;
    }
    if (wordlist_has_nocase(flags, "allow-task-sharing") && jo->cmd != JOBOPTS_SRUN) {
        cli_error("--gres-flags=allow-task-sharing is only used with srun.");
        return CLI_EXIT_USAGE;
    }
    return 0;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void set_number(struct jobopts *jo, enum jobopt id, uint32_t value)
{
    free(jo->value[id]);
    jo->value[id] = xasprintf_or_die("%u", value);
    jo->from[id] = 1 + OPT_FROM_ARGV;
}

static uint32_t sockets_of(const struct jobopts *jo)
{
    unsigned bad;
    uint32_t sct[3] = { 0 };

    if (is_given(jo, JO_EXTRA_NODE_INFO))
        (void)jobtext_geometry_parse(jobopts_get(jo, JO_EXTRA_NODE_INFO), sct,
                                     &bad); /* was checked */
    return (uint32_t)jobopts_num(jo, JO_SOCKETS_PER_NODE, sct[0]);
}

/* A step that says how many GPUs it has counts for itself: what its job's environment repeats of
 * tasks does not. */
static uint32_t own_number(const struct jobopts *jo, enum jobopt id)
{
    return jo->in_allocation && !from_user(jo, id) ? 0 : (uint32_t)jobopts_num(jo, id, 0);
}

static char *list_of(const struct jobopts *jo, enum jobopt id)
{
    char *text = NULL;

    if (is_given(jo, id) && !(jo->in_allocation && !from_user(jo, id)))
        (void)gresopts_gpus(jobopts_get(jo, id), ':', &text, NULL); /* said when it is filled in */
    return text;
}

static char *per_node_of(const struct jobopts *jo)
{
    _cleanup_free_ char *gres =
        is_given(jo, JO_GRES) ? xstrdup_or_die(jobopts_get(jo, JO_GRES)) : NULL;
    char *text = list_of(jo, JO_GPUS_PER_NODE);

    if (text || !gres || (jo->in_allocation && !from_user(jo, JO_GRES)))
        return text;
    return TAKE_PTR(gres);
}

static int settle_counts(struct jobopts *jo)
{
    _cleanup_free_ char *job = list_of(jo, JO_GPUS), *node = per_node_of(jo);
    _cleanup_free_ char *socket = list_of(jo, JO_GPUS_PER_SOCKET), *task = NULL;
    struct gpucount c = { .per_job = job, .per_node = node, .per_socket = socket };
    struct err err = { .text = "" };
    uint64_t mem = 0;
    uint32_t tasks, nodes;
    int r;

    check_mem_or_die(gresopts_per_task(jo, &task, NULL));
    c.per_task =
        jo->in_allocation && !from_user(jo, JO_GPUS_PER_TASK) && !from_user(jo, JO_TRES_PER_TASK)
            ? NULL
            : task;
    jobopts_nodes(jo, &c.min_nodes, &c.max_nodes);
    c.max_nodes = c.max_nodes ? c.max_nodes : c.min_nodes;
    c.sockets = sockets_of(jo);
    c.tasks = tasks = from_user(jo, JO_GPUS) ? own_number(jo, JO_NTASKS)
                                             : (uint32_t)jobopts_num(jo, JO_NTASKS, 0);
    c.tasks_per_node = own_number(jo, JO_NTASKS_PER_NODE);
    c.tasks_per_gpu = (uint32_t)jobopts_num(jo, JO_NTASKS_PER_GPU, 0);
    if (!jo->in_allocation && is_given(jo, JO_MEM_PER_GPU))
        (void)size_mib_parse(jobopts_get(jo, JO_MEM_PER_GPU), &mem, NULL); /* was checked */
    c.mem_per_gpu_mib = mem;
    c.cpus_per_gpu = jo->in_allocation ? 0 : (uint32_t)jobopts_num(jo, JO_CPUS_PER_GPU, 0);
    nodes = c.min_nodes;
    r = gpucount_settle(&c, &err);
    if (r < 0 && jo->in_allocation)
        return 0; /* the controller knows what the job has */
    if (r < 0) {
        cli_error("%s", err.text);
        cli_error(INVALID_GRES);
        return CLI_EXIT_FAILED;
    }
    if (c.tasks && c.tasks != tasks)
        set_number(jo, JO_NTASKS, c.tasks);
    if (c.min_nodes && (c.min_nodes != nodes || c.per_node) && job && node) {
        set_number(jo, JO_NODES, c.min_nodes);
        jo->derived_nodes = true;
    }
    return 0;
}

static bool is_zero(const char *mem)
{
    uint64_t mib;

    return size_mib_parse(mem, &mib, NULL) == 0 && mib == 0;
}

static int check_devices(struct jobopts *jo)
{
    int status;

    forget_job(jo);
    if (is_given(jo, JO_MEM_PER_GPU) && is_zero(jobopts_get(jo, JO_MEM_PER_GPU)))
        jobopts_clear(jo, JO_MEM_PER_GPU);
    status = check_pairs(jo);
    if (status == 0)
        status = check_per_task(jo);
    if (status == 0)
        status = check_flags(jo);
    return status == 0 ? settle_counts(jo) : status;
}

int gresopts_check(struct jobopts *jo)
{
    int status = check_devices(jo);

    return status == 0 ? jobopts_check(jo) : status;
}

/* ---- what is told of them -------------------------------------------------------------------- */

static int status_of(int r)
{
    check_mem_or_die(r == -ENOMEM ? r : 0);
    return r < 0 ? CLI_EXIT_FAILED : 0;
}

static int fill_gpus(const struct jobopts *jo, enum jobopt id, char **field, struct err *err)
{
    char *text = NULL;
    int r = is_given(jo, id) ? gresopts_gpus(jobopts_get(jo, id), ':', &text, err) : 0;

    if (text && *field) {
        char *both = xasprintf_or_die("%s,%s", *field, text);

        free(text);
        text = both;
    }
    if (text) {
        free(*field);
        *field = text;
    }
    return status_of(r);
}

static int fill_gres(const struct jobopts *jo, const char *types, char **field, struct err *err)
{
    char *text = NULL;
    int r;

    if (!jobopts_has(jo, JO_GRES))
        return 0;
    r = gresopts_list(jobopts_get(jo, JO_GRES), types, &text, err);
    if (r == 0) {
        free(*field);
        *field = text;
    }
    return status_of(r);
}

/* Names that tasks ask for, as far as they are kinds of devices. */
static int fill_per_task(const struct jobopts *jo, const char *types, char **field,
                         uint32_t *ret_cpus, struct err *err)
{
    char *text = NULL;

    check_mem_or_die(gresopts_per_task(jo, &text, ret_cpus));
    free(*field);
    *field = text;
    for (const char *p = text; p && *p;) {
        size_t len = strcspn(p, ",");

        if (len >= 5 && strncmp(p, "gres/", 5) == 0 &&
            !wordlist_has_n(types, p + 5, MIN(strcspn(p + 5, ":="), len - 5)))
            return err_set(err, CLI_EXIT_FAILED, INVALID_GRES);
        p += len + (p[len] == ',');
    }
    return 0;
}

/* A job gets whole GPUs or shares of GPUs on a node, never both. */
static bool is_mixed(const Pst__JobRecord *job)
{
    static const char *const kinds[] = { "gpu", "shard", "mps" };
    const char *const lists[] = { job->tres_per_node, job->tres_per_job, job->tres_per_task,
                                  job->tres_per_socket };
    unsigned n = 0;

    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
        bool any = false, here;

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
            (void)gres_text_count(lists[i], kinds[k], NULL, &here);
            any = any || here;
        }
        n += any;
    }
    return n > 1;
}

/* --gres and what tasks ask for were looked at by themselves. */
static bool names_gpus(const Pst__JobRecord *job)
{
    return gres_text_count(job->tres_per_node, "gpu", NULL, NULL) > 0 ||
           gres_text_count(job->tres_per_job, "gpu", NULL, NULL) > 0 ||
           gres_text_count(job->tres_per_socket, "gpu", NULL, NULL) > 0;
}

/* CPUs of a task that has GPUs, where CPUs are counted by GPU. */
static void fill_cpus(const struct jobopts *jo, uint32_t cpus, Pst__JobRecord *job)
{
    uint64_t gpus = gres_text_count(job->tres_per_task, "gpu", NULL, NULL);
    uint64_t by_gpu = gpus * jobopts_num(jo, JO_CPUS_PER_GPU, 0);

    if (!cpus && by_gpu && by_gpu <= INT32_MAX)
        cpus = (uint32_t)by_gpu;
    if (!cpus || job->has_cpus_per_task)
        return;
    job->cpus_per_task = cpus;
    job->has_cpus_per_task = true;
}

int gresopts_fill_job(const struct jobopts *jo, const char *gres_types, Pst__JobRecord *job,
                      struct err *err)
{
    uint32_t cpus = 0;
    int status = fill_gres(jo, gres_types, &job->tres_per_node, err);

    if (status == 0)
        status = fill_gpus(jo, JO_GPUS_PER_NODE, &job->tres_per_node, err);
    if (status == 0)
        status = fill_gpus(jo, JO_GPUS, &job->tres_per_job, err);
    if (status == 0)
        status = fill_gpus(jo, JO_GPUS_PER_SOCKET, &job->tres_per_socket, err);
    if (status == 0)
        status = fill_per_task(jo, gres_types, &job->tres_per_task, &cpus, err);
    if (status != 0)
        return status;
    if (is_mixed(job) || (names_gpus(job) && !wordlist_has(gres_types, "gpu")))
        return err_set(err, CLI_EXIT_FAILED, INVALID_GRES);
    fill_cpus(jo, cpus, job);
    job->gpu_bind = gresopts_bind(jo);
    return 0;
}

/* Within a job; a job of srun's own has them by its request, and its step is the whole of it. */
static int fill_step_sockets(const struct jobopts *jo, Pst__StepSpec *spec, struct err *err)
{
    uint32_t sockets = (uint32_t)jobopts_num(jo, JO_SOCKETS_PER_NODE, 0);

    if (!jo->in_allocation || !from_user(jo, JO_GPUS_PER_SOCKET))
        return 0;
    if (!sockets) {
        cli_error("--gpus-per-socket option requires --sockets-per-node specification");
        return err_set(err, CLI_EXIT_FAILED, INVALID_GRES);
    }
    spec->has_sockets_per_node = true;
    spec->sockets_per_node = sockets;
    return fill_gpus(jo, JO_GPUS_PER_SOCKET, &spec->tres_per_socket, err);
}

int gresopts_fill_step(const struct jobopts *jo, const char *gres_types, Pst__StepSpec *spec,
                       struct err *err)
{
    uint32_t cpus = 0;
    int status = fill_gres(jo, gres_types, &spec->tres_per_node, err);

    if (status == 0 && jobopts_has(jo, JO_GRES) && !spec->tres_per_node)
        spec->tres_per_node = xstrdup_or_die("none");
    if (status == 0)
        status = fill_gpus(jo, JO_GPUS_PER_NODE, &spec->tres_per_node, err);
    if (status == 0)
        status = fill_gpus(jo, JO_GPUS, &spec->tres_per_step, err);
    if (status == 0)
        status = fill_step_sockets(jo, spec, err);
    if (status == 0)
        status = fill_per_task(jo, gres_types, &spec->tres_per_task, &cpus, err);
    spec->cpus_per_gpu = (uint32_t)jobopts_num(jo, JO_CPUS_PER_GPU, 0);
    spec->has_cpus_per_gpu = spec->cpus_per_gpu > 0;
    if (status == 0 && cpus && !spec->has_cpus_per_task) {
        spec->cpus_per_task = cpus;
        spec->has_cpus_per_task = true;
    }
    return status;
}
