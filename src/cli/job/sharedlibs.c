/* sharedlibs.c - see sharedlibs.h */
#include "cli/job/sharedlibs.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

#define HEAD_SIZE 65536u      /* of the file: headers and the loader's name are in it */
#define OUTPUT_MAX (1u << 20) /* of the loader */
#define LIBS_MAX 4096u

extern char **environ;

/* ---- the loader ------------------------------------------------------------------------------ */

/* What both classes of ELF have in common; all in the machine's byte order. */
struct header {
    uint64_t phoff;
    uint32_t phnum, phentsize;
    bool wide;
};

static int read_header(const uint8_t *data, size_t len, struct header *ret)
{
    static const uint8_t ours = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    Elf64_Ehdr wide;
    Elf32_Ehdr narrow;

    if (len < sizeof(wide) || memcmp(data, ELFMAG, SELFMAG) != 0 || data[EI_DATA] != ours)
        return -ENOENT;
    memcpy(&wide, data, sizeof(wide));
    memcpy(&narrow, data, sizeof(narrow));
    ret->wide = data[EI_CLASS] == ELFCLASS64;
    ret->phoff = ret->wide ? wide.e_phoff : narrow.e_phoff;
    ret->phnum = ret->wide ? wide.e_phnum : narrow.e_phnum;
    ret->phentsize = ret->wide ? wide.e_phentsize : narrow.e_phentsize;
    if (ret->phentsize < (ret->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
        return -ENOENT;
    return 0;
}

/* Is it the entry of the loader's name, and where is that? */
static bool is_loader(const uint8_t *entry, bool wide, uint64_t *ret_at, uint64_t *ret_size)
{
    Elf64_Phdr w;
    Elf32_Phdr n;

    if (wide) {
        memcpy(&w, entry, sizeof(w));
        *ret_at = w.p_offset;
        *ret_size = w.p_filesz;
        return w.p_type == PT_INTERP;
    }
    memcpy(&n, entry, sizeof(n));
    *ret_at = n.p_offset;
    *ret_size = n.p_filesz;
    return n.p_type == PT_INTERP;
}

int sharedlibs_loader(const uint8_t *data, size_t len, const char **ret)
{
    struct header h = { 0 };
    uint64_t at, size;
    int r = read_header(data, len, &h);

    for (uint32_t i = 0; r == 0 && i < h.phnum; i++) {
        if (h.phoff > len || (uint64_t)(i + 1) * h.phentsize > len - h.phoff)
            return -ENOENT;
        if (!is_loader(data + h.phoff + (uint64_t)i * h.phentsize, h.wide, &at, &size))
            continue;
        if (at > len || size > len - at || size < 2 || data[at] != '/' ||
            data[at + size - 1] != '\0')
            return -ENOENT;
        *ret = (const char *)data + at;
        return 0;
    }
    return -ENOENT;
}

/* ---- what it prints -------------------------------------------------------------------------- */

static bool is_below(const char *path, size_t len, const char *folder, size_t n)
{
    while (n > 1 && folder[n - 1] == '/')
        n--;
    return n > 0 && len > n && strncmp(path, folder, n) == 0 && path[n] == '/';
}

static bool is_excluded(const char *path, size_t len, const char *exclude)
{
    if (!exclude || strcasecmp(exclude, "none") == 0)
        return false;
    for (const char *p = exclude; *p;) {
        size_t n = strcspn(p, ",");

        if (is_below(path, len, p, n))
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

static int add_library(struct sharedlibs *l, const char *name, size_t name_len, const char *path,
                       size_t path_len)
{
    struct sharedlib *items;

    if (l->n == LIBS_MAX)
        return -EFBIG;
    items = realloc(l->items, (l->n + 1) * sizeof(*items));
    if (!items)
        return -ENOMEM;
    l->items = items;
    items[l->n] = (struct sharedlib){ strndup(name, name_len), strndup(path, path_len) };
    l->n++;
    return items[l->n - 1].name && items[l->n - 1].path ? 0 : -ENOMEM;
}

/* "\tlibz.so.1 => /lib/libz.so.1 (0x00007f...)".  Lines without an arrow are the loader, and
 * what the kernel brings. */
static int take_line(struct sharedlibs *l, const char *line, size_t len, const char *exclude,
                     struct err *err)
{
    const char *arrow = memmem(line, len, " => ", 4), *path, *end;
    size_t name_len;

    while (len > 0 && (*line == '\t' || *line == ' ')) {
        line++;
        len--;
    }
    if (!arrow || arrow < line)
        return 0;
    name_len = (size_t)(arrow - line);
    path = arrow + 4;
    if (*path != '/')
        return err_set(err, -ENOENT, "%.*s", (int)len, line);
    end = memmem(path, (size_t)(line + len - path), " (", 2);
    if (!end)
        end = line + len;
    if (name_len == 0 || memchr(line, '/', name_len) ||
        is_excluded(path, (size_t)(end - path), exclude))
        return 0; /* a name with a path is not looked for elsewhere */
    return add_library(l, line, name_len, path, (size_t)(end - path));
}

int sharedlibs_parse(const char *text, const char *exclude, struct sharedlibs *ret, struct err *err)
{
    struct sharedlibs l = { 0 };
    int r = 0;

    while (r == 0 && *text) {
        size_t len = strcspn(text, "\n");

        r = take_line(&l, text, len, exclude, err);
        text += len + (text[len] == '\n');
    }
    if (r == 0)
        *ret = l;
    else
        sharedlibs_done(&l);
    return r;
}

void sharedlibs_done(struct sharedlibs *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i].name);
        free(l->items[i].path);
    }
    free(l->items);
    *l = (struct sharedlibs){ 0 };
}

/* ---- asking it ------------------------------------------------------------------------------- */

static int collect_libraries(int fd, struct strbuf *sb)
{
    char buf[4096];
    ssize_t n;

    while ((n = read(fd, buf, sizeof(buf))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (sb->len + (size_t)n > OUTPUT_MAX)
            return -EFBIG;
        strbuf_addn(sb, buf, (size_t)n);
    }
    return sb->failed ? -ENOMEM : 0;
}

static int run_loader(const char *loader, const char *program, struct strbuf *sb)
{
    _cleanup_free_ char *path = NULL;
    char *argv[] = { (char *)loader, (char *)"--list", NULL, NULL };
    posix_spawn_file_actions_t fa;
    int p[2], status = 0, r;
    pid_t pid = 0;

    /* or it is looked for as a library */
    if (asprintf(&path, "%s%s", strchr(program, '/') ? "" : "./", program) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    argv[2] = path;
    if (pipe2(p, O_CLOEXEC) < 0)
        return -errno;
    r = -posix_spawn_file_actions_init(&fa);
    if (r == 0) {
        r = -posix_spawn_file_actions_adddup2(&fa, p[1], STDOUT_FILENO);
        if (r == 0)
            r = -posix_spawn(&pid, loader, &fa, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&fa);
    }
    (void)close(p[1]);
    if (r == 0)
        r = collect_libraries(p[0], sb);
    (void)close(p[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return r < 0 ? r : status != 0 ? -ENOEXEC : 0;
}

int sharedlibs_find(const char *program, const char *exclude, struct sharedlibs *ret,
                    struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_close_ int fd = open(program, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ uint8_t *head = malloc(HEAD_SIZE);
    const char *loader;
    ssize_t n;
    int r;

    *ret = (struct sharedlibs){ 0 };
    if (!head)
        return err_nomem(err);
    n = fd < 0 ? -1 : pread(fd, head, HEAD_SIZE, 0);
    if (n < 0)
        return err_set(err, -errno, "%s: %s", program, strerror(errno));
    if (sharedlibs_loader(head, (size_t)n, &loader) < 0)
        return 0;
    r = run_loader(loader, program, &sb);
    if (r == -ENOEXEC) /* it has said what is wrong */
        return err_set(err, r, "%s does not know the libraries of %s", loader, program);
    if (r < 0)
        return err_set(err, r, "%s: %s", loader, strerror(-r));
    return sharedlibs_parse(strbuf_str(&sb), exclude, ret, err);
}
