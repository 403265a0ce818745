/* fuzz_query.c - what people give the query commands: formats, sort orders, filters, KEY=VALUE
 *
 * The first byte chooses the parser.  Whatever is accepted is rendered with empty records as well.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/format/fmt_sacct.h"
#include "cli/format/fmt_sinfo.h"
#include "cli/format/fmt_squeue.h"
#include "cli/format/json_out.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_update.h"

#define TEXT_MAX 4096u
#define WIDTHS_MAX (1u << 20) /* rendering wider formats only costs memory */

static void on_bad(void *ctx, const char *spec)
{
    (void)ctx;
    (void)spec;
}

static void try_format(const char *text, bool is_long)
{
    struct fmt f = FMT_INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    struct job_row row = { .job = &job };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    size_t width = 0;

    if ((is_long ? fmt_parse_long : fmt_parse_short)(&f, &squeue_job_fields, text, on_bad, NULL) ==
        0) {
        for (size_t i = 0; i < f.n; i++)
            width += f.cols[i].width;
        if (width < WIDTHS_MAX) {
            fmt_header(&f, &sb);
            fmt_row(&f, &row, &sb);
        }
    }
    fmt_done(&f);
}

static void try_sacct(const char *text)
{
    struct sacct_fmt f = { .style = SACCT_FIXED, .delimiter = "|" };
    struct err err = { .text = "" };

    if (sacct_fmt_parse(&f, text, &err) < 0 && !err.text[0])
        abort(); /* a refusal has its sentence */
    sacct_fmt_done(&f);
}

static void try_update(const char *text)
{
    struct update u;
    struct err err = { .text = "" };

    update_init(&u);
    for (int kind = UPDATE_JOB; kind <= UPDATE_PART; kind++)
        (void)update_set(&u, (enum update_kind)kind, text, 1, &err);
    update_done(&u);
}

static int on_task(void *ctx, uint32_t task)
{
    uint32_t *count = ctx;

    (void)task;
    return ++*count > 1000 ? -1 : 0;
}

static void try_ids(const char *text)
{
    struct filter_ids ids = { 0 };
    struct filter_states states;
    char *bad = NULL;
    uint32_t count = 0;

    if (filter_parse_ids(text, &ids, NULL) == 0)
        (void)filter_ids_match(&ids, 1, 1, true, 3);
    filter_ids_done(&ids);
    (void)filter_parse_states(text, &states, &bad);
    free(bad);
    (void)filter_each_task(text, on_task, &count);
}

static void try_json(const char *text)
{
    struct json js;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    json_begin(&js, &sb, JSON_YAML);
    json_str(&js, text, text);
    json_words(&js, "words", text);
    json_end(&js);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sinfo_filter filter;
    struct fmt_sort sort;
    char text[TEXT_MAX], bad[32], letter;

    if (size < 1 || size >= sizeof(text))
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 8) {
    case 0:
        try_format(text, false);
        break;
    case 1:
        try_format(text, true);
        break;
    case 2:
        try_sacct(text);
        break;
    case 3:
        try_update(text);
        break;
    case 4:
        try_ids(text);
        break;
    case 5:
        (void)sinfo_filter_parse(&filter, text, bad, sizeof(bad));
        break;
    case 6:
        (void)fmt_sort_parse(&sort, &squeue_job_fields, text, &letter);
        break;
    default:
        try_json(text);
        break;
    }
    return 0;
}
