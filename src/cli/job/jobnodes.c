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
#include "cli/base/cli.h"

#define NODEFILE_MAX (4u << 20)
#define NODES_NAMED_MAX (1u << 20)

/* Names in a file, one or more a line, as a host list. */
static int read_nodefile(const char *path, char **ret_text, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *buf = NULL;
    size_t len = 0, out = 0;
    int r;

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
    status = read_nodefile(arg, &text, err);
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
