/* batchscript.c - batch scripts; see batchscript.h.
 *
 * A script is bytes from a user: sizes are bounded before anything is allocated for them, and a
 * directive is split by a small state machine with one output buffer.  One thread. */
#include "cli/job/batchscript.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "cli/base/cli.h"
#include "cli/job/foreign.h"
#include "wire/errors.h"

void script_done(struct script *s)
{
    free(s->text);
    free(s->path);
    *s = (struct script){ 0 };
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

static char *in_path_list(const char *name)
{
    const char *list = getenv("PATH");

    while (list && *list) {
        size_t n = strcspn(list, ":");
        char *path = xasprintf_or_die("%.*s/%s", (int)n, list, name);

        if (n > 0 && is_file(path))
            return path;
        free(path);
        list += n;
        list += *list == ':';
    }
    return NULL;
}

char *script_find(const char *name, const char *dir)
{
    char *path;

    if (name[0] == '/' || name[0] == '.')
        return xstrdup_or_die(name);
    path = xasprintf_or_die("%s/%s", dir, name);
    if (is_file(path))
        return path;
    free(path);
    path = in_path_list(name);
    return path ? path : xstrdup_or_die(name);
}

/* All of fd, at most SCRIPT_MAX + 1 bytes so that the caller sees an excess. */
static int read_bytes(int fd, char **ret_text, size_t *ret_len)
{
    size_t cap = 8192, len = 0;
    char *buf = xmalloc_or_die(cap + 1);

    for (;;) {
        ssize_t n = read(fd, buf + len, cap - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EISDIR) {
            int r = -errno;

            free(buf);
            return r;
        }
        if (n <= 0 || len > SCRIPT_MAX)
            break;
        len += (size_t)n;
        if (len == cap) {
            cap *= 2;
            buf = xrealloc_or_die(buf, cap + 1, 1);
        }
    }
    buf[len] = '\0';
    *ret_text = buf;
    *ret_len = len;
    return 0;
}

int script_read(const char *path, struct script *ret_script, struct err *err)
{
    _cleanup_close_ int fd = -1;
    struct script s = { 0 };
    int r;

    if (path) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return err_set(err, CLI_EXIT_FAILED, "Unable to open file %.300s", path);
    }
    r = read_bytes(path ? fd : STDIN_FILENO, &s.text, &s.len);
    if (r < 0)
        return err_set(err, CLI_EXIT_FAILED, "Unable to read the script: %s", strerror(-r));
    s.path = path ? realpath(path, NULL) : NULL;
    if (path && !s.path && *path == '/') /* a pipe behind /dev/stdin has no name */
        s.path = xstrdup_or_die(path);
    *ret_script = s;
    return 0;
}

void script_wrap(const char *command, struct script *ret_script)
{
    struct script s = { 0 };

    s.text =
        xasprintf_or_die("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n%s\n", command);
    s.len = strlen(s.text);
    *ret_script = s;
}

int script_check(const struct script *s, struct err *err)
{
    size_t blank = 0;

    if (s->len == 0)
        return err_set(err, CLI_EXIT_FAILED, "Batch script is empty!");
    if (s->len > SCRIPT_MAX)
        return err_set(err, CLI_EXIT_FAILED, "Batch job submission failed: %s",
                       slurm_err_text(ESLURM_PATHNAME_TOO_LONG));
    while (blank < s->len && isspace((unsigned char)s->text[blank]))
        blank++;
    if (blank == s->len)
        return err_set(err, CLI_EXIT_FAILED, "Batch script contains only whitespace!");
    if (s->len < 2 || s->text[0] != '#' || s->text[1] != '!')
        return err_set(err, CLI_EXIT_FAILED,
                       "This does not look like a batch script.  The first\n"
                       "line must start with #! followed by the path to an interpreter.\n"
                       "For instance: #!/bin/sh");
    if (memmem(s->text, s->len, "\r\n", 2))
        return err_set(err, CLI_EXIT_FAILED,
                       "Batch script contains DOS line breaks (\\r\\n)\n"
                       "instead of expected UNIX line breaks (\\n).");
    if (memchr(s->text, '\0', s->len))
        return err_set(err, CLI_EXIT_FAILED,
                       "The Slurm controller does not allow scripts that\n"
                       "contain a NULL character '\\0'.");
    return 0;
}

/* ---- directives ------------------------------------------------------------------------------ */

static bool take_directive(const char *line, size_t len, const char *word)
{
    size_t n = strlen(word);

    return len > n && strncmp(line, word, n) == 0 && isspace((unsigned char)line[n]);
}

/* Where a directive stands, for messages. */
struct place {
    const char *name;
    unsigned line;
};

/* The quote that is open at the end of text; *ret_from: where its word begins, with the blanks
 * before it. */
static char open_quote(const char *text, size_t len, size_t *ret_from)
{
    char quote = '\0';

    *ret_from = 0;
    for (size_t i = 0; i < len; i++) {
        bool blank = isspace((unsigned char)text[i]);

        if (!quote && blank && i > 0 && !isspace((unsigned char)text[i - 1]))
            *ret_from = i;
        if (text[i] == '\\' && quote != '\'')
            i++;
        else if (quote == text[i])
            quote = '\0';
        else if (!quote && (text[i] == '"' || text[i] == '\''))
            quote = text[i];
    }
    return quote;
}

/* Does a word begin with a bare colon?  That parts the components of command lines alone. */
static bool has_bare_colon(const char *text, size_t len, size_t *ret_from)
{
    for (size_t i = 0; i < len; i++) {
        bool begins = i == 0 || isspace((unsigned char)text[i - 1]);

        if (text[i] == ':' && begins && !open_quote(text, i, ret_from))
            return i < 2 || text[i - 2] != '\\';
    }
    return false;
}

static int split_directive(const char *text, size_t len, const struct place *at, char *buf,
                           char **words)
{
    size_t from;
    char quote;
    int n;

    if (len > SCRIPT_LINE_MAX) {
        cli_error("line %u: the #SBATCH line is longer than %u bytes", at->line, SCRIPT_LINE_MAX);
        return -E2BIG;
    }
    len = words_before_comment(text, len);
    if (has_bare_colon(text, len, &from)) {
        cli_print_fatal("%s: line %u: Unexpected `:` in [%.*s]", at->name, at->line,
                        (int)(len - from), text + from);
        return -EINVAL;
    }
    n = words_split(text, len, buf, words, SCRIPT_WORDS_MAX);
    if (n == -EINVAL) {
        quote = open_quote(text, len, &from);
        cli_print_fatal("%s: line %u: Unmatched `%c` in [%.*s]", at->name, at->line, quote,
                        (int)(len - from), text + from);
    } else if (n < 0) {
        cli_error("line %u: too many words in an #SBATCH line", at->line);
    }
    return n;
}

static int one_directive(const char *text, size_t len, const struct place *at, struct hetopts *h,
                         size_t *k)
{
    struct opt_command cmd = jobopts_command_with(JOBOPTS_SBATCH, h->more);
    char buf[SCRIPT_LINE_MAX + 1], *argv[SCRIPT_WORDS_MAX + 2] = { (char *)"sbatch" };
    int n = split_directive(text, len, at, buf, argv + 1), status = 0, next;

    if (n < 0)
        return CLI_EXIT_FAILED;
    if (n >= 1 && (strcmp(argv[1], "hetjob") == 0 || strcmp(argv[1], "packjob") == 0)) {
        /* a component, even without options; what stands behind the word is none */
        hetopts_at(h, ++*k)->old_separator = argv[1][0] == 'p';
        return 0;
    }
    argv[n + 1] = NULL;
    next = opts_parse_line(&cmd, n + 1, argv, hetopts_at(h, *k), &status);
    if (status == 0 && next <= n) {
        cli_error("Invalid directive found in batch script: %s", argv[next]);
        return CLI_EXIT_USAGE;
    }
    return status;
}

/* A line of another system's options. */
static int foreign_directive(const char *line, size_t len, struct jobopts *jo)
{
    if (jobopts_has(jo, JO_IGNORE_PBS))
        return 0;
    if (take_directive(line, len, "#PBS"))
        return foreign_line(FOREIGN_PBS, line + 4, len - 4, jo);
    if (take_directive(line, len, "#BSUB"))
        return foreign_line(FOREIGN_BSUB, line + 5, len - 5, jo);
    return 0;
}

int script_options(const struct script *s, const char *name, struct hetopts *h)
{
    const char *p = s->text, *end = s->text + s->len;
    struct place at = { .name = name ? name : "stdin" };
    bool told = false;
    size_t component = 0;
    int status = 0;

    for (at.line = 1; p < end && status == 0; at.line++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((eol ? eol : end) - p);
        size_t blank = 0;

        while (blank < len && isspace((unsigned char)p[blank]))
            blank++;
        if (blank < len && p[blank] != '#')
            break;
        if (take_directive(p, len, "#SBATCH")) {
            status = one_directive(p + 7, len - 7, &at, h, &component);
        } else if (take_directive(p, len, "#SLURM") && !told) {
            cli_error(
                "Change from #SLURM to #SBATCH in your script and verify the options are valid in "
                "sbatch");
            told = true;
        } else {
            status = foreign_directive(p, len, hetopts_at(h, 0));
        }
        p += len + 1;
    }
    return status;
}
