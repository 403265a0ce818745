/* fuzz_sbatch_script.c - batch scripts and the grammars of their directives */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "cli/base/cli.h"
#include "cli/base/ids.h"
#include "cli/job/gresopts.h"
#include "cli/job/iopattern.h"
#include "cli/job/jobtext.h"
#include "cli/job/batchscript.h"
#include "cli/job/tasks.h"

#define WORDS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void word(const char *text)
{
    static const struct iopattern names = { .job_id = 1, .user = "u", .job_name = "n" };
    _cleanup_free_ char *a = NULL, *b = NULL, *c = NULL, *d = NULL, *e = NULL;
    struct jobopts jo = { .cmd = JOBOPTS_SBATCH };
    struct jobtext_signal sig;
    struct ids ids;
    uint32_t x, y, sct[3];
    unsigned bad;

    (void)jobtext_signal_parse(text, &sig, &a);
    (void)gresopts_list(text, "gpu,shard", &b, NULL);
    (void)gresopts_gpus(text, ':', &c, NULL);
    jo.value[JO_TRES_PER_TASK] = (char *)text;
    jo.from[JO_TRES_PER_TASK] = 1;
    (void)gresopts_per_task(&jo, &d, &x);
    (void)jobtext_mail_parse(text, &x);
    (void)jobtext_distribution_ok(text);
    (void)jobtext_nodes_parse(text, &x, &y);
    (void)jobtext_geometry_parse(text, sct, &bad);
    if (ids_parse(text, &ids, NULL) == 0) {
        if (ids.task_set)
            (void)ids_set_has(ids.task_set, 3);
        ids_done(&ids);
    }
    e = iopattern_expand(text, &names);
    (void)iopattern_per_task(text);
    (void)tasks_multi_prog_count(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script s = { .text = xmalloc_or_die(size + 1), .len = size };
    _cleanup_free_ char *buf = xmalloc_or_die(size + 1);
    struct err err = { .text = "" };
    char *words[WORDS_MAX];
    int n;

    memcpy(s.text, data, size);
    (void)script_check(&s, &err);
    n = words_split(s.text, size, buf, words, WORDS_MAX);
    for (int i = 0; i < n; i++)
        word(words[i]);
    script_done(&s);
    return 0;
}
