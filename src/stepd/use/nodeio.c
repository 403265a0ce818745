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
    struct nodeio_count count;
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

static bool add_counter(const struct nodeio *n, const char *interface, int len, const char *name,
                        uint64_t *to)
{
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof(path), "%s/sys/class/net/%.*s/statistics/%s", n->root, len,
                   interface, name);
    return add_number(path, to);
}

static void read_interfaces(const struct nodeio *n, struct sum *sum)
{
    struct nodeio_count *c = &sum->count;

    for (const char *p = n->interfaces ? n->interfaces : ""; *p;) {
        size_t len = strcspn(p, ",");
        int most = (int)MIN(len, (size_t)64); /* the kernel's names have 15 */

        if (len && add_counter(n, p, most, "rx_bytes", &c->in) &&
            add_counter(n, p, most, "tx_bytes", &c->out)) {
            sum->n++;
            (void)add_counter(n, p, most, "rx_packets", &c->n_in); /* bytes alone are fine too */
            (void)add_counter(n, p, most, "tx_packets", &c->n_out);
        }
        p += len + (p[len] == ',');
    }
}

/* "read_bytes  10 samples [bytes] 4096 1048576 10485760": how often, the least, the most, the
 * sum. */
static void read_stats(const char *path, struct sum *sum)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char line[256], name[32];
    uint64_t times, bytes;

    if (!f)
        return;
    sum->n++;
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%31s %" SCNu64 " samples [bytes] %*u %*u %" SCNu64, name, &times,
                   &bytes) != 3)
            continue;
        if (strcmp(name, "read_bytes") == 0) {
            sum->count.in += bytes;
            sum->count.n_in += times;
        } else if (strcmp(name, "write_bytes") == 0) {
            sum->count.out += bytes;
            sum->count.n_out += times;
        }
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

/* What the counters say now, all interfaces or file systems together.  -ENOENT: there are none. */
static int nodeio_read(const struct nodeio *n, struct nodeio_count *ret)
{
    struct sum sum = { 0 };

    if (n->kind == NODEIO_NET)
        read_interfaces(n, &sum);
    else
        read_lustre(n, &sum);
    if (!sum.n)
        return -ENOENT;
    *ret = sum.count;
    return 0;
}

int nodeio_begin(struct nodeio *n)
{
    n->sum = (struct nodeio_count){ 0 };
    return nodeio_read(n, &n->last);
}

static void add_growth(uint64_t *to, uint64_t now, uint64_t before)
{
    *to += now >= before ? now - before : now;
}

void nodeio_look(struct nodeio *n)
{
    struct nodeio_count now;

    if (nodeio_read(n, &now) < 0)
        return;
    add_growth(&n->sum.in, now.in, n->last.in);
    add_growth(&n->sum.out, now.out, n->last.out);
    add_growth(&n->sum.n_in, now.n_in, n->last.n_in);
    add_growth(&n->sum.n_out, now.n_out, n->last.n_out);
    n->last = now;
}
