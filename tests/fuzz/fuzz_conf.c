/* fuzz_conf.c - whole configurations, in memory
 *
 * The input is cut at lines "--- gres.conf" and so on into a set of files, the first being
 * slurm.conf.  A load gives an object or a sentence, never both; what a command reads of an
 * accepted file is the same. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/conf.h"

enum { INPUT_MAX = 8192, FILES_MAX = 6, NODES_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cut text at marks, in place; gives the number of files. */
static size_t split(char *text, size_t len, struct conf_text *files)
{
    char *end = text + len, *from = text;
    size_t n = 0;

    files[n++] = (struct conf_text){ .name = "slurm.conf", .text = text, .len = len };
    while (n < FILES_MAX) {
        char *mark = memmem(from, (size_t)(end - from), "\n--- ", 5), *nl;

        if (!mark)
            break;
        nl = memchr(mark + 1, '\n', (size_t)(end - mark - 1));
        if (!nl)
            break;
        *nl = '\0';
        files[n - 1].len = (size_t)(mark + 1 - files[n - 1].text);
        files[n++] =
            (struct conf_text){ .name = mark + 5, .text = nl + 1, .len = (size_t)(end - nl - 1) };
        from = nl + 1;
    }
    return n;
}

static void sink(void *ctx, const char *key, const char *value)
{
    size_t *total = ctx;

    assert(key);
    *total += strlen(key) + (value ? strlen(value) : 0);
}

static void check(const struct conf *c, const struct conf *client)
{
    size_t total = 0;

    for (size_t i = 0; i < conf_nodes(c) && i < NODES_MAX; i++) {
        const struct conf_node *n = conf_node(c, i);

        assert(conf_find_node(c, n->name) == n && n->port && n->cpus && n->state);
    }
    for (size_t i = 0; i < conf_parts(c); i++)
        assert(conf_part(c, i)->nodes && conf_part(c, i)->oversubscribe);
    for (int key = 0; key < CONF_KEY_MAX_; key++) {
        const char *a = conf_str(c, (enum conf_key)key), *b = conf_str(client, (enum conf_key)key);

        assert((!a && !b) || strcmp(a, b) == 0);
        assert(conf_num(c, (enum conf_key)key) == conf_num(client, (enum conf_key)key));
    }
    conf_show(c, sink, &total);
    conf_show_cgroup(c, sink, &total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(conf_free) struct conf *c = NULL, *client = NULL;
    struct conf_text files[FILES_MAX];
    struct conf_problems problems;
    struct err err = { .text = "" };
    char text[INPUT_MAX + 1];
    size_t n;
    int r;

    if (size > INPUT_MAX)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    n = split(text, size, files);
    r = conf_load_text(files, n, CONF_FULL, &c, &problems, &err);
    assert((r == 0) == (c != NULL));
    assert((r == 0) == (err.text[0] == '\0'));
    assert(r == 0 || (problems.n > 0 && problems.items[0].text[0]));
    conf_problems_done(&problems);
    r = conf_load_text(files, n, CONF_CLIENT, &client, NULL, &err);
    if (c) {
        assert(r == 0);
        check(c, client);
    }
    return 0;
}
