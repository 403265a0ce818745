/* plugstack.c - see plugstack.h */
#include "spank/plugstack.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"

static void entry_done(struct plugstack_entry *e)
{
    for (int i = 0; e->argv && i < e->argc; i++)
        free(e->argv[i]);
    free(e->argv);
    free(e->path);
}

void plugstack_done(struct plugstack *p)
{
    for (size_t i = 0; i < p->n; i++)
        entry_done(&p->list[i]);
    free(p->list);
    *p = (struct plugstack){ 0 };
}

static int add_plugin(struct plugstack *p, bool required, char *const *words, int n)
{
    struct plugstack_entry e = { .required = required,
                                 .path = strdup(words[0]),
                                 .argv = calloc((size_t)n, sizeof(*e.argv)) };
    struct plugstack_entry *grown = realloc(p->list, (p->n + 1) * sizeof(*grown));

    if (grown)
        p->list = grown;
    for (int i = 1; e.argv && i < n; i++)
        if ((e.argv[e.argc] = strdup(words[i])))
            e.argc++;
    if (!grown || !e.path || !e.argv || e.argc != n - 1) {
        entry_done(&e);
        return -ENOMEM;
    }
    p->list[p->n++] = e;
    return 0;
}

static int take_plugin(char *const *words, int n, struct plugstack *p, struct err *err)
{
    bool required = strcmp(words[0], "required") == 0;

    if (!required && strcmp(words[0], "optional") != 0)
        return err_set(err, -EINVAL,
                       "a line begins with required, optional or include, not \"%.64s\"", words[0]);
    if (n < 2 || !*words[1])
        return err_set(err, -EINVAL, "%s wants the file of a plugin", words[0]);
    if (p->n >= PLUGSTACK_PLUGINS_MAX)
        return err_set(err, -E2BIG, "more than %u plugins", PLUGSTACK_PLUGINS_MAX);
    return add_plugin(p, required, words + 1, n - 1);
}

static int read_line(const char *text, size_t len, char **words, char *buf, struct err *err)
{
    int n;

    if (len > PLUGSTACK_LINE_MAX)
        return err_set(err, -E2BIG, "the line is longer than %u bytes", PLUGSTACK_LINE_MAX);
    if (memchr(text, '\0', len))
        return err_set(err, -EINVAL, "the line has a NUL byte");
    n = words_split(text, len, buf, words, PLUGSTACK_WORDS_MAX);
    if (n == -EINVAL)
        return err_set(err, n, "a quote is not closed");
    if (n < 0)
        return err_set(err, n, "more than %u words", PLUGSTACK_WORDS_MAX);
    if (n > 0 && n != 2 && strcmp(words[0], "include") == 0)
        return err_set(err, -EINVAL, "include wants one pattern of file names");
    return n;
}

int plugstack_parse(const char *text, size_t len, const char *name, plugstack_include_fn *include,
                    void *ctx, struct plugstack *p, struct err *err)
{
    const char *end = text + len;
    unsigned number = 0;

    for (const char *at = text; at < end;) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((eol ? eol : end) - at);
        char buf[PLUGSTACK_LINE_MAX + 1], *words[PLUGSTACK_WORDS_MAX];
        int r = read_line(at, n, words, buf, err);

        number++;
        if (r > 0 && strcmp(words[0], "include") == 0) {
            r = include(ctx, words[1], p, err);
            if (r < 0)
                return r; /* its sentence names the other file */
        } else if (r > 0) {
            r = take_plugin(words, r, p, err);
        }
        if (r < 0) {
            err_prefix(err, "%s line %u", name, number);
            return r;
        }
        at += n + (eol != NULL);
    }
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

struct reading {
    const char *path; /* of the file being read */
    unsigned depth;
    unsigned *files; /* read so far */
};

static int read_text(const char *path, char *buf, size_t *ret_len)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = fd < 0 ? -1 : 1;

    while (n > 0 && len <= PLUGSTACK_FILE_MAX) {
        n = read(fd, buf + len, PLUGSTACK_FILE_MAX + 1 - len);
        if (n > 0)
            len += (size_t)n;
        else if (n < 0 && errno == EINTR)
            n = 1;
    }
    if (n < 0)
        return -errno;
    *ret_len = len;
    return len > PLUGSTACK_FILE_MAX ? -EFBIG : 0;
}

static plugstack_include_fn include_files;

static int read_file(const struct reading *rd, struct plugstack *p, struct err *err)
{
    _cleanup_free_ char *text = malloc(PLUGSTACK_FILE_MAX + 1);
    size_t len = 0;
    int r;

    if (!text)
        return -ENOMEM;
    if (++*rd->files > PLUGSTACK_FILES_MAX || rd->depth > PLUGSTACK_DEPTH_MAX)
        return err_set(err, -ELOOP, "%s: too many files include each other", rd->path);
    r = read_text(rd->path, text, &len);
    if (r == -ENOENT && rd->depth == 0)
        return 0;
    if (r == -EFBIG)
        return err_set(err, r, "%s is larger than %u bytes", rd->path, PLUGSTACK_FILE_MAX);
    if (r < 0)
        return err_set(err, r, "cannot read %s: %s", rd->path, strerror(-r));
    return plugstack_parse(text, len, rd->path, include_files, (void *)rd, p, err);
}

/* A name beside the file `of`.  The caller frees. */
static char *path_beside(const char *of, const char *name)
{
    const char *slash = strrchr(of, '/');
    char *path = NULL;

    if (*name == '/' || !slash)
        return strdup(name);
    return asprintf(&path, "%.*s/%s", (int)(slash - of), of, name) < 0 ? NULL : path;
}

static int include_files(void *ctx, const char *pattern, struct plugstack *p, struct err *err)
{
    const struct reading *outer = ctx;
    _cleanup_free_ char *path = path_beside(outer->path, pattern);
    glob_t found = { 0 };
    int r = 0;

    if (!path)
        return -ENOMEM;
    if (glob(path, 0, NULL, &found) ==
        0) { /* none is fine: a folder that packages put files into */
        for (size_t i = 0; i < found.gl_pathc && r == 0; i++) {
            struct reading rd = { .path = found.gl_pathv[i],
                                  .depth = outer->depth + 1,
                                  .files = outer->files };

            r = read_file(&rd, p, err);
        }
    }
    globfree(&found);
    return r;
}

int plugstack_read(const char *path, struct plugstack *ret, struct err *err)
{
    unsigned files = 0;
    struct reading rd = { .path = path, .files = &files };

    *ret = (struct plugstack){ 0 };
    return read_file(&rd, ret, err);
}

char *plugstack_path(const char *configured, const char *conf_path)
{
    return configured && *configured ? path_beside(conf_path, configured)
                                     : path_beside(conf_path, "plugstack.conf");
}
