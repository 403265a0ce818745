/* jobnodes.c - lists of nodes that users name; see jobnodes.h. */
#include "cli/job/jobnodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/job/tasks.h"

#define NODEFILE_MAX (4u << 20)
#define NODES_NAMED_MAX (1u << 20)

/* Names in a file, one or more a line, as a host list.  option: of --nodefile, which is told. */
static int read_nodefile(const char *path, bool option, char **ret_text, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *buf = NULL;
    size_t len = 0, out = 0;
    int r;

    if (fd < 0 && !option)
        return err_set(err, CLI_EXIT_FAILED,
                       "slurm_allocate_resources error opening file %.300s, %s", path,
                       strerror(errno));
    if (fd < 0) {
        cli_error("slurm_allocate_resources error opening file %.300s, %s", path, strerror(errno));
        return err_set(err, CLI_EXIT_USAGE, "Invalid --nodefile node file");
    }
    r = readfile_fd(fd, NODEFILE_MAX - 2, &buf, &len);
    if (r < 0 && r != -EFBIG)
        return err_set(err, CLI_EXIT_FAILED, "The node file %.300s names no node", path);
    if (r < 0)
        return err_set(err, CLI_EXIT_FAILED, "The node file %.300s is larger than 4 MiB", path);
    for (size_t i = 0; i < len;
         i++) {            /* white space separates names: one comma for each run of it */
        if (buf[i] == '#') /* a comment, to the end of its line */
            i += strcspn(buf + i, "\n");
        bool gap = buf[i] == '\0' || strchr(" \t\r\n,", buf[i]) != NULL;

        if (!gap)
            buf[out++] = buf[i];
        else if (out > 0 && buf[out - 1] != ',')
            buf[out++] = ',';
    }
    if (out > 0 && buf[out - 1] == ',')
        out--;
    buf[out] = '\0';
    if (out == 0) {
        cli_error("Hostlist is empty!");
        return err_set(err, CLI_EXIT_USAGE, "Invalid --nodefile node file");
    }
    *ret_text = TAKE_PTR(buf);
    return 0;
}

int jobnodes_list(const char *arg, bool file, char **field, struct err *err)
{
    char *text = NULL;
    int status;

    if (!file && !strchr(arg, '/')) {
        check_mem_or_die(pb_set_str(field, arg));
        return 0;
    }
    status = read_nodefile(arg, file, &text, err);
    if (status == 0) {
        free(*field);
        *field = text;
    }
    return status;
}

int jobnodes_hostfile(char **field, struct err *err)
{
    const char *name = getenv("SLURM_HOSTFILE");
    _cleanup_free_ char *path = NULL;

    if (!name || !*name)
        return 0;
    path = xasprintf_or_die("%s%s", strchr(name, '/') ? "" : "./", name);
    return jobnodes_list(path, true, field, err) == 0
               ? 0
               : err_set(err, CLI_EXIT_FAILED, "Failure getting NodeNames from hostfile");
}

/* "node1*3,node2" is a layout of tasks: which nodes it takes is what stands before the stars. */
static void drop_counts(char *list)
{
    char *to = list;

    for (const char *p = list; *p;) {
        if (*p == '*' && strspn(p + 1, "0123456789"))
            p += 1 + strspn(p + 1, "0123456789");
        else
            *to++ = *p++;
    }
    *to = '\0';
}

int jobnodes_fold(char **field, size_t *ret_n)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    char *text = NULL;

    if (!*field || !**field || strchr(*field, '{')) /* the controller knows block{b1} */
        return 0;
    drop_counts(*field);
    if (hostlist_parse_most(*field, NODES_NAMED_MAX, &names, NULL) < 0) {
        cli_print_fatal("Invalid node list specified");
        return CLI_EXIT_FAILED;
    }
    hostlist_uniq(names);
    check_mem_or_die(hostlist_fold(names, &text));
    free(*field);
    *field = text;
    if (ret_n)
        *ret_n = hostlist_count(names);
    return 0;
}

/* Add the names that one item stands for: "node[1-2]", "node1*3". */
static int add_item(struct hostlist *all, const char *item, size_t len, struct err *err)
{
    _cleanup_free_ char *text = xasprintf_or_die("%.*s", (int)len, item);
    char *star = strrchr(text, '*');
    struct err why = { .text = "" };
    uint64_t times = 1;

    if (star)
        *star++ = '\0';
    if (star && parse_u64(star, 1, TASKS_MAX, &times) < 0)
        return err_set(err, CLI_EXIT_FAILED, "a list of nodes takes NAME*COUNT, not %.*s", (int)len,
                       item);
    for (; times > 0; times--)
        if (hostlist_push_list(all, text, &why) < 0 || hostlist_count(all) > TASKS_MAX)
            return err_set(err, CLI_EXIT_FAILED, "Invalid node list: %s",
                           why.text[0] ? why.text : text);
    return 0;
}

int jobnodes_expand(const char *list, struct hostlist **ret_all, struct err *err)
{
    struct hostlist *all;
    int status = 0;

    check_mem_or_die(hostlist_new(&all));
    for (const char *at = list; status == 0 && *at;) {
        size_t len = hostlist_item_length(at);

        status = add_item(all, at, len, err);
        at += len + (at[len] == ',');
    }
    if (status == 0)
        *ret_all = all;
    else
        hostlist_free(all);
    return status;
}

char *jobnodes_counts(const struct hostlist *all)
{
    _cleanup_(hostlist_free) struct hostlist *sorted = NULL;
    struct strbuf sb = STRBUF_INIT;
    char *text;
    size_t n = hostlist_count(all);

    check_mem_or_die(hostlist_new(&sorted));
    for (size_t i = 0; i < n; i++)
        check_mem_or_die(hostlist_push(sorted, hostlist_nth(all, i)));
    hostlist_sort(sorted);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (i + 1 < n && strcmp(hostlist_nth(sorted, i), hostlist_nth(sorted, i + 1)) == 0)
            continue;
        strbuf_addf(&sb, "%s%s*%zu", first ? "," : "", hostlist_nth(sorted, i), i + 1 - first);
        first = i + 1;
    }
    check_mem_or_die(strbuf_detach(&sb, &text));
    return text;
}
