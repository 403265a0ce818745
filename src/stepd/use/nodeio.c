/* nodeio.c - see nodeio.h */
#include "stepd/use/nodeio.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define PATH_SIZE 512

struct sum {
    uint64_t in, out;
    unsigned n; /* files that could be read */
};

static bool add_number(const char *path, uint64_t *to)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    uint64_t n;

    if (!f || fscanf(f, "%" SCNu64, &n) != 1)
        return false;
    *to += n;
    return true;
}

static void read_interfaces(const struct nodeio *n, struct sum *sum)
{
    char in[PATH_SIZE], out[PATH_SIZE];

    for (const char *p = n->interfaces ? n->interfaces : ""; *p;) {
        size_t len = strcspn(p, ",");
        int most = (int)MIN(len, (size_t)64); /* the kernel's names have 15 */

        (void)snprintf(in, sizeof(in), "%s/sys/class/net/%.*s/statistics/rx_bytes", n->root, most,
                       p);
        (void)snprintf(out, sizeof(out), "%s/sys/class/net/%.*s/statistics/tx_bytes", n->root, most,
                       p);
        if (len && add_number(in, &sum->in) && add_number(out, &sum->out))
            sum->n++;
        p += len + (p[len] == ',');
    }
}

/* "read_bytes  10 samples [bytes] 4096 1048576 10485760": how often, the least, the most, the
 * sum. */
static void read_stats(const char *path, struct sum *sum)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char line[256], name[32];
    uint64_t bytes;

    if (!f)
        return;
    sum->n++;
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%31s %*u samples [bytes] %*u %*u %" SCNu64, name, &bytes) != 2)
            continue;
        if (strcmp(name, "read_bytes") == 0)
            sum->in += bytes;
        else if (strcmp(name, "write_bytes") == 0)
            sum->out += bytes;
    }
}

static void read_lustre(const struct nodeio *n, struct sum *sum)
{
    static const char *const places[] = { "/proc/fs/lustre/llite",
                                          "/sys/kernel/debug/lustre/llite" };
    char path[PATH_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(places) && !sum->n; i++) {
        struct dirent *e;
        DIR *d;

        (void)snprintf(path, sizeof(path), "%s%s", n->root, places[i]);
        d = opendir(path);
        while (d && (e = readdir(d))) {
            (void)snprintf(path, sizeof(path), "%s%s/%s/stats", n->root, places[i], e->d_name);
            if (e->d_name[0] != '.')
                read_stats(path, sum);
        }
        if (d)
            (void)closedir(d);
    }
}

int nodeio_read(const struct nodeio *n, uint64_t *ret_in, uint64_t *ret_out)
{
    struct sum sum = { 0 };

    if (n->kind == NODEIO_NET)
        read_interfaces(n, &sum);
    else
        read_lustre(n, &sum);
    if (!sum.n)
        return -ENOENT;
    *ret_in = sum.in;
    *ret_out = sum.out;
    return 0;
}

int nodeio_begin(struct nodeio *n)
{
    n->in = n->out = 0;
    return nodeio_read(n, &n->last_in, &n->last_out);
}

void nodeio_look(struct nodeio *n)
{
    uint64_t in, out;

    if (nodeio_read(n, &in, &out) < 0)
        return;
    n->in += in >= n->last_in ? in - n->last_in : in;
    n->out += out >= n->last_out ? out - n->last_out : out;
    n->last_in = in;
    n->last_out = out;
}
