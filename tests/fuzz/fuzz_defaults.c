/* fuzz_defaults.c - the text of ~/.slurm/defaults
 *
 * Whatever stands there, options are set as far as they can be, and what is kept passes the checks
 * of the command line again. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/job/clifilter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = strndup((const char *)data, size);
    const struct opt_command *cmd = jobopts_command(JOBOPTS_SBATCH);
    static FILE *nowhere; /* for what it complains of; reports of the fuzzer are still seen */
    FILE *standard = stderr;
    struct jobopts jo, again;
    struct err err;

    if (!nowhere)
        nowhere = fopen("/dev/null", "we");
    if (!text || !nowhere || strstr(text, "help")) /* a list asked for ends the program */
        return 0;
    jobopts_init(&jo, JOBOPTS_SBATCH);
    jobopts_init(&again, JOBOPTS_SBATCH);
    stderr = nowhere;
    clifilter_read_defaults("defaults", text, "sbatch", "test", &jo);
    stderr = standard;
    for (size_t i = 0; i < cmd->n; i++) {
        enum jobopt id = (enum jobopt)cmd->rows[i].id;
        const char *value = jobopts_get(&jo, id);

        if (!jobopts_has(&jo, id) || (cmd->rows[i].applies && !(cmd->rows[i].applies & cmd->bit)))
            continue;
        assert(jo.from[id] == 1 + OPT_FROM_DEFAULTS);
        assert(jobopts_set(&again, &cmd->rows[i], *value ? value : NULL, OPT_FROM_ARGV, &err) == 0);
    }
    jobopts_done(&jo);
    jobopts_done(&again);
    return 0;
}
