/* stepprof.c - see stepprof.h
 *
 * Processor time and transfers are those since the sample before; memory is as it is now. */
#include "stepd/use/stepprof.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/wordlist.h"

#define LINE_MAX_BYTES 512u
#define MB 1048576.0

struct last {
    struct stepprof_use use;
    int64_t mono_us; /* 0: never */
    bool over;
};

struct stepprof {
    struct stepprof_who who;
    char host[256];
    unsigned kinds;
    int fd, dir_fd;
    int64_t wall_us, mono_us; /* of the sample */
    struct strbuf lines;      /* not yet sent */
    struct last *tasks;
    struct nodeio_count io[2]; /* of the sample before; network, file systems */
    uint64_t energy_uj;        /* of the sample before */
    int64_t energy_mono_us;    /* of the sample before; 0: none */
    size_t n_tasks;
};

unsigned stepprof_kinds(const char *words)
{
    static const struct {
        const char *word;
        unsigned kinds;
    } table[] = {
        { "all", PROFILE_TASK | PROFILE_ENERGY | PROFILE_NETWORK | PROFILE_FILESYSTEM },
        { "task", PROFILE_TASK },
        { "energy", PROFILE_ENERGY },
        { "network", PROFILE_NETWORK },
        { "filesystem", PROFILE_FILESYSTEM },
        { "lustre", PROFILE_FILESYSTEM },
    };
    unsigned kinds = 0;

    if (wordlist_has_nocase(words, "none"))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (wordlist_has_nocase(words, table[i].word))
            kinds |= table[i].kinds;
    return kinds;
}

/* ---- life ------------------------------------------------------------------------------------ */

int stepprof_new(const struct stepprof_who *who, unsigned kinds, const char *dir, size_t n_tasks,
                 struct stepprof **ret)
{
    struct stepprof *p = calloc(1, sizeof(*p));
    int r = 0;

    if (!p)
        return -ENOMEM;
    p->fd = p->dir_fd = -1;
    p->lines = (struct strbuf)STRBUF_INIT;
    p->who = *who;
    (void)snprintf(p->host, sizeof(p->host), "%s", who->host ? who->host : ""); /* cut: no name */
    p->kinds = kinds;
    p->n_tasks = n_tasks;
    p->tasks = calloc(n_tasks + 1, sizeof(*p->tasks));
    if (!p->tasks)
        r = -ENOMEM;
    if (r == 0 && (p->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        r = -errno;
    if (r == 0 && (p->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
        r = -errno;
    if (r < 0) {
        (void)stepprof_free(p); /* always NULL */
        return r;
    }
    *ret = p;
    return 0;
}

struct stepprof *stepprof_free(struct stepprof *p)
{
    if (!p)
        return NULL;
    if (p->fd >= 0)
        (void)close(p->fd);
    if (p->dir_fd >= 0)
        (void)close(p->dir_fd);
    strbuf_done(&p->lines);
    free(p->tasks);
    free(p);
    return NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Through /proc: a socket's address holds 108 bytes, and spool paths may be longer. */
static void send_lines(struct stepprof *p)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };

    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", p->dir_fd,
                   PROFILE_SOCKET);
    if (p->lines.len && !p->lines.failed)
        (void)sendto(p->fd, strbuf_str(&p->lines), p->lines.len, MSG_DONTWAIT | MSG_NOSIGNAL,
                     (struct sockaddr *)&sa, sizeof(sa)); /* slurmd is away, or busy: lost */
    strbuf_reset(&p->lines);
}

static void add_line(struct stepprof *p, const char *name, const char *task, double value)
{
    if (p->lines.len + LINE_MAX_BYTES > PROFILE_DATAGRAM_MAX)
        send_lines(p);
    strbuf_addf(&p->lines, "%s,job=%u,step=%d,task=%s,host=%s value=%.10g %lld\n", name,
                p->who.job_id, (int)p->who.step_id, task, p->host, value,
                (long long)(p->wall_us / 1000));
}

static double count_since(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) : 0;
}

void stepprof_begin(struct stepprof *p, int64_t wall_us, int64_t mono_us)
{
    p->wall_us = wall_us;
    p->mono_us = mono_us;
}

void stepprof_task(struct stepprof *p, size_t index, uint32_t rank, const struct stepprof_use *use,
                   bool over)
{
    struct last *l = index < p->n_tasks ? &p->tasks[index] : NULL;
    char task[16];
    double cpu_us;

    if (!l || l->over || !(p->kinds & PROFILE_TASK))
        return;
    (void)snprintf(task, sizeof(task), "%u", rank);
    cpu_us = count_since(use->cpu_us, l->use.cpu_us);
    add_line(p, "CPUFrequency", task, (double)use->freq_khz);
    add_line(p, "CPUTime", task, cpu_us / 1e6);
    add_line(p, "CPUUtilization", task,
             l->mono_us && p->mono_us > l->mono_us
                 ? 100 * cpu_us / (double)(p->mono_us - l->mono_us)
                 : 0);
    add_line(p, "RSS", task, (double)(use->mem / 1024));
    add_line(p, "VMSize", task, (double)(use->vmem / 1024));
    add_line(p, "Pages", task, count_since(use->pages, l->use.pages));
    add_line(p, "ReadMB", task, count_since(use->read_bytes, l->use.read_bytes) / MB);
    add_line(p, "WriteMB", task, count_since(use->write_bytes, l->use.write_bytes) / MB);
    *l = (struct last){ .use = *use, .mono_us = p->mono_us, .over = over };
}

void stepprof_energy(struct stepprof *p, uint64_t used_uj)
{
    if (!(p->kinds & PROFILE_ENERGY))
        return;
    if (p->energy_mono_us && p->mono_us > p->energy_mono_us)
        add_line(p, "Power", "Energy",
                 count_since(used_uj, p->energy_uj) / (double)(p->mono_us - p->energy_mono_us));
    p->energy_uj = used_uj;
    p->energy_mono_us = p->mono_us;
}

void stepprof_io(struct stepprof *p, enum stepprof_kind kind, const struct nodeio_count *io)
{
    static const char *const names[2][4] = { { "PacketsIn", "InMB", "PacketsOut", "OutMB" },
                                             { "Reads", "ReadMB", "Writes", "WriteMB" } };
    const size_t i = kind == PROFILE_FILESYSTEM;
    const char *what = i ? "Filesystem" : "Network";
    struct nodeio_count *was = &p->io[i];

    if (!(p->kinds & kind))
        return;
    add_line(p, names[i][0], what, count_since(io->n_in, was->n_in));
    add_line(p, names[i][1], what, count_since(io->in, was->in) / MB);
    add_line(p, names[i][2], what, count_since(io->n_out, was->n_out));
    add_line(p, names[i][3], what, count_since(io->out, was->out) / MB);
    *was = *io;
}

void stepprof_end(struct stepprof *p)
{
    send_lines(p);
}
