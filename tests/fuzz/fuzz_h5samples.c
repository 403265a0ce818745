/* fuzz_h5samples.c - what is kept of a step's samples: a head that is taken is written back as it
 * was and names a file of the folder alone; rows are whole, whatever the lines are and however they
 * are cut */
#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "h5/h5head.h"
#include "h5/h5samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_head(const char *text, size_t len, size_t *used)
{
    struct h5head head, again;
    struct strbuf out = STRBUF_INIT;
    char name[2 * H5NAME_MAX];
    struct h5name back;
    size_t n;

    *used = 0;
    if (h5head_read(text, len, &head, used) < 0)
        return;
    assert(*used <= len && h5name_user(head.user));
    assert(h5name_make(&head.name, name, sizeof(name)) == 0 && !strchr(name, '/'));
    if (head.name.job_id && strlen(name) < H5NAME_MAX)
        assert(h5name_read(name, &back) == 0 && strcmp(back.node, head.name.node) == 0);
    h5head_write(&head, &out);
    assert(h5head_read(strbuf_str(&out), out.len, &again, &n) == 0 && n == out.len);
    assert(strcmp(again.user, head.user) == 0 && again.uid == head.uid);
    strbuf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct h5_samples s = { 0 };
    size_t used, rows = 0;

    if (size > 1u << 16)
        return 0;
    check_head(text, size, &used);
    assert(h5samples_add(&s, text + used, size - used) == 0 && h5samples_end(&s) == 0);
    for (size_t i = 0; i < s.n; i++) {
        assert(s.series[i].kind < H5_KINDS && s.series[i].rows <= s.series[i].room);
        rows += s.series[i].rows;
        for (size_t k = 0; k < s.series[i].rows * h5_tables[s.series[i].kind].n; k++)
            assert(s.series[i].cells[k].count == s.series[i].cells[k].count); /* ours to read */
    }
    assert(rows <= size && (rows > 0) == s.begun);
    h5samples_done(&s);
    return 0;
}
