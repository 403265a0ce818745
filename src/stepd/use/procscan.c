/* procscan.c - see procscan.h
 *
 * The tree below a step daemon is read from the kernel's per-thread children lists where there are
 * any; the whole of /proc is walked only after a step daemon was killed.  No state. */
#include "stepd/use/procscan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TREE_MAX 65536u
#define ENVIRON_MAX (1u << 20)

static ssize_t read_file(const char *path, char *buf, size_t size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;

    if (fd < 0)
        return -errno;
    while (len < size - 1) {
        ssize_t n = read(fd, buf + len, size - 1 - len);

        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    buf[len] = '\0';
    return (ssize_t)len;
}

int proc_read(pid_t pid, struct proc_info *ret_info)
{
    char path[64], buf[1024];
    struct proc_info info = { .pid = pid };
    unsigned long long start = 0;
    int ppid = 0, session = 0;
    const char *p;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (read_file(path, buf, sizeof(buf)) <= 0)
        return -ESRCH;
    p = strrchr(buf, ')'); /* the command name may hold anything */
    if (!p ||
        sscanf(p + 1,
               " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &info.state, &ppid, &session, &start) != 4)
        return -EBADMSG;
    info.ppid = ppid;
    info.session = session;
    info.start_ticks = start;
    *ret_info = info;
    return 0;
}

uint64_t proc_ticks_now(void)
{
    struct timespec ts;
    int64_t hz = sysconf(_SC_CLK_TCK);

    (void)clock_gettime(CLOCK_BOOTTIME, &ts); /* cannot fail */
    hz = MAX(hz, 1);
    return (uint64_t)(ts.tv_sec * hz + ts.tv_nsec / (1000000000 / hz));
}

void proc_world(char buf[static PROC_WORLD])
{
    char boot[48] = "", space[48] = "";

    if (read_file("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) > 0)
        boot[strcspn(boot, "\n")] = '\0';
    if (readlink("/proc/self/ns/pid", space, sizeof(space) - 1) < 0)
        space[0] = '\0'; /* a kernel without: there is one */
    (void)snprintf(buf, PROC_WORLD, "%s %s", boot, space);
}

bool proc_is_our_world(const char *world)
{
    char ours[PROC_WORLD];

    proc_world(ours);
    return !world || strcmp(world, ours) == 0;
}

void proc_each(proc_fn *fn, void *ctx)
{
    DIR *d = opendir("/proc");
    struct dirent *e;

    if (!d)
        return;
    while ((e = readdir(d))) {
        struct proc_info info;
        char *end;
        long pid = strtol(e->d_name, &end, 10);

        if (*end || pid <= 0 || proc_read((pid_t)pid, &info) < 0)
            continue;
        if (!fn(ctx, &info))
            break;
    }
    (void)closedir(d);
}

struct tree {
    struct proc_below *items;
    size_t n, cap;
};

/* parent: index of the process it is a child of. */
static bool tree_add(struct tree *t, size_t parent, pid_t pid)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        struct proc_below *items = cap > TREE_MAX ? NULL : realloc(t->items, cap * sizeof(*items));

        if (!items)
            return false;
        t->items = items;
        t->cap = cap;
    }
    t->items[t->n++] = (struct proc_below){ pid, parent ? t->items[parent].top : pid };
    return true;
}

/* Children of a process by the kernel's lists (one per thread).  False: this kernel has none. */
static bool add_children(struct tree *t, size_t at)
{
    pid_t pid = t->items[at].pid;
    char path[96], buf[16384];
    DIR *d;
    struct dirent *e;
    bool known = false;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    d = opendir(path);
    if (!d)
        return true; /* it ended */
    while ((e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, e->d_name);
        if (read_file(path, buf, sizeof(buf)) < 0)
            continue;
        known = true;
        for (char *p = buf; *p;) {
            long child = strtol(p, &p, 10);

            if (child <= 0 || !tree_add(t, at, (pid_t)child))
                break;
            while (*p == ' ')
                p++;
        }
    }
    (void)closedir(d);
    return known;
}

struct edge_list {
    struct proc_info *items;
    size_t n, cap;
};

static bool collect_edge(void *ctx, const struct proc_info *info)
{
    struct edge_list *l = ctx;

    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 256;
        struct proc_info *items = realloc(l->items, cap * sizeof(*items));

        if (!items)
            return false;
        l->items = items;
        l->cap = cap;
    }
    l->items[l->n++] = *info;
    return true;
}

/* Without children lists: all processes once, then the parent links downwards. */
static void walk_by_parent(struct tree *t)
{
    struct edge_list l = { 0 };

    proc_each(collect_edge, &l);
    for (size_t at = 0; at < t->n; at++) {
        pid_t parent = t->items[at].pid;

        for (size_t i = 0; i < l.n; i++)
            if (l.items[i].ppid == parent && !tree_add(t, at, l.items[i].pid))
                break;
    }
    free(l.items);
}

size_t proc_below(pid_t root, struct proc_below **ret_list)
{
    struct tree t = { 0 };

    *ret_list = NULL;
    if (!tree_add(&t, 0, root))
        return 0;
    if (!add_children(&t, 0)) {
        walk_by_parent(&t);
    } else {
        for (size_t at = 1; at < t.n; at++)
            (void)add_children(&t, at); /* root's answer told that lists exist */
    }
    memmove(t.items, t.items + 1, (t.n - 1) * sizeof(*t.items));
    *ret_list = t.items;
    return t.n - 1;
}

size_t proc_signal_tree(pid_t root, int sig)
{
    _cleanup_free_ struct proc_below *list = NULL;
    size_t n = proc_below(root, &list);

    for (size_t i = 0; i < n; i++)
        (void)kill(list[i].pid, sig); /* it may have ended meanwhile */
    return n;
}

static long ticks_us(void)
{
    return 1000000 / MAX(sysconf(_SC_CLK_TCK), 1L);
}

/* Memory that only this process has, or its share of what several have; 0 = unknown. */
static uint64_t own_memory(pid_t pid, enum proc_memory how)
{
    char path[64], buf[4096];
    unsigned long long resident, shared;
    const char *pss;

    (void)snprintf(path, sizeof(path), how == PROC_PSS ? "/proc/%d/smaps_rollup" : "/proc/%d/statm",
                   (int)pid);
    if (read_file(path, buf, sizeof(buf)) <= 0)
        return 0;
    if (how == PROC_PSS) {
        pss = strstr(buf, "\nPss:");
        return pss ? strtoull(pss + 5, NULL, 10) << 10 : 0;
    }
    if (sscanf(buf, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int proc_use(pid_t pid, enum proc_memory how, struct proc_use *ret_use)
{
    unsigned long long flt, cflt, cpu[4], start, vsize;
    char path[64], buf[2048];
    struct proc_use u = { .pid = pid };
    const char *p;
    int session, cpu_at = -1;
    long long rss;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (read_file(path, buf, sizeof(buf)) <= 0)
        return -ESRCH;
    p = strrchr(buf, ')'); /* the command name may hold anything */
    if (!p || sscanf(p + 1,
                     " %*c %*d %*d %d %*d %*d %*u %*u %*u %llu %llu %llu %llu %llu %llu %*d %*d "
                     "%*d %*d %llu "
                     "%llu %lld %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
                     &session, &flt, &cflt, &cpu[0], &cpu[1], &cpu[2], &cpu[3], &start, &vsize,
                     &rss, &cpu_at) < 10)
        return -EBADMSG;
    u.session = session;
    u.pages = flt + cflt;
    u.cpu_us = (cpu[0] + cpu[1] + cpu[2] + cpu[3]) * (uint64_t)ticks_us();
    u.vmem = vsize;
    u.cpu = cpu_at;
    u.mem = rss > 0 ? (uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    if (how != PROC_RSS)
        u.mem = own_memory(pid, how);
    proc_io(pid, &u);
    *ret_use = u;
    return 0;
}

void proc_io(pid_t pid, struct proc_use *u)
{
    char path[64], buf[512];
    unsigned long long rd, wr;

    (void)snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
    if (read_file(path, buf, sizeof(buf)) > 0 &&
        sscanf(buf, "rchar: %llu wchar: %llu", &rd, &wr) == 2) {
        u->read_bytes = rd;
        u->write_bytes = wr;
    }
}

bool proc_env_has(pid_t pid, const char *entry)
{
    char path[64];
    _cleanup_free_ char *buf = malloc(ENVIRON_MAX);
    ssize_t len;

    if (!buf)
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    len = read_file(path, buf, ENVIRON_MAX);
    for (const char *p = buf; len > 0 && p < buf + len; p += strlen(p) + 1)
        if (strcmp(p, entry) == 0)
            return true;
    return false;
}
