/* fuzz_oci.c - config.json of a bundle: what is taken comes out as an object with our command, what
 * is not has a sentence; a second time nothing but the mounts grows.  The first line of the input
 * is a pattern of oci.conf. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/oci.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *args[] = { "prog", "an argument", NULL };
static char *variables[] = { "PATH=/host", "SLURM_JOB_ID=7", "NEW=1", NULL };
static char *mounts[] = { "/spool/pmix" };

static void check_pattern(const char *pattern)
{
    const struct oci_vars vars = {
        .argv = (const char *const *)args, .bundle = "/b c", .root = "/r'", .node = "n", .step = "0"
    };
    _cleanup_free_ char *line = NULL, *path = NULL;

    assert(oci_command(pattern, &vars, &line) == 0 && oci_path(pattern, &vars, &path) == 0);
}

static void check_config(const char *text, size_t len)
{
    const struct oci_edit e = { .argv = args,
                                .env = variables,
                                .bundle = "/nowhere/bundle",
                                .work_dir = "/nowhere",
                                .mount_from = "/spool/task-0",
                                .mount_at = "/var/run/slurm/",
                                .mounts = mounts,
                                .n_mounts = 1,
                                .disable_hooks = "prestart,poststop",
                                .uid = 1000,
                                .gid = 100 };
    _cleanup_free_ char *once = NULL, *twice = NULL, *root = NULL, *root2 = NULL;
    struct err err = { .text = "" };
    const json_t *process;
    json_t *j;
    int r = oci_config(text, len, &e, &once, &root, &err);

    assert((r == 0) == (once != NULL) && (r == 0) == (root != NULL) &&
           (r < 0) == (err.text[0] != '\0'));
    if (r < 0)
        return;
    j = json_loads(once, 0, NULL);
    process = json_object_get(j, "process");
    assert(root[0] == '/' && json_array_size(json_object_get(process, "args")) == 2);
    assert(json_is_string(json_object_get(process, "cwd")) &&
           json_is_false(json_object_get(process, "terminal")));
    assert(json_array_size(json_object_get(j, "mounts")) >= 2);
    json_decref(j);
    assert(oci_config(once, strlen(once), &e, &twice, &root2, &err) == 0 &&
           strcmp(root, root2) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nl = memchr(data, '\n', size);
    size_t first = nl ? (size_t)(nl - data) : 0;
    _cleanup_free_ char *pattern = strndup((const char *)data, first);

    assert(pattern);
    check_pattern(pattern);
    check_config((const char *)data + first, size - first);
    return 0;
}
