/* fuzz_restdbread.c - associations, QOS and lists of TRES in JSON of a stranger, as settings */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "rest/db/restdbread.h"
#include "rest/restbody.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Pst__TresRecord cpu = PST__TRES_RECORD__INIT, gpu = PST__TRES_RECORD__INIT;
static Pst__QosRecord normal = PST__QOS_RECORD__INIT, high = PST__QOS_RECORD__INIT;
static Pst__TresRecord *all_tres[] = { &cpu, &gpu };
static Pst__QosRecord *all_qos[] = { &normal, &high };
static const struct store_names names = { all_tres, 2, all_qos, 2 };

static void make_store(void)
{
    cpu.tres_id = 1;
    cpu.type = (char *)"cpu";
    gpu.tres_id = 1001;
    gpu.type = (char *)"gres";
    gpu.name = (char *)"gpu";
    normal.qos_id = 1;
    normal.name = (char *)"normal";
    high.qos_id = 2;
    high.name = (char *)"high";
}

/* Counts are what the store takes: -1 takes away. */
static void check_limits(const Pst__Limits *l)
{
    for (size_t i = 0; l && i < l->n_grp_tres; i++)
        assert(l->grp_tres[i]->count >= -1);
    assert(!l || !l->has_max_jobs || l->max_jobs >= -1);
}

static void read_assoc(const json_t *body)
{
    Pst__AcctSet set = PST__ACCT_SET__INIT, flat = PST__ACCT_SET__INIT;
    struct err err = { .text = "" };
    int r = restdbread_assoc(body, NULL, &names, &set, &err);

    assert(r >= 0 || r == -ENOMEM || err.text[0]);
    if (r == 1 && set.assoc)
        check_limits(set.assoc->limits);
    r = restdbread_assoc_set(body, &names, &flat, &err);
    assert(r >= 0 || r == -ENOMEM || err.text[0]);
    pb_done(&set.base);
    pb_done(&flat.base);
}

static void read_qos(const json_t *body)
{
    Pst__AcctSet set = PST__ACCT_SET__INIT;
    struct err err = { .text = "" };
    int r = restdbread_qos(body, NULL, &names, &set, &err);

    assert(r >= 0 || r == -ENOMEM || err.text[0]);
    if (r == 1 && set.qos)
        check_limits(set.qos->limits);
    (void)restdbread_qos_waits(body, &names);
    pb_done(&set.base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    json_t *body = NULL;
    char *text = NULL;

    if (size > 65536 ||
        restbody_parse_json((const char *)data, size, RESTBODY_WEIGHT_MAX, &body, &err) < 0)
        return 0;
    make_store();
    read_assoc(body);
    read_qos(body);
    if (restdbread_tres_text(body, &text, &err) < 0)
        assert(!text);
    free(text);
    json_decref(body);
    return 0;
}
